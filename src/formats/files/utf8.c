/* UTF-8 for users of the library. */
#include "formats/files/utf8.h"
#include "elegans/base.h"

size_t eg_utf8_length(const char *at) { return eg__utf8_length((const unsigned char *)at); }
