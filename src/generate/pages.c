/* Pages of a cache: reference counts and a free list. */
#include "base/abi.h"
#include "elegans/cache.h"
#include "engine/context.h"

struct eg_pages {
    eg__memory *memory;
    size_t count, page, window;
    uint32_t *owners; /* references per page; 0 = free */
    int32_t *free;    /* free pages, as a stack */
    size_t free_count;
    eg_sequence *first;
    size_t sequences;
};

struct eg_sequence {
    eg_pages *pages;
    size_t length;
    int32_t *list; /* the page of positions i*page ..; NONE = given back */
    size_t count, room;
    size_t given; /* the first so many are */
    eg_sequence *next, *before;
};

enum { NONE = -1 };

eg_status eg_pages_create(eg_context *context, const eg_pages_options *given, eg_pages **out,
                          eg_error *error) {
    if (!context || !given || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "pages: no context, options or output pointer");
    *out = NULL;
    eg_pages_options kept, *const options = &kept;
    const eg_status taken = EG__OPTIONS(eg_pages_options, &kept, given, error);
    if (taken) return taken;
    if (!options->count || !options->page || options->count > INT32_MAX ||
        options->page > INT32_MAX / options->count)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu pages of %llu slots are zero or too many",
                        (unsigned long long)options->count, (unsigned long long)options->page);
    eg__memory *memory = context->memory;
    const size_t count = (size_t)options->count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_pages *p = eg__memory_take_zeroed(memory, EG_TAG_CACHE, sizeof *p, &reason);
    uint32_t *owners =
        p ? eg__memory_take_array(memory, EG_TAG_CACHE, count, sizeof *owners, &reason) : NULL;
    int32_t *list =
        owners ? eg__memory_take_array(memory, EG_TAG_CACHE, count, sizeof *list, &reason) : NULL;
    if (!list) {
        eg__memory_give(memory, p);
        eg__memory_give(memory, owners);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    for (size_t i = 0; i < count; i++) list[i] = (int32_t)(count - 1 - i); /* 0 comes first */
    const uint64_t window = eg__min(options->window, (uint64_t)INT32_MAX);
    *p = (eg_pages){memory, count, (size_t)options->page, (size_t)window, owners, list, count,
                    NULL,   0};
    *out = p;
    return EG_OK;
}

void eg_pages_destroy(eg_pages *p) {
    if (!p) return;
    while (p->first) eg_sequence_end(p->first);
    eg__memory_give(p->memory, p->owners);
    eg__memory_give(p->memory, p->free);
    eg__memory_give(p->memory, p);
}

void eg_pages_figures_get(const eg_pages *p, eg_pages_figures *out) {
    *out = (eg_pages_figures){p->count, p->page, p->count - p->free_count, p->sequences};
}

/* ---- single pages */
static int32_t page_take(eg_pages *p) {
    const int32_t page = p->free[--p->free_count];
    p->owners[page] = 1;
    return page;
}
static void page_give(eg_pages *p, int32_t page) {
    if (page == NONE || --p->owners[page]) return;
    p->free[p->free_count++] = page;
}

static eg_status full(const eg_pages *p, size_t wanted, eg_error *error) {
    return eg__fail(error, EG_ERR_BUDGET,
                    "the cache is full: %zu pages of %zu in use, %zu more wanted",
                    p->count - p->free_count, p->count, wanted);
}

/* ---- sequences */
/* Reserves room for so many pages in its list. */
static eg_status reserve(eg_sequence *s, size_t count, eg_error *error) {
    void *list = s->list;
    if (count > s->count && !eg__memory_grow(s->pages->memory, EG_TAG_CACHE, &list, s->count,
                                             &s->room, count - s->count, sizeof *s->list))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for a list of %zu pages", count);
    s->list = list;
    return EG_OK;
}

/* Its list has room for all pages, so growing never allocates. */
eg_status eg_sequence_begin(eg_pages *p, eg_sequence **out, eg_error *error) {
    if (!p || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "sequence: no pages or no output pointer");
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_sequence *s = *out = eg__memory_take_zeroed(p->memory, EG_TAG_CACHE, sizeof *s, &reason);
    if (!s) return eg__fail(error, reason.status, "%s", reason.message);
    s->pages = p;
    s->next = p->first;
    if (p->first) p->first->before = s;
    p->first = s;
    p->sequences++;
    eg_status status = reserve(s, p->count, error);
    if (!status) return EG_OK;
    eg_sequence_end(s);
    *out = NULL;
    return status;
}

void eg_sequence_end(eg_sequence *s) {
    if (!s) return;
    eg_pages *p = s->pages;
    for (size_t i = s->given; i < s->count; i++) page_give(p, s->list[i]);
    if (s->before) s->before->next = s->next;
    else p->first = s->next;
    if (s->next) s->next->before = s->before;
    p->sequences--;
    eg__memory_give(p->memory, s->list);
    eg__memory_give(p->memory, s);
}

