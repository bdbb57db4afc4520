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

/* Copies the caller's options to the struct of this version; fields that they lack are 0.
 * EG_ERR_ARGUMENT: no version has that size; EG_ERR_UNSUPPORTED: a field that this version does not
 * know is not 0. On failure `kept` is all zero. */
eg_status eg__options_take(void *kept, size_t now, size_t first, const char *name,
                           const void *given, eg_error *error);
#define EG__OPTIONS(type, kept, given, error)                                                      \
    eg__options_take((type *){kept}, sizeof(type), eg__first_##type, #type, (const type *){given}, \
                     error)

/* Copies an info of this version to the caller's struct, as much as fits; fields that this version
 * does not know are 0. */
void eg__info_give(void *out, size_t now, size_t first, const void *info);
#define EG__INFO(type, out, info) \
    eg__info_give((type *){out}, sizeof(type), eg__first_##type, (const type *){info})

#endif
