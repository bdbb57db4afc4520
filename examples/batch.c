/* Many sequences at once, each with its own elapsed times and length. */
#include <elegans/elegans.h>
#include <stdio.h>

enum { BATCH = 4, TIME = 20, INPUTS = 3 };

int main(void) {
    static float x[BATCH][TIME][INPUTS], timespans[BATCH][TIME], lengths[BATCH] = {20, 15, 10, 5};
    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < TIME; t++) {
            timespans[b][t] = 0.5f + 0.1f * (float)((b + t) % 5);
            for (int i = 0; i < INPUTS; i++)
                x[b][t][i] = (float)((b * 7 + t * 3 + i) % 11) / 11 - 0.5f;
        }
    eg_context *context;
    eg_model *model;
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_error error;
    eg_model_nodes nodes;
    eg_tensor y;
    const eg_model_options options = {
        .batch = BATCH, .time = TIME, .batch_first = 1, .timespans = 1, .lengths = 1, .last = 1};
    if (eg_context_create(NULL, &context, &error) ||
        eg_model_open(context, "ltc:autoncp:12:2,in=3,seed=5", &model, &error) ||
        eg_graph_create(context, &graph, &error) ||
        eg_model_build(model, graph, &options, &nodes, &error))
        return puts(error.message), 1;
    const eg_output output = {"y", nodes.y};
    if (eg_compile(context, graph, 1, &output, NULL, &program, &error) ||
        eg_weights_create(program, &weights, &error) || eg_model_weights(model, weights, &error) ||
        eg_instance_create(program, weights, &instance, &error) ||
        eg_model_check_timespans(&timespans[0][0], BATCH, TIME, 1, &error) ||
        eg_instance_bind(instance, "x", &(eg_tensor){EG_F32, 3, {BATCH, TIME, INPUTS}, x},
                         &error) ||
        eg_instance_bind(instance, "timespans", &(eg_tensor){EG_F32, 2, {BATCH, TIME}, timespans},
                         &error) ||
        eg_instance_bind(instance, "lengths", &(eg_tensor){EG_F32, 1, {BATCH}, lengths}, &error) ||
        eg_instance_output(instance, "y", &y, &error) || eg_run(instance, NULL, &error))
        return puts(error.message), 1;
    for (int b = 0; b < BATCH; b++)
        printf("after %2d steps: %7.4f %7.4f\n", (int)lengths[b], ((float *)y.data)[2 * b],
               ((float *)y.data)[2 * b + 1]);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(graph);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return 0;
}
