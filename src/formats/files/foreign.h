/* Files that people give as a model and that are none: what they are, and the way from them to one. */
#ifndef EG__FOREIGN_H
#define EG__FOREIGN_H

#include "base/base.h"

/* EG_ERR_UNSUPPORTED and a message that says what the file is and how to convert it, when it is known to be something
 * else than a model; EG_OK otherwise, also when it cannot be read. */
eg_status eg__foreign_check(const char *path, eg_error *error);

#endif
