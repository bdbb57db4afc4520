/* Values inside a scan, as values outside of it: all steps at once, with time as a first axis. */
#ifndef EG__LIFT_H
#define EG__LIFT_H

#include "graph/passes/rewrite.h"

typedef struct eg__lift {
    eg__rewrite *r;
    eg_node *lifted; /* per old node: the lifted value, made on demand */
    /* per old node inside a scan: depends on a carry a carry depends on it */
    unsigned char *late, *needed;
    bool quantized; /* a parameter is */
} eg__lift;

/* Begin and end of a rewriter whose `user` is an eg__lift. */
bool eg__lift_open(eg__rewrite *r);
void eg__lift_close(eg__rewrite *r);

/* The value of an old node for all steps: computed outside of the scan where possible, else
 * stacked. Nodes outside of scans give their replacement. */
eg_node eg__lift_node(eg__lift *lift, uint32_t id);
/* Whether its operation can work on all steps at once, with time as a first axis. */
bool eg__lift_can(const eg__lift *lift, uint32_t id);

#endif
