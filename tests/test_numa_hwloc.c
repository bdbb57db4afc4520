/* Which memory node is near a thread, on machines we do not have. */
#include "test.h"
#include "memory/numa_hwloc.h"
#include "memory/system.h"

AREA(numa, "the node near each processor on 7 synthetic machines, memory from it")

static hwloc_topology_t load(const char *description, unsigned long flags) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) || hwloc_topology_set_synthetic(topology, description) ||
        hwloc_topology_set_flags(topology, flags) || hwloc_topology_load(topology)) {
        CHECK(false, "hwloc does not load '%s'", description);
        exit(1);
    }
    return topology;
}

static int node_near(hwloc_topology_t topology, unsigned first, unsigned last) {
    hwloc_cpuset_t where = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(where, first, (int)last);
    int node = eg__numa_node_near(topology, where);
    hwloc_bitmap_free(where);
    return node;
}

TEST(numa, the_node_near_a_processor) {
    static const struct {
        const char *topology;
        bool wanted;
        int processors;
        int nodes[8]; /* per processor */
    } rows[] = {
        {"numa:2 core:2 pu:1", true, 4, {0, 0, 1, 1}},
        {"numa:4 core:1 pu:2", true, 8, {0, 0, 1, 1, 2, 2, 3, 3}},
        {"numa:1 core:4 pu:1", false, 4, {0, 0, 0, 0}},
        {"core:2 pu:2", false, 4, {0, 0, 0, 0}},
        {"pack:2 [numa] [numa] core:2 pu:1", true, 4, {0, 0, 2, 2}}, /* two nodes each */
        {"numa:2(indexes=1,0) core:2 pu:1", true, 4, {1, 1, 0, 0}},
        {"numa:2 core:2 pu:1(indexes=0,2,1,3)", true, 4, {0, 1, 0, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hwloc_topology_t topology = load(rows[i].topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
        CHECK(eg__numa_wanted(topology) == rows[i].wanted, "'%s'", rows[i].topology);
        for (int p = 0; p < rows[i].processors; p++) {
            int node = node_near(topology, (unsigned)p, (unsigned)p);
            CHECK(node == rows[i].nodes[p], "'%s', processor %d: node %d", rows[i].topology, p,
                  node);
        }
        CHECK(node_near(topology, 100, 101) == -1, "'%s': a processor it lacks", rows[i].topology);
        hwloc_topology_destroy(topology);
    }
}

TEST(numa, another_machines_topology_is_not_used) {
    if (getenv("HWLOC_THISSYSTEM")) {
        test_skip("HWLOC_THISSYSTEM says that every topology is this machine's");
        return;
    }
    hwloc_topology_t topology = load("numa:2 core:2 pu:1", 0);
    CHECK(!eg__numa_wanted(topology), "it says nothing about this machine's memory");
    hwloc_topology_destroy(topology);
}

/* This machine, told that it has two nodes: where the second is missing, memory still comes. */
TEST(numa, memory_comes_from_the_allocator) {
    hwloc_topology_t topology = load("numa:2 core:64 pu:1", HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    int node = eg__numa_node_here(topology);
    CHECK(node == 0 || node == 1 || node == -1, "node %d", node);
    eg__memory *memory;
    eg_error error = {0};
    eg__memory_options options = {.allocator = eg__numa_allocator(topology),
                                  .node = eg__numa_node_here};
    CHECK_OK(eg__memory_create(&memory, &options, &error), error);
    static const size_t sizes[] = {0, 1000, 61440, 61441, 65536, 100000, 5000000};
    for (size_t i = 0; memory && i < sizeof sizes / sizeof *sizes; i++) {
        char *block = eg__memory_take(memory, EG_TAG_TENSOR, sizes[i], &error);
        CHECK(block && (uintptr_t)block % 64 == 0, "%zu bytes: %s", sizes[i], error.message);
        if (block) memset(block, 1, sizes[i]);
        eg__memory_give(memory, block);
    }
    eg__memory_destroy(memory);
    hwloc_topology_destroy(topology);

    /* no processor of this machine is in it: whoever writes first decides */
    topology = load("numa:2 core:1 pu:1(indexes=1000,1001)", HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    CHECK(eg__numa_node_here(topology) == -1, "a processor that it does not have");
    eg_allocator allocator = eg__numa_allocator(topology);
    char *block = allocator.allocate(allocator.user, 100000, 64);
    CHECK(block != NULL, "no node, no memory");
    if (block) {
        memset(block, 1, 100000);
        allocator.release(allocator.user, block, 100000);
    }
    hwloc_topology_destroy(topology);
}

TEST(numa, one_node_keeps_no_topology) {
    hwloc_topology_t machine;
    if (hwloc_topology_init(&machine) || hwloc_topology_load(machine)) exit(1);
    bool wanted = eg__numa_wanted(machine);
    hwloc_topology_destroy(machine);
    eg__memory_node node;
    eg_allocator allocator = eg__numa_open(&node), plain = eg__system_allocator();
    if (wanted) CHECK(node && allocator.user, "several nodes and no topology");
    else CHECK(!node && !allocator.user && allocator.allocate == plain.allocate, "kept something");
    eg__numa_close(&allocator);
}
