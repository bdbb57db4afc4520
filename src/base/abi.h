/* Options and infos of any version of the interface: the caller's struct says its size first, and 0 means the fields that
 * the struct had in the version that brought it (abi.def). */
#ifndef EG__ABI_H
#define EG__ABI_H

#include "elegans/elegans.h"

#include <stddef.h>

/* Bytes of the first version: all up to its last field. */
#define ABI(type, last) \
    enum { eg__first_##type = offsetof(type, last) + sizeof(((type *)0)->last) };
#include "base/abi.def"

/* The caller's options in the struct of this version: what they do not have is 0. EG_ERR_ARGUMENT: a size that no version has;
 * EG_ERR_UNSUPPORTED: a field that this version does not know is not 0. On failure `kept` is all zero. */
eg_status eg__options_take(void *kept, size_t now, size_t first, const char *name,
                           const void *given, eg_error *error);
#define EG__OPTIONS(type, kept, given, error)                                                      \
    eg__options_take((type *){kept}, sizeof(type), eg__first_##type, #type, (const type *){given}, \
                     error)

/* An info of this version to the caller's struct: as much as it has room for; what this version does not know is 0. */
void eg__info_give(void *out, size_t now, size_t first, const void *info);
#define EG__INFO(type, out, info) \
    eg__info_give((type *){out}, sizeof(type), eg__first_##type, (const type *){info})

#endif
