/* Splits: assigns windows to the first part, the second or none. */
#include "base/random.h"
#include "train/data.h"

#include <math.h>

enum { NEITHER, FIRST, SECOND, RECORDINGS_ENOUGH = 10 };

const char *eg_split_name(eg_split_kind kind) {
    static const char *const names[] = {"auto", "recordings", "time", "windows", "at"};
    return (unsigned)kind < 5 ? names[kind] : NULL;
}

/* The size of the second part out of `count`: rounded down, at least one. */
static uint64_t part_of(double fraction, uint64_t count) {
    /* 0.29 * 100 is slightly below 29 in floating point; 29 is meant */
    const uint64_t part = (uint64_t)floor(fraction * (double)count + 1e-9);
    return part ? part : 1;
}

static size_t recording_of(const eg__store *s, uint64_t row) {
    size_t low = 0, high = s->recordings; /* starts[low] <= row < starts[high] */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (s->starts[middle] <= row) low = middle;
        else high = middle;
    }
    return low;
}

/* The window after the last one of the recording that window `from` is of. */
static size_t recording_end(const eg_data *data, size_t from) {
    const eg__store *s = data->store;
    const uint64_t end = s->starts[recording_of(s, data->windows[from].first) + 1];
    while (from < data->count && data->windows[from].first < end) from++;
    return from;
}

static size_t count_recordings(const eg_data *data) {
    size_t count = 0;
    for (size_t i = 0; i < data->count; i = recording_end(data, i)) count++;
    return count;
}

/* ---- at random: numpy's permutation of `count` elements; the first ones are the second part */
static eg_status draw(const eg_data *data, const eg_split *split, size_t count, uint8_t *sides,
                      eg_error *error) {
    if (count > UINT32_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "a permutation of %zu elements is too long: at most 2^32", count);
    eg_status status = EG_OK;
    eg__memory *memory = data->store->memory;
    uint32_t *order = eg__data_take(memory, count, sizeof *order, &status, error);
    if (status) return status;
    eg__mt mt;
    eg__mt_seed(&mt, split->seed);
    eg__mt_permutation(&mt, (uint32_t)count, order);
    const uint64_t second = part_of(split->fraction, count);
    for (size_t i = 0; i < count; i++) sides[order[i]] = i < second ? SECOND : FIRST;
    eg__memory_give(memory, order);
    return EG_OK;
}

static eg_status by_recordings(const eg_data *data, const eg_split *split, uint8_t *sides,
                               eg_error *error) {
    size_t count = count_recordings(data), before = SIZE_MAX;
    const eg_status status = draw(data, split, count, sides, error);
    if (status) return status;
    /* from recordings to their windows, from behind so that none is overwritten before it is read */
    uint8_t side = NEITHER;
    for (size_t i = data->count; i-- > 0;) {
        const size_t recording = recording_of(data->store, data->windows[i].first);
        if (recording != before) side = sides[--count];
        sides[i] = side;
        before = recording;
    }
    return EG_OK;
}

/* ---- by order */
static void by_time(const eg_data *data, double fraction, uint8_t *sides) {
    for (size_t from = 0, to; from < data->count; from = to) {
        to = recording_end(data, from);
        const eg__window first = data->windows[from], last = data->windows[to - 1];
        const uint64_t end = last.first + last.length;
        const uint64_t border = end - part_of(fraction, end - first.first);
        for (size_t i = from; i < to; i++) {
            const eg__window w = data->windows[i];
            sides[i] = w.first >= border ? SECOND : w.first + w.length <= border ? FIRST : NEITHER;
        }
    }
}

static void by_moment(const eg_data *data, double at, uint8_t *sides) {
    const double *times = data->store->times;
    for (size_t i = 0; i < data->count; i++) {
        const eg__window w = data->windows[i];
        sides[i] = times[w.first] >= at                 ? SECOND
                   : times[w.first + w.length - 1] < at ? FIRST
                                                        : NEITHER;
    }
}

static eg_split_kind choose(const eg_data *data) {
    const size_t recordings = count_recordings(data);
    /* recordings of one window each cannot be split inside */
    return recordings >= RECORDINGS_ENOUGH || (recordings > 1 && recordings == data->count)
               ? EG_SPLIT_RECORDINGS
               : EG_SPLIT_TIME;
}