uint64_t eg_sequence_length(const eg_sequence *s) { return s ? s->length : 0; }

/* Pages that are entirely before the window of the next token. */
static size_t pages_passed(const eg_sequence *s) {
    const size_t window = s->pages->window;
    return window && s->length >= window ? (s->length - window + 1) / s->pages->page : 0;
}

eg_status eg_sequence_extend(eg_sequence *s, uint64_t tokens, int32_t *slots, eg_error *error) {
    if (!s) return eg__fail(error, EG_ERR_ARGUMENT, "no sequence");
    eg_pages *p = s->pages;
    if (tokens > INT32_MAX || s->length > INT32_MAX - (size_t)tokens)
        return eg__fail(error, EG_ERR_ARGUMENT, "a sequence of %zu tokens cannot grow by %llu more",
                        s->length, (unsigned long long)tokens);
    const size_t length = s->length + (size_t)tokens, passed = pages_passed(s);
    const size_t count = eg__ceil_div(length, p->page), wanted = count - s->count;
    size_t returned = 0;
    for (size_t i = s->given; i < passed && tokens; i++) returned += p->owners[s->list[i]] == 1;
    if (wanted > p->free_count + returned) return full(p, wanted, error);
    eg_status status = reserve(s, count, error);
    if (status || !tokens) return status;
    for (; s->given < passed; s->given++) {
        page_give(p, s->list[s->given]);
        s->list[s->given] = NONE;
    }
    while (s->count < count) s->list[s->count++] = page_take(p);
    for (size_t i = s->length; slots && i < length; i++)
        slots[i - s->length] = s->list[i / p->page] * (int32_t)p->page + (int32_t)(i % p->page);
    s->length = length;
    return EG_OK;
}

eg_status eg_sequence_fork(eg_sequence *s, eg_sequence **out, eg_slots_copy *copy,
                           eg_error *error) {
    if (!s || !out || !copy)
        return eg__fail(error, EG_ERR_ARGUMENT, "fork: no sequence or no output pointer");
    *out = NULL;
    eg_pages *p = s->pages;
    const size_t rest = s->length % p->page, whole = s->count - (rest != 0);
    eg_sequence *fresh;
    if (rest && !p->free_count) return full(p, 1, error);
    eg_status status = eg_sequence_begin(p, &fresh, error);
    if (status) return status;
    status = reserve(fresh, s->count, error);
    if (status) {
        eg_sequence_end(fresh);
        return status;
    }
    for (size_t i = 0; i < whole; i++) {
        fresh->list[i] = s->list[i];
        if (s->list[i] != NONE) p->owners[s->list[i]]++;
    }
    *copy = (eg_slots_copy){0};
    if (rest) {
        fresh->list[whole] = page_take(p);
        *copy = (eg_slots_copy){s->list[whole] * (int32_t)p->page,
                                fresh->list[whole] * (int32_t)p->page, rest};
    }
    fresh->count = s->count;
    fresh->length = s->length;
    fresh->given = s->given;
    *out = fresh;
    return EG_OK;
}

eg_status eg_sequence_shrink(eg_sequence *s, uint64_t length, eg_slots_copy *copy,
                             eg_error *error) {
    if (!s || !copy || length > s->length)
        return eg__fail(error, EG_ERR_ARGUMENT, "shrink: no sequence, or it is shorter than %llu",
                        (unsigned long long)length);
    eg_pages *p = s->pages;
    const size_t count = eg__ceil_div((size_t)length, p->page), rest = (size_t)length % p->page;
    *copy = (eg_slots_copy){0};
    const size_t sees = p->window && length > p->window ? (size_t)length - p->window : 0;
    if (length && sees / p->page < s->given)
        return eg__fail(error, EG_ERR_ARGUMENT, "pages of the first %zu tokens were given back",
                        s->given * p->page);
    const bool shared = rest && p->owners[s->list[count - 1]] > 1;
    bool frees = false; /* a freed page can be reused at once */
    for (size_t i = eg__max(count, s->given); i < s->count; i++)
        frees = frees || p->owners[s->list[i]] == 1;
    if (shared && !p->free_count && !frees) return full(p, 1, error);
    while (s->count > count) page_give(p, s->list[--s->count]);
    if (shared) {
        const int32_t fresh = page_take(p), old = s->list[count - 1];
        *copy = (eg_slots_copy){old * (int32_t)p->page, fresh * (int32_t)p->page, rest};
        page_give(p, old);
        s->list[count - 1] = fresh;
    }
    if (s->given > s->count) s->given = s->count;
    s->length = (size_t)length;
    return EG_OK;
}

eg_status eg_sequence_pages(const eg_sequence *s, uint64_t count, int32_t *out, eg_error *error) {
    if (!s || (count && !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "pages: no sequence or no output pointer");
    if (count < s->count)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu pages do not fit into a row of %llu", s->count,
                        (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) out[i] = i < s->count ? s->list[i] : NONE;
    return EG_OK;
}
