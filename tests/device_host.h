/* A second device for the tests: it runs steps of the cores in a thread of its own, on memory of its own. */
#ifndef EG__DEVICE_HOST_H
#define EG__DEVICE_HOST_H

#include "elegans/elegans.h"
#include "graph/device.h"

#include <pthread.h>

typedef struct host_device {
    eg__device device; /* names and costs may be changed before it is added */
    eg_context *context;
    uint64_t random; /* 0 = every unit costs `seconds`, else they are drawn */
    double seconds;
    bool (*refuses)(const eg__node *node); /* NULL = it can do everything */
    int64_t fail_at;                       /* the call of that number fails; 0 = none */
    /* what happened; atomic */
    int64_t calls, parts, runs, written, read, imported, buffers, objects;
    /* the queue */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct eg__device_instance *queue;
    bool stops;
} host_device;

void host_device_open(host_device *device, const char *name);
void host_device_import(host_device *device); /* it takes memory of the host as it is */
void host_device_close(host_device *device);  /* checks that everything was given back */

#endif
