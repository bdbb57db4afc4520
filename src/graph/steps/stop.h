/* Somebody who may end a run early. */
#ifndef EG__STOP_H
#define EG__STOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct eg__stop {
    int (*function)(void *user);
    void *user;
    pthread_t caller; /* asks; the other threads of the run look at what it heard */
    uint64_t next;    /* when to ask again, ns */
    bool stopped;     /* atomic */
} eg__stop;

#endif
