/* The caches of a chip, as far as it is known; the number of ways is an assumption. */
#include "elegans/profile.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The fewest ways from `least` on with which the number of sets is a power of two. */
static uint32_t ways_of(uint64_t bytes, uint32_t line, uint32_t least) {
    for (uint32_t ways = least; ways < 2 * least; ways++) {
        const uint64_t sets = bytes / line / ways;
        if (sets && !(sets & (sets - 1)) && sets * ways * line == bytes) return ways;
    }
    return least;
}

static void level_add(eg_cache_geometry *g, const char *name, uint64_t bytes, uint32_t line,
                      uint32_t ways) {
    const uint64_t way = (uint64_t)ways * line;
    if (bytes < way) return; /* not told */
    eg_cache_level *level = &g->level[g->levels++];
    *level = (eg_cache_level){.bytes = bytes / way * way, .ways = ways, .line = line};
    snprintf(level->name, sizeof level->name, "%s", name);
}

/* The index of a first cache fits into a page, so that it need not wait for the translation. */
static eg_status geometry_fill(const char *chip, uint64_t l1, uint64_t page, uint64_t l2,
                               uint64_t last, const char *last_name, uint32_t line,
                               eg_cache_geometry *out, eg_error *error) {
    memset(out, 0, sizeof *out);
    if (l1 < page)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "the size of the first-level cache of '%s' is unknown", chip);
    level_add(out, "L1d", l1, line, (uint32_t)(l1 / page));
    level_add(out, "L2", l2, line, ways_of(l2, line, 8));
    level_add(out, last_name, last, line, ways_of(last, line, 16));
    return EG_OK;
}

eg_status eg_cache_geometry_of_chip(const eg_chip *chip, eg_cache_geometry *out, eg_error *error) {
    if (!chip || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "caches: no chip or no output pointer");
    const bool apple = strcmp(chip->vendor, "Apple") == 0;
    const uint64_t l1 = chip->kind_count ? chip->kinds[0].l1d_bytes : 0;
    const uint64_t l2 = chip->kind_count ? chip->kinds[0].l2_bytes : 0;
    const uint32_t line = chip->cache_line ? chip->cache_line : apple ? 128 : 64;
    return geometry_fill(chip->name, l1, apple ? 16384 : 4096, l2,
                         chip->l3_bytes ? chip->l3_bytes : chip->slc_bytes,
                         chip->l3_bytes ? "L3" : "SLC", line, out, error);
}

static uint64_t bytes_of(double size, double unit) {
    return size > 0 && size < 1e6 ? (uint64_t)llround(size * unit) : 0;
}

eg_status eg_cache_geometry_of_row(const eg_chip_row *row, eg_cache_geometry *out,
                                   eg_error *error) {
    if (!row || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "caches: no chip or no output pointer");
    return geometry_fill(row->name, bytes_of(row->fast_l1d_kb, 1024), 16384,
                         bytes_of(row->fast_l2_mb, 1048576), bytes_of(row->slc_mb, 1048576), "SLC",
                         128, out, error);
}
