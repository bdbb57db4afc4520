/* What grew since a mark, and whether that is more than is tolerated. */
#include "test.h"

AREA(leaks, "growth since a mark, by tag, against a tolerance")

static eg__memory *create(void) {
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    if (!memory) exit(1);
    return memory;
}

static void *take(eg__memory *memory, eg_tag tag, size_t size) {
    void *block = eg__memory_take(memory, tag, size, NULL);
    if (!block) exit(1);
    return block;
}

TEST(leaks, growth_since_a_mark) {
    static const struct {
        size_t size;
        uint64_t tolerance;
        int leaked;
    } rows[] = {{0, 0, 0},
                {1, 0, 1},
                {1, 1, 0},
                {1000, 999, 1},
                {1000, 1000, 0},
                {1000, UINT64_MAX, 0},
                {1000, EG_LEAK_TOLERANCE, 0},
                {100000000, EG_LEAK_TOLERANCE, 0},
                {100000001, EG_LEAK_TOLERANCE, 1}};
    eg__memory *memory = create();
    void *before = take(memory, EG_TAG_GRAPH, 300);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_memory_mark mark;
        eg_memory_growth growth;
        eg__memory_mark_get(memory, &mark);
        void *block = take(memory, EG_TAG_PROGRAM, rows[i].size);
        eg__memory_growth_get(memory, &mark, rows[i].tolerance, &growth);
        CHECK(growth.leaked == rows[i].leaked && growth.total == (int64_t)rows[i].size, "row %zu",
              i);
        for (int tag = 0; tag < EG_TAG_COUNT; tag++)
            CHECK(growth.by_tag[tag] == (tag == EG_TAG_PROGRAM ? (int64_t)rows[i].size : 0),
                  "row %zu, %s", i, eg_tag_name((eg_tag)tag));
        eg__memory_give(memory, block);
        eg__memory_growth_get(memory, &mark, 0, &growth);
        CHECK(!growth.leaked && growth.total == 0, "row %zu: given back", i);
    }
    eg_memory_mark mark;
    eg_memory_growth growth;
    eg__memory_mark_get(memory, &mark);
    eg__memory_give(memory, before);
    eg__memory_growth_get(memory, &mark, 0, &growth);
    CHECK(!growth.leaked && growth.total == -300 && growth.by_tag[EG_TAG_GRAPH] == -300, "shrunk");
    eg__memory_destroy(memory);
}
