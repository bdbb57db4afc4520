/* What kernels compute: a value for each OPERATION of kernels.def. */
#ifndef EG__OPERATION_H
#define EG__OPERATION_H

typedef enum eg__operation {
#define OPERATION(name, ...) EG__OP_##name,
#include "kernels/kernels.def"
    EG__OP_COUNT
} eg__operation;

#endif
