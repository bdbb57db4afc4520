/* Views: where the elements of a value lie, and how kernels see them. */
#include "graph/lower/lower.h"

bool eg__view_is_contiguous(const eg__node *shape, const eg__view *view) {
    size_t expected = 1;
    for (unsigned i = shape->rank; i-- > 0;) {
        if (shape->shape[i] != 1 && view->stride[i] != expected) return false;
        expected *= (size_t)shape->shape[i];
    }
    return true;
}

bool eg__view_same(const eg__node *shape, const eg__view *a, const eg__view *b) {
    if (a->buffer != b->buffer || a->offset != b->offset || a->time != b->time) return false;
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->shape[i] > 1 && a->stride[i] != b->stride[i]) return false;
    return true;
}

void eg__view_set_dense(const eg__node *shape, eg__view *view) {
    size_t stride = 1;
    for (unsigned i = shape->rank; i-- > 0;) {
        view->stride[i] = stride;
        stride *= (size_t)shape->shape[i];
    }
}

eg__view eg__view_broadcast(const eg__node *in, const eg__view *view, const eg__node *out) {
    eg__view result = *view;
    const unsigned lead = out->rank - in->rank;
    for (unsigned i = 0; i < out->rank; i++) {
        const bool repeats = i < lead || (in->shape[i - lead] == 1 && out->shape[i] != 1);
        result.stride[i] = repeats ? 0 : view->stride[i - lead];
    }
    return result;
}

eg__view eg__view_part(const eg__view *view, unsigned axis, size_t start) {
    eg__view part = *view;
    part.offset += eg__view_bytes(view, start * view->stride[axis]);
    return part;
}

bool eg__view_split(const eg__node *shape, const eg__view *view, unsigned split,
                    eg__fused_kind *kind, size_t *stride) {
    size_t expected = 1, columns = 1, rows = 1;
    bool dense = true, constant = true, first = true;
    for (unsigned i = shape->rank; i-- > split;) {
        columns *= (size_t)shape->shape[i];
        if (shape->shape[i] == 1) continue;
        dense = dense && view->stride[i] == expected;
        constant = constant && view->stride[i] == 0;
        expected *= (size_t)shape->shape[i];
    }
    if (!dense && !constant) return false;
    *stride = 0;
    for (unsigned i = split; i-- > 0;) {
        rows *= (size_t)shape->shape[i];
        if (shape->shape[i] == 1) continue;
        if (first) *stride = view->stride[i];
        else if (view->stride[i] != expected) return false;
        expected = view->stride[i] * (size_t)shape->shape[i];
        first = false;
    }
    if (columns == 1) dense = *stride != 0 || rows <= 1; /* one column: both are true */
    if (rows <= 1) {
        *stride = columns;
        *kind = dense ? EG__FULL : EG__SCALAR;
    } else if (*stride) *kind = dense ? EG__FULL : EG__ROW;
    else *kind = dense ? EG__COLUMN : EG__SCALAR;
    return true;
}

bool eg__view_rows(const eg__node *shape, const eg__view *view, eg__matrix *out) {
    if (!shape->rank) {
        *out = (eg__matrix){*view, 1, 1, 1};
        return true;
    }
    const unsigned last = shape->rank - 1;
    eg__fused_kind kind;
    size_t stride, rows = 1;
    for (unsigned i = 0; i < last; i++) rows *= (size_t)shape->shape[i];
    if (!eg__node_elements(shape)) { /* empty: strides do not matter */
        *out = (eg__matrix){*view, rows, (size_t)shape->shape[last], (size_t)shape->shape[last]};
        return true;
    }
    if (shape->shape[last] > 1 && view->stride[last] != 1) return false;
    if (!eg__view_split(shape, view, last, &kind, &stride)) return false;
    if (rows > 1 && !stride) return false; /* broadcast rows (stride 0) have to be copied */
    *out = (eg__matrix){*view, rows, (size_t)shape->shape[last], stride};
    return true;
}
