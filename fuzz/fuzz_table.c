/* Tables of any kind from arbitrary bytes, as text with every option and as an archive, and dates: any
 * outcome but a status or a whole table is a crash. */
#include "fuzz.h"
#include "formats/files/npz.h"
#include "formats/tables/table.h"

#include <math.h>
#include <string.h>

/* Labels are in order, and every value of their column is the number of one. */
static void check_column(const eg_table *table, uint64_t column) {
    const eg_column *kind = &table->kinds[column];
    for (size_t i = 1; i < kind->label_count; i++)
        require(strcmp(kind->labels[i - 1], kind->labels[i]) < 0);
    for (uint64_t row = 0; row < table->rows; row++) {
        const double value = table->values[row * table->columns + column];
        if (kind->kind != EG_COLUMN_LABEL || isnan(value)) continue;
        require(value >= 0 && value < (double)kind->label_count && value == floor(value));
    }
}

static void finish(eg__memory *memory, eg_status status, const eg_error *error, eg_table *table) {
    if (status) {
        require(error->status == status && error->message[0]);
        require(!table->values && !table->names && !table->kinds && !table->lines);
        return;
    }
    require(table->columns && table->values);
    for (uint64_t i = 0; table->names && i < table->columns; i++) (void)strlen(table->names[i]);
    for (uint64_t i = 0; table->kinds && i < table->columns; i++) check_column(table, i);
    for (uint64_t i = 1; table->lines && i < table->rows; i++)
        require(table->lines[i - 1] < table->lines[i]);
    require(!table->steps || table->rows % table->steps == 0);
    eg__table_release(memory, table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_table table;
    eg_error error = {0};
    for (int i = 0; i < 8; i++) {
        const eg_table_options wanted = {.numbers_only = i & 1,
                                         .short_header = i / 2 == 1,
                                         .no_header = i / 2 == 2,
                                         .decimal = i / 2 == 3 ? ',' : 0,
                                         .dates = (eg_date_order)(i / 2 % 3),
                                         .texts = i & 1 ? NULL : "1"};
        eg_status status = eg__table_from_text(memory, bytes, length, &wanted, &table, &error);
        finish(memory, status, &error, &table);
    }
    double seconds;
    for (int i = 0; i < 3; i++)
        if (eg_date_parse_as((const char *)bytes, length, (eg_date_order)i, &seconds, &error) ==
            EG_OK)
            require(seconds > -62167305601.0 && seconds < 253402387201.0);
    eg_npz *archive;
    if (eg__npz_open_bytes(memory, bytes, length, &archive, NULL) == EG_OK)
        finish(memory, eg__table_from_archive(memory, archive, NULL, &table, &error), &error,
               &table);
    eg_npz_close(archive);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    require(held.current == 0);
    eg__memory_figures_get(memory, EG_TAG_TENSOR, &held);
    require(held.current == 0);
    eg__memory_destroy(memory);
    return 0;
}
