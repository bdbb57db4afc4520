/* Figures of a diff as people read them. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

const char *eg__diff_percent(char out[32], double change) {
    const double percent = 100 * change;
    if (!isfinite(change)) eg__report_print(out, 32, "-");
    else if (change >= 9) eg__report_print(out, 32, "x %.3g", 1 + change);
    else if (percent == 0) eg__report_print(out, 32, "0 %%");
    else
        eg__report_print(out, 32, fabs(percent) < 0.1 ? "%s%.1g %%" : "%s%.1f %%",
                         percent > 0 ? "+" : "", percent);
    return out;
}

const char *eg__diff_value(char out[64], const eg__json_value *row, const char *key) {
    const eg__json_value *metric = eg__json_get(row, key);
    if (isfinite(eg__json_number(metric, "value"))) return eg__report_value(out, metric);
    eg__report_print(out, 64, "-");
    return out;
}

const char *eg__diff_fact(char out[64], const eg__json_value *row, const char *key) {
    const char *text = eg__json_text(row, key);
    char number[48];
    if (text[0]) eg__report_print(out, 64, "%s", text);
    else if (isnan(eg__json_number(row, key))) eg__report_print(out, 64, "not reported");
    else eg__report_print(out, 64, "%s", eg__report_count(number, eg__json_number(row, key)));
    return eg__report_clip(out);
}

const char *eg__diff_class(const char *judgement) {
    return strcmp(judgement, EG__JUDGEMENT_SLOWER) == 0   ? "worse"
           : strcmp(judgement, EG__JUDGEMENT_FASTER) == 0 ? "better"
                                                          : "";
}

const char *eg__diff_around(char out[400], const eg__json_value *document) {
    const eg__json_value *list = eg__json_get(document, "environment");
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *row = eg__json_item(list, i);
        char was[64], is[64];
        /* null: one of them does not tell */
        const bool told = strcmp(eg__diff_fact(was, row, "old"), "not reported") != 0 &&
                          strcmp(eg__diff_fact(is, row, "new"), "not reported") != 0;
        if (!told || eg__json_flag(row, "same")) continue;
        used += eg__report_print(out + used, 400 - used, "%s%.32s: %.60s and %.60s",
                                 used ? "; " : "", eg__json_text(row, "name"), was, is);
    }
    return eg__report_clip(out);
}
