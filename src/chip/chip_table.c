/* The table of known chips, read out of the text of data/chips.csv whenever it is asked for: a row
 * takes microseconds, and nothing is kept. */
#include "chip/detect.h"

#include <math.h>
#include <string.h>

typedef enum cell_type { TEXT, COUNT, HEX, REAL } cell_type;

typedef struct column {
    const char *name;
    cell_type type;
    size_t offset, size;
} column;

#define COLUMN(name, type, field) \
    { name, type, offsetof(eg_chip_row, field), sizeof((eg_chip_row *)0)->field }

static const column columns[] = {
    COLUMN("name", TEXT, name),
    COLUMN("soc_ids", TEXT, soc),
    COLUMN("device_tree_names", TEXT, device_tree),
    COLUMN("codename", TEXT, codename),
    COLUMN("cpufamily", HEX, cpufamily),
    COLUMN("fast_midr_part", HEX, fast_midr_part),
    COLUMN("slow_midr_part", HEX, slow_midr_part),
    COLUMN("year", COUNT, year),
    COLUMN("process", TEXT, process),
    COLUMN("fast_core_kind", TEXT, fast_kind),
    COLUMN("fast_core_name", TEXT, fast_name),
    COLUMN("fast_cores", COUNT, fast_cores),
    COLUMN("fast_core_bins", TEXT, fast_core_bins),
    COLUMN("fast_mhz", REAL, fast_mhz),
    COLUMN("slow_core_kind", TEXT, slow_kind),
    COLUMN("slow_core_name", TEXT, slow_name),
    COLUMN("slow_cores", COUNT, slow_cores),
    COLUMN("slow_mhz", REAL, slow_mhz),
    COLUMN("fast_l1i_kb", REAL, fast_l1i_kb),
    COLUMN("fast_l1d_kb", REAL, fast_l1d_kb),
    COLUMN("slow_l1i_kb", REAL, slow_l1i_kb),
    COLUMN("slow_l1d_kb", REAL, slow_l1d_kb),
    COLUMN("fast_clusters", COUNT, fast_clusters),
    COLUMN("fast_l2_mb_per_cluster", REAL, fast_l2_mb),
    COLUMN("slow_clusters", COUNT, slow_clusters),
    COLUMN("slow_l2_mb_per_cluster", REAL, slow_l2_mb),
    COLUMN("slc_mb", REAL, slc_mb),
    COLUMN("gpu_cores", COUNT, gpu_cores),
    COLUMN("gpu_core_bins", TEXT, gpu_core_bins),
    COLUMN("gpu_mhz", REAL, gpu_mhz),
    COLUMN("gpu_f32_tflops", REAL, gpu_tflops),
    COLUMN("ane_cores", COUNT, ane_cores),
    COLUMN("ane_tops_advertised", REAL, ane_tops),
    COLUMN("ane_f16_tflops_measured", REAL, ane_fp16_tflops),
    COLUMN("memory_gb_per_s", REAL, memory_gbs),
    COLUMN("memory_gb_per_s_bins", TEXT, memory_gbs_bins),
    COLUMN("memory_max_gb", REAL, memory_max_gb),
    COLUMN("memory_type", TEXT, memory_type),
    COLUMN("memory_bus_bits", COUNT, memory_bus_bits),
    COLUMN("fast_core_fma_pipes", COUNT, fast_fma_pipes),
    COLUMN("fast_core_f32_gflops", REAL, fast_core_gflops),
    COLUMN("matrix_unit", TEXT, matrix_unit),
    COLUMN("matrix_units", COUNT, matrix_units),
    COLUMN("matrix_unit_f32_gflops", REAL, matrix_gflops),
    COLUMN("cpu_watts", REAL, cpu_watts),
    COLUMN("gpu_watts", REAL, gpu_watts),
    COLUMN("package_watts", REAL, package_watts),
    COLUMN("power_source", TEXT, power_source),
    COLUMN("notes", TEXT, notes),
    COLUMN("confidence", TEXT, confidence),
    COLUMN("sources", TEXT, sources),
};
enum { COLUMNS = sizeof columns / sizeof *columns, CELL_SIZE = 512 };

