/* Devices: compute units with a queue of their own beside the cores (a GPU, a neural engine, another machine). A device
 * compiles a part of a graph, which then is one step of the program; all its memory is reached through buffers. Nothing
 * here belongs to a vendor: a device is this struct of functions and whatever `user` points to.
 *
 * All values that cross between units lie in the host's memory between steps. A device of shared memory imports them where
 * they are; any other copies them when a part begins and when it has ended.
 *
 * A device is registered with a context before the first program (eg__context_device_add), lives as long as the context
 * and is used by one thread at a time for each instance; several instances may be used at once. */
#ifndef EG__DEVICE_H
#define EG__DEVICE_H

#include "graph/graph.h"

typedef struct eg__device eg__device;
/* Handles that a device returns; only the device knows what is in them. */
typedef struct eg__device_buffer eg__device_buffer;
typedef struct eg__device_program eg__device_program;
typedef struct eg__device_weights eg__device_weights;
typedef struct eg__device_instance eg__device_instance;
typedef uint64_t eg__device_fence;

typedef enum eg__device_memory {
    EG__DEVICE_OWN,   /* its own: all values are copied */
    EG__DEVICE_SHARED /* shared: pages of the host can be imported */
} eg__device_memory;

/* What a device compiles: a separate graph, whose inputs include the values that other units
 * compute. Inputs, parameters and states keep their names or get new ones; indices count them in
 * the order of the graph. */
typedef struct eg__device_task {
    const eg_graph *graph; /* valid during compile only */
    size_t count;
    const eg_node *outputs;
    /* The maximum number of time steps where a run may do fewer; 0 = the number is fixed. Inputs of
     * kind EG__INPUT_TIMED have time as their first axis; in a shorter run only the first steps of
     * their memory hold values. */
    size_t length;
    bool training;
} eg__device_task;

typedef enum eg__device_leaf { EG__DEVICE_INPUT, EG__DEVICE_OUTPUT } eg__device_leaf;
typedef enum eg__device_way { EG__TO_DEVICE, EG__TO_HOST } eg__device_way;

struct eg__device {
    const char *name; /* "gpu"; static */
    eg__device_memory memory;
    double launch_seconds;   /* from submit to the first operation */
    double bytes_per_second; /* bytes/s between its memory and the host's; 0 = nothing is copied */
    void *user;

    /* ---- what it can do, and how many seconds that takes without launch and copies. Nodes inside
     * a scan are judged with the scan. `can` is also asked about views and about values that depend
     * on parameters alone, because a part computes those itself. If compiling fails although `can`
     * said yes, that is an error. */
    bool (*can)(const eg__device *device, const eg_graph *graph, uint32_t node);
    double (*cost)(const eg__device *device, const eg_graph *graph, size_t count,
                   const uint32_t *nodes);

    /* ---- programs, their weights (the device's copy of the parameters and what it derives from them, shared by
     * instances) and instances */
    eg_status (*compile)(eg__device *device, const eg__device_task *task, eg__device_program **out,
                         eg_error *error);
    void (*program_release)(eg__device *device, eg__device_program *program);
    eg_status (*weights_create)(eg__device *device, eg__device_program *program,
                                eg__device_weights **out, eg_error *error);
    eg_status (*weights_write)(eg__device *device, eg__device_weights *weights, size_t parameter,
                               const void *data, size_t bytes, eg_error *error);
    /* Called after all parameters have been written, so that the device can derive values from
     * them. No instance runs meanwhile. */
    eg_status (*weights_end)(eg__device *device, eg__device_weights *weights, eg_error *error);
    void (*weights_release)(eg__device *device, eg__device_weights *weights);
    eg_status (*instance_create)(eg__device *device, eg__device_program *program,
                                 eg__device_weights *weights, eg__device_instance **out,
                                 eg_error *error);
    void (*instance_release)(eg__device *device, eg__device_instance *instance);
    /* Binds the buffer for all later runs. */
    eg_status (*bind)(eg__device *device, eg__device_instance *instance, eg__device_leaf leaf,
                      size_t index, eg__device_buffer *buffer, eg_error *error);
    /* Reads or writes a whole state, between runs. */
    eg_status (*state_copy)(eg__device *device, eg__device_instance *instance, size_t index,
                            void *host, size_t bytes, eg__device_way way, eg_error *error);

    /* ---- running: submit returns at once. The bound buffers belong to the device until wait,
     * which is called once per fence and returns the status of the run */
    eg_status (*submit)(eg__device *device, eg__device_instance *instance, size_t length,
                        uint64_t seed, eg__device_fence *out, eg_error *error);
    eg_status (*wait)(eg__device *device, eg__device_fence fence, eg_error *error);

    /* ---- memory. `import` (NULL = it cannot) makes a buffer of the host's pages, without a copy. */
    eg_status (*take)(eg__device *device, size_t bytes, eg__device_buffer **out, eg_error *error);
    eg_status (*import)(eg__device *device, void *data, size_t bytes, eg__device_buffer **out,
                        eg_error *error);
    void (*give)(eg__device *device, eg__device_buffer *buffer); /* either kind */
    eg_status (*write)(eg__device *device, eg__device_buffer *to, const void *from, size_t bytes,
                       eg_error *error);
    eg_status (*read)(eg__device *device, eg__device_buffer *from, void *to, size_t bytes,
                      eg_error *error);
};

/* ---- where a program may run */

/* Rates of the cores, for the cost of nodes that were never measured. */
typedef struct eg__host_rates {
    double flops_per_second, bytes_per_second, step_seconds; /* step: the minimum */
} eg__host_rates;

/* Measured seconds of these nodes on `device` (NULL = the cores); negative = never measured. */
typedef double eg__measured_cost(void *user, const eg__device *device, const eg_graph *graph,
                                 size_t count, const uint32_t *nodes);

enum { EG__DEVICES_MAX = 8 };
typedef struct eg__placement {
    size_t count;
    eg__device *devices[EG__DEVICES_MAX];
    eg__host_rates host;
    eg__measured_cost *measured; /* NULL = nothing was measured */
    void *measured_user;
} eg__placement;

#endif
