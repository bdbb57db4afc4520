/* Options that say how tables are written: header, decimal sign, dates, encoding. */
#include "cli/cli.h"

#include <string.h>

int table_options(const table_settings *w, eg_table_options *out) {
    *out = (eg_table_options){
        .short_header = w->short_header, .no_header = w->no_header, .encoding = w->encoding};
    if (w->no_header && w->short_header)
        return fail(EXIT_USAGE, "--no-header and --short-header exclude each other");
    if (w->decimal && strcmp(w->decimal, ",") != 0 && strcmp(w->decimal, ".") != 0)
        return fail(EXIT_USAGE, "--decimal: '%s' is neither , nor .", w->decimal);
    if (w->decimal) out->decimal = w->decimal[0];
    if (!w->dates) return CLI_OK;
    for (int i = 0; eg_date_order_name((eg_date_order)i); i++)
        if (strcmp(w->dates, eg_date_order_name((eg_date_order)i)) == 0) {
            out->dates = (eg_date_order)i;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "--dates: '%s' is not iso, mdy or dmy", w->dates);
}
