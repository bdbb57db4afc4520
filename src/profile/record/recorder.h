/* What a recorder is made of: the rings that programs write into, and how to read them. */
#ifndef EG__RECORDER_H
#define EG__RECORDER_H

#include "elegans/profile.h"
#include "engine/context.h"
#include "engine/program.h"

struct eg_recorder {
    eg_context *context;
    eg__memory *memory;
    eg_recorder_options options;
    eg__record record;
    eg__event *events;
};

static inline uint64_t eg__ring_there(const eg__ring *ring) {
    return ring->count < ring->room ? ring->count : ring->room;
}

static inline const eg__event *eg__ring_event(const eg__ring *ring, uint64_t index) {
    return &ring->events[(ring->count - eg__ring_there(ring) + index) & (ring->room - 1)];
}

/* Nanoseconds of a tick. */
static inline double eg__record_tick(const eg__record *record) {
    const uint64_t ticks = record->ended - record->began;
    return ticks ? (double)(record->ended_ns - record->began_ns) / (double)ticks : 0;
}

#endif
