/* Commands that take long report themselves: what they do, what a step costs, and the ceilings it is held against. */
#include "cli/publishing.h"

eg_publisher *publish_open(eg_context *context, const char *activity, const char *model,
                           const eg_program_info *costs, bool alone) {
    eg_publisher_options options = {.size = sizeof options,
                                    .program = "elegans",
                                    .activity = activity,
                                    .model = model,
                                    .step_flops = costs ? costs->flops : 0,
                                    .step_bytes = costs ? costs->bytes : 0};
    eg_publisher *publisher;
    eg_publisher_ceilings(context, alone, &options, NULL); /* none are stored: no verdict */
    eg_publisher_open(context, &options, &publisher, NULL);
    return publisher;
}