/* The text being read: quoted cells may hold commas, and "" inside them is one quote. */
typedef struct cursor {
    const char *at, *end;
    bool row_done; /* the last cell ended its row */
} cursor;

/* The next cell; `out` NULL skips it. False when it does not fit or its quote does not end. */
static bool cell_next(cursor *c, char *out, size_t size) {
    size_t length = 0;
    bool quoted = c->at < c->end && *c->at == '"', fits = true;
    if (quoted) c->at++;
    for (; c->at < c->end; c->at++) {
        if (quoted && *c->at == '"') {
            if (c->at + 1 == c->end || c->at[1] != '"') break;
            c->at++;
        } else if (!quoted && (*c->at == ',' || *c->at == '\n')) break;
        if (length + 1 < size) {
            if (out) out[length] = *c->at;
            length++;
        } else fits = false;
    }
    if (out) out[length] = 0;
    if (quoted) {
        if (c->at == c->end) return false;
        c->at++;
    }
    if (c->at < c->end && *c->at != ',' && *c->at != '\n') return false;
    c->row_done = c->at == c->end || *c->at == '\n';
    if (c->at < c->end) c->at++;
    return fits || !out;
}

static bool row_skip(cursor *c) {
    do
        if (!cell_next(c, NULL, 0)) return false;
    while (!c->row_done);
    return true;
}

static void row_clear(eg_chip_row *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < COLUMNS; i++) {
        double unknown = NAN;
        if (columns[i].type == REAL)
            memcpy((char *)out + columns[i].offset, &unknown, sizeof unknown);
    }
}

static eg_status cell_store(const column *to, const char *cell, eg_chip_row *out, eg_error *error) {
    char *field = (char *)out + to->offset;
    size_t length = strlen(cell);
    if (!length) return EG_OK;
    if (to->type == TEXT) {
        if (length >= to->size)
            return eg__fail(error, EG_ERR_FORMAT, "text too long in column '%s': '%s'", to->name,
                            cell);
        memcpy(field, cell, length + 1);
        return EG_OK;
    }
    if (to->type == REAL) {
        double value;
        if (eg_number_parse(cell, length, &value, NULL) || !isfinite(value))
            return eg__fail(error, EG_ERR_FORMAT, "no number in column '%s': '%s'", to->name, cell);
        memcpy(field, &value, sizeof value);
        return EG_OK;
    }
    uint64_t value;
    if (!eg__text_number(cell, &value) || value > UINT32_MAX ||
        (to->type == HEX) != (strncmp(cell, "0x", 2) == 0))
        return eg__fail(error, EG_ERR_FORMAT, "no whole number in column '%s': '%s'", to->name,
                        cell);
    uint32_t number = (uint32_t)value;
    memcpy(field, &number, sizeof number);
    return EG_OK;
}

/* Reads the heading; heads[i] is what the i-th cell of a row means, or NULL. */
static eg_status heading_read(cursor *c, const column *heads[2 * COLUMNS], size_t *count,
                              eg_error *error) {
    char cell[CELL_SIZE];
    *count = 0;
    do {
        if (*count == 2 * COLUMNS || !cell_next(c, cell, sizeof cell))
            return eg__fail(error, EG_ERR_FORMAT, "broken heading in the chip table");
        heads[*count] = NULL;
        for (size_t i = 0; i < COLUMNS; i++)
            if (strcmp(columns[i].name, cell) == 0) heads[*count] = &columns[i];
        ++*count;
    } while (!c->row_done);
    return EG_OK;
}