/* Splits every recording that has a window at a border. If no full window fits on one side, that
 * side is one shorter window. Rows of one part are never in windows of the other. */
static eg_status make_stretches(const eg_data *data, double fraction, uint8_t side, eg_data **out,
                                eg_error *error) {
    const eg__store *s = data->store;
    eg_status status = eg__data_part(data->store, count_recordings(data), out, error);
    if (status) return status;
    size_t count = 0;
    for (size_t from = 0, to; from < data->count; from = to) {
        to = recording_end(data, from);
        const eg__window one = data->windows[from], last = data->windows[to - 1];
        const size_t recording = recording_of(s, one.first);
        const uint64_t start = data->is_part ? one.first : s->starts[recording],
                       end = data->is_part ? last.first + last.length : s->starts[recording + 1];
        const uint64_t border = end - part_of(fraction, end - start);
        const eg__window w = side == FIRST ? (eg__window){start, border - start}
                                           : (eg__window){border, end - border};
        (*out)->windows[count++] =
            w; /* at least one row, else a window would be in the other part */
    }
    (*out)->count = count;
    eg__data_measure(*out);
    return EG_OK;
}

/* ---- parts */
static eg_status check_split(const eg_data *data, const eg_split *split, eg_error *error) {
    if (!eg_split_name(split->kind))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown split %d", (int)split->kind);
    if (split->kind != EG_SPLIT_AT && !(split->fraction > 0 && split->fraction < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "fraction '%g' is not within 0..1",
                        split->fraction);
    if (split->kind == EG_SPLIT_AT && !data->store->times)
        return eg__fail(error, EG_ERR_ARGUMENT, "a split at a time needs a column of times");
    if (split->kind == EG_SPLIT_AT && isnan(split->at))
        return eg__fail(error, EG_ERR_ARGUMENT, "the time to split at is not a number");
    return EG_OK;
}

static eg_status make_part(const eg_data *data, const uint8_t *sides, uint8_t side,
                           eg_split_kind kind, double fraction, eg_data **out, eg_error *error) {
    size_t count = 0, of_both = 0;
    for (size_t i = 0; i < data->count; i++) {
        count += sides[i] == side;
        of_both += sides[i] != NEITHER;
    }
    /* Where no full window fits there are shorter ones; but a first part that is empty beside a
     * non-empty second one means a wrong fraction. */
    if (!count && kind == EG_SPLIT_TIME && (side == SECOND || !of_both))
        return make_stretches(data, fraction, side, out, error);
    if (!count)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the %s part would be empty: %zu windows, split by '%s'",
                        side == FIRST ? "first" : "second", data->count, eg_split_name(kind));
    const eg_status status = eg__data_part(data->store, count, out, error);
    if (status) return status;
    count = 0;
    for (size_t i = 0; i < data->count; i++)
        if (sides[i] == side) (*out)->windows[count++] = data->windows[i];
    eg__data_measure(*out);
    return EG_OK;
}

eg_status eg_data_split(const eg_data *data, const eg_split *split, eg_data **first,
                        eg_data **second, eg_error *error) {
    if (first) *first = NULL;
    if (second) *second = NULL;
    if (!data || !split || !first || !second)
        return eg__fail(error, EG_ERR_ARGUMENT, "split: no data, split or output pointer");
    eg_status status = check_split(data, split, error);
    eg__memory *memory = data->store->memory;
    uint8_t *sides = eg__data_take(memory, data->count, sizeof *sides, &status, error);
    if (status) return status;
    const eg_split_kind kind = split->kind == EG_SPLIT_AUTO ? choose(data) : split->kind;
    if (kind == EG_SPLIT_RECORDINGS) status = by_recordings(data, split, sides, error);
    else if (kind == EG_SPLIT_WINDOWS) status = draw(data, split, data->count, sides, error);
    else if (kind == EG_SPLIT_TIME) by_time(data, split->fraction, sides);
    else by_moment(data, split->at, sides);
    if (!status) status = make_part(data, sides, FIRST, kind, split->fraction, first, error);
    if (!status) status = make_part(data, sides, SECOND, kind, split->fraction, second, error);
    if (!status) (*first)->is_part = (*second)->is_part = true;
    eg__memory_give(memory, sides);
    if (status) {
        eg_data_destroy(*first);
        *first = NULL;
    }
    return status;
}
