/* Live bytes of a planned program at each step. */
#include "graph/lower/lower.h"

static bool is_planned(const eg__buffer *b) {
    return (b->space == EG__SPACE_ARENA || b->space == EG__SPACE_DERIVED) && b->first != EG__NEVER;
}

static void add(const eg__lowering *l, const eg__buffer *buffer) {
    const eg__region *region = &l->regions[buffer->region];
    const size_t items = eg__max(region->batch_items, 1);
    const size_t end =
        buffer->kept ? region->count : eg__min((size_t)buffer->last + 1, region->count);
    for (size_t i = buffer->first; i < end; i++)
        l->program->steps[region->first + i].live += buffer->bound * items;
}

/* While a scan runs, everything that is live around it stays live; the memory of its body is
 * counted step by step. */
static void add_around(const eg__lowering *l, const eg__step *scan) {
    const eg__step_scan *s = &scan->u.scan;
    const size_t around = scan->live - l->buffers[l->regions[s->region].memory].bound;
    for (size_t i = 0; i < s->count; i++) l->program->steps[s->first + i].live += around;
}

void eg__lower_live(eg__lowering *l) {
    struct eg_program *p = l->program;
    for (size_t b = 1; b < l->buffer_count; b++)
        if (is_planned(&l->buffers[b])) add(l, &l->buffers[b]);
    for (size_t i = 0; i < p->main_count; i++)
        if (eg__step_body(&p->steps[i])) add_around(l, &p->steps[i]);
}