eg_status eg__chip_row_parse(const char *csv, size_t length, size_t index, eg_chip_row *out,
                             eg_error *error) {
    const column *heads[2 * COLUMNS];
    size_t count, at = 0;
    cursor c = {csv, csv + length, false};
    eg_status status = heading_read(&c, heads, &count, error);
    if (status) return status;
    for (size_t i = 0; i < index && c.at < c.end; i++)
        if (!row_skip(&c))
            return eg__fail(error, EG_ERR_FORMAT, "broken row %zu in the chip table", i);
    if (c.at == c.end) return eg__fail(error, EG_ERR_NOT_FOUND, "no chip number %zu", index);
    row_clear(out);
    do {
        char cell[CELL_SIZE];
        if (at == count || !cell_next(&c, cell, sizeof cell))
            return eg__fail(error, EG_ERR_FORMAT, "broken row %zu in the chip table", index);
        if (heads[at] && (status = cell_store(heads[at], cell, out, error))) return status;
        at++;
    } while (!c.row_done);
    if (at < count)
        return eg__fail(error, EG_ERR_FORMAT, "row %zu of the chip table is too short", index);
    return EG_OK;
}

size_t eg_chip_table_size(void) {
    cursor c = {eg__chips_csv, eg__chips_csv + strlen(eg__chips_csv), false};
    size_t rows = 0;
    while (c.at < c.end && row_skip(&c)) rows++;
    return rows ? rows - 1 : 0; /* the heading */
}

eg_status eg_chip_table_get(size_t index, eg_chip_row *out, eg_error *error) {
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for a chip");
    return eg__chip_row_parse(eg__chips_csv, strlen(eg__chips_csv), index, out, error);
}

/* Whether `key` is one of the entries of "T6031|T6034". */
static bool list_has(const char *list, const char *key) {
    char entry[64];
    while (*list) {
        size_t length = strcspn(list, "|");
        snprintf(entry, sizeof entry, "%.*s", (int)length, list);
        if (eg__text_equal(entry, key)) return true;
        list += length + (list[length] == '|');
    }
    return false;
}

static bool row_matches(const eg_chip_row *row, const char *key) {
    char full[48];
    uint64_t family;
    snprintf(full, sizeof full, "Apple %s", row->name);
    return eg__text_equal(row->name, key) || eg__text_equal(full, key) || list_has(row->soc, key) ||
           list_has(row->device_tree, key) ||
           ((key[1] == 'x' || key[1] == 'X') && eg__text_number(key, &family) && family &&
            family == row->cpufamily);
}

typedef struct name_list {
    char names[64][sizeof(((eg_chip_row *)0)->name)];
} name_list;

static const char *name_at(void *user, size_t index) {
    const name_list *list = user;
    return index < 64 && list->names[index][0] ? list->names[index] : NULL;
}

static eg_status unknown_chip(const char *key, eg_error *error) {
    eg_chip_row row;
    name_list list = {0};
    char meant[EG_DID_YOU_MEAN_SIZE], all[256] = "";
    for (size_t i = 0, used = 0; i < 64 && eg_chip_table_get(i, &row, NULL) == EG_OK; i++) {
        memcpy(list.names[i], row.name, sizeof row.name);
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
                                     i ? ", " : "; chips: ", row.name);
    }
    return eg__fail(error, EG_ERR_NOT_FOUND, "no chip is called '%.60s'%s", key,
                    eg_did_you_mean(meant, key, name_at, &list)[0] ? meant : all);
}

eg_status eg_chip_table_find(const char *key, eg_chip_row *out, eg_error *error) {
    if (!key || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no key or no output pointer for a chip");
    eg_chip_row row;
    size_t size = key[0] ? eg_chip_table_size() : 0;
    for (size_t i = 0; i < size; i++) {
        eg_status status = eg_chip_table_get(i, &row, error);
        if (status) return status;
        if (row_matches(&row, key)) return *out = row, EG_OK;
    }
    return unknown_chip(key, error);
}

bool eg__chip_table_find_only(uint32_t midr_part, uint32_t cpufamily, eg_chip_row *out) {
    eg_chip_row row;
    unsigned found = 0;
    for (size_t i = 0; eg_chip_table_get(i, &row, NULL) == EG_OK; i++) {
        bool part =
            midr_part && (row.fast_midr_part == midr_part || row.slow_midr_part == midr_part);
        if (!part && !(cpufamily && row.cpufamily == cpufamily)) continue;
        if (found++ == 0) *out = row;
    }
    if (found > 1) memset(out, 0, sizeof *out);
    return found == 1;
}
