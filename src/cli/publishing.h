/* Commands that take long report themselves, for `elegans monitor` to see. */
#ifndef EG__CLI_PUBLISHING_H
#define EG__CLI_PUBLISHING_H

#include "cli/cli.h"

/* NULL when it cannot be, or is not wanted (ELEGANS_PUBLISH=0): all calls take that. `costs` of a step may be NULL;
 * with `alone`, one thread does it. */
eg_publisher *publish_open(eg_context *context, const char *activity, const char *model,
                           const eg_program_info *costs, bool alone);

#endif
