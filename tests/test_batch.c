/* Batch sizes: what grows, what shrinks, and where it ends. */
#include "test.h"
#include "elegans/elegans.h"

AREA(batch, "sizes double while they work, halve when they do not, and find the largest that works")

TEST(batch, finds_the_largest_power_that_works) {
    static const struct {
        uint64_t first, least, most, room, works; /* room: the largest that works at all */
    } rows[] = {{32, 1, 128, 1000, 128},  {32, 1, 128, 100, 64}, {32, 1, 128, 32, 32},
                {32, 1, 128, 31, 16},     {32, 1, 128, 1, 1},    {32, 1, 128, 0, 0},
                {32, 8, 128, 7, 0},       {32, 8, 128, 9, 8},    {0, 0, 0, 5000, 4096},
                {500, 1, 100, 1000, 100}, {3, 1, 20, 1000, 20},  {48, 5, 200, 40, 24}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_batch b;
        int turns = 0;
        eg_batch_begin(&b, rows[i].first, rows[i].least, rows[i].most);
        while (!eg_batch_settled(&b) && turns++ < 64) {
            const uint64_t size = b.size;
            CHECK(size >= b.least && size <= b.most, "%zu: %llu", i, (unsigned long long)size);
            eg_batch_adjust(&b, size <= rows[i].room);
        }
        CHECK(turns < 64 && b.works == rows[i].works, "%zu: %llu after %d turns", i,
              (unsigned long long)b.works, turns);
    }
}

TEST(batch, adjusts_while_it_runs) {
    eg_batch b;
    eg_batch_begin(&b, 64, 1, 64);
    CHECK(eg_batch_adjust(&b, 1) == 64, "the most");
    CHECK(eg_batch_adjust(&b, 0) == 32 && b.works == 0, "it works no more");
    CHECK(eg_batch_adjust(&b, 1) == 32 && b.works == 32 && eg_batch_settled(&b), "64 is known");
    for (int i = 2; i < EG_BATCH_PATIENCE; i++)
        CHECK(eg_batch_adjust(&b, 1) == 32, "patience, %d", i);
    CHECK(eg_batch_adjust(&b, 1) == 64, "and tried again");
    for (int i = 0; i < 7; i++) eg_batch_adjust(&b, 0);
    CHECK(b.size == 0 && eg_batch_adjust(&b, 1) == 0 && eg_batch_settled(&b), "nothing is left");
}
