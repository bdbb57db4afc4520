/* No gate is written by hand for other processors. */
#include "gate_loops.h"

const gate_name gate_names[] = {{.isa = NULL}};
