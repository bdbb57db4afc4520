/* NUMA-local allocation through hwloc. */
#include "memory/numa_hwloc.h"
#include "memory/system.h"

#include <assert.h>
#include <pthread.h>

bool eg__numa_wanted(hwloc_topology_t topology) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) > 1 &&
           hwloc_topology_is_thissystem(topology);
}

/* A processor can have several nodes of its own. Systems number ordinary memory before the fast
 * small kind, which is for those who ask for it by name: the lowest number is the one to take. */
int eg__numa_node_near(hwloc_topology_t topology, hwloc_const_cpuset_t where) {
    int best = -1;
    for (hwloc_obj_t node = NULL;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
        int number = (int)node->os_index;
        if (hwloc_bitmap_intersects(node->cpuset, where) && (best < 0 || number < best))
            best = number;
    }
    return best;
}

int eg__numa_node_here(void *user) {
    hwloc_topology_t topology = user;
    hwloc_cpuset_t where = hwloc_bitmap_alloc();
    int node = -1;
    if (where && hwloc_get_last_cpu_location(topology, where, HWLOC_CPUBIND_THREAD) == 0)
        node = eg__numa_node_near(topology, where);
    hwloc_bitmap_free(where);
    return node;
}

static void *allocate(void *user, size_t size, size_t alignment) {
    hwloc_topology_t topology = user;
    eg_allocator plain = eg__system_allocator();
    if (size < EG__NUMA_LEAST) return plain.allocate(plain.user, size, alignment);
    assert(alignment <= 4096); /* hwloc gives whole pages */
    int node = eg__numa_node_here(topology);
    hwloc_nodeset_t nodes = node < 0 ? NULL : hwloc_bitmap_alloc();
    void *memory;
    if (nodes) {
        hwloc_bitmap_only(nodes, (unsigned)node);
        /* Not strict: a full node is no reason to fail, another one serves as well. */
        memory =
            hwloc_alloc_membind(topology, size, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET);
    } else memory = hwloc_alloc(topology, size); /* whoever writes first decides */
    hwloc_bitmap_free(nodes);
    if (memory) eg__huge_pages_advise(memory, size);
    return memory;
}

static void release(void *user, void *memory, size_t size) {
    eg_allocator plain = eg__system_allocator();
    if (size < EG__NUMA_LEAST) plain.release(plain.user, memory, size);
    else hwloc_free(user, memory, size);
}

eg_allocator eg__numa_allocator(hwloc_topology_t topology) {
    return (eg_allocator){topology, allocate, release};
}

/* NULL unless this machine has several nodes. */
static hwloc_topology_t load(void) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology)) return NULL;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology) == 0 && eg__numa_wanted(topology)) return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* Loading takes milliseconds and the machine stays the same: asked once per process. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool several_nodes;

static void count_nodes(void) {
    hwloc_topology_t topology = load();
    several_nodes = topology != NULL;
    if (topology) hwloc_topology_destroy(topology);
}

eg_allocator eg__numa_open(eg__memory_node *node) {
    pthread_once(&once, count_nodes);
    hwloc_topology_t topology = several_nodes ? load() : NULL;
    *node = topology ? eg__numa_node_here : NULL;
    return topology ? eg__numa_allocator(topology) : eg__system_allocator();
}

void eg__numa_close(const eg_allocator *allocator) {
    if (allocator->allocate == allocate) hwloc_topology_destroy(allocator->user);
}
