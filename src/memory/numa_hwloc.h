/* The parts of NUMA-local allocation that take a topology, so that tests can bring their own. */
#ifndef EG__NUMA_HWLOC_H
#define EG__NUMA_HWLOC_H

#include "memory/numa.h"

#include <hwloc.h>

/* Worth it: several nodes, and the topology is that of the machine we run on. */
bool eg__numa_wanted(hwloc_topology_t topology);
/* System number of the node for a thread that runs on the processors `where`; -1 when none is. */
int eg__numa_node_near(hwloc_topology_t topology, hwloc_const_cpuset_t where);
/* Allocates on that node. The topology, its `user`, must outlive it. */
eg_allocator eg__numa_allocator(hwloc_topology_t topology);
/* The calling thread's node; `user` is the topology. */
int eg__numa_node_here(void *user);

#endif
