/* No vector functions of others on this processor family. */
#include "peers_math.h"

const vector_name vector_names[] = {{.name = NULL}};
