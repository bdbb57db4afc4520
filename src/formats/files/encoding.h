/* Text of other encodings as UTF-8. */
#ifndef EG__ENCODING_H
#define EG__ENCODING_H

#include "formats/files/file.h"

/* NULL is UTF-8. EG_ERR_UNSUPPORTED lists the known ones. */
eg_status eg__encoding_find(const char *name, int *out, eg_error *error);
bool eg__encoding_is_utf8(int encoding);
/* Into new memory, which the caller gives back. */
eg_status eg__encoding_convert(eg__memory *memory, int encoding, const void *bytes, size_t length,
                               char **out, size_t *out_length, eg_error *error);

#endif
