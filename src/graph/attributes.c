/* Attributes of nodes as lists of named fields, made from the rows of ops.def. */
#include "graph/graph.h"

#include <stddef.h>
#include <string.h>

/* ---- one function per operation: its scope is what lets a row of ops.def use the same field names
 * as another row */
#define FIELD(name, kind, count) {#name, EG__ATTRIBUTE_##kind, count, offsetof(fields, name)},
#define FLAG(name)               FIELD(name, FLAG, 1)
#define UNSIGNED(name)           FIELD(name, UNSIGNED, 1)
#define UNSIGNEDS(name, count)   FIELD(name, UNSIGNED, count)
#define COUNT(name)              FIELD(name, COUNT, 1)
#define INTEGER(name)            FIELD(name, INTEGER, 1)
#define INTEGERS(name, count)    FIELD(name, INTEGER, count)
#define NUMBER(name)             FIELD(name, NUMBER, 1)
#define NONE
#define OP(name, least, most, attributes)                                           \
    static const eg__attribute *list_##name(void) {                                 \
        typedef eg__##name##_attributes fields;                                     \
        static const eg__attribute list[] = {attributes{.offset = sizeof(fields)}}; \
        return list;                                                                \
    }
#include "graph/ops/ops.def"

const eg__attribute *eg__op_attributes(eg__op_id op) {
    static const eg__attribute *(*const lists[EG__GRAPH_COUNT])(void) = {
#define OP(name, least, most, attributes) list_##name,
#include "graph/ops/ops.def"
    };
    return lists[op]();
}

/* ---- reading and writing one attribute */
static size_t size_of(const eg__attribute *which) {
    static const size_t size[] = {[EG__ATTRIBUTE_FLAG] = sizeof(bool),
                                  [EG__ATTRIBUTE_UNSIGNED] = sizeof(unsigned),
                                  [EG__ATTRIBUTE_COUNT] = sizeof(uint64_t),
                                  [EG__ATTRIBUTE_INTEGER] = sizeof(int64_t),
                                  [EG__ATTRIBUTE_NUMBER] = sizeof(double)};
    return size[which->kind];
}

int64_t eg__attribute_integer(const eg__attributes *from, const eg__attribute *which, unsigned i) {
    const void *at = (const char *)from + which->offset;
    switch (which->kind) {
    case EG__ATTRIBUTE_FLAG: return ((const bool *)at)[i];
    case EG__ATTRIBUTE_UNSIGNED: return ((const unsigned *)at)[i];
    case EG__ATTRIBUTE_COUNT: return (int64_t)((const uint64_t *)at)[i];
    default: return ((const int64_t *)at)[i];
    }
}

bool eg__attribute_set(eg__attributes *to, const eg__attribute *which, unsigned i, int64_t value) {
    void *at = (char *)to + which->offset;
    if (value < 0 && which->kind != EG__ATTRIBUTE_INTEGER) return false;
    switch (which->kind) {
    case EG__ATTRIBUTE_FLAG: ((bool *)at)[i] = value != 0; return value <= 1;
    case EG__ATTRIBUTE_UNSIGNED: ((unsigned *)at)[i] = (unsigned)value; return value <= UINT32_MAX;
    case EG__ATTRIBUTE_COUNT: ((uint64_t *)at)[i] = (uint64_t)value; return true;
    default: ((int64_t *)at)[i] = value; return true;
    }
}

double *eg__attribute_number(eg__attributes *of, const eg__attribute *which) {
    return (double *)(void *)((char *)of + which->offset);
}

/* Compared field by field: padding bytes of the union have undefined values. */
bool eg__attributes_equal(eg__op_id op, const eg__attributes *a, const eg__attributes *b) {
    for (const eg__attribute *which = eg__op_attributes(op); which->name; which++)
        if (memcmp((const char *)a + which->offset, (const char *)b + which->offset,
                   which->count * size_of(which)) != 0)
            return false;
    return true;
}
