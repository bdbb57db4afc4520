/* A stream: a recurrent network that keeps its state between runs, one step at a time. */
#include <elegans/elegans.h>
#include <stdio.h>

enum { INPUTS = 2, UNITS = 3 };

int main(void) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *robots[2];
    eg_error error;
    if (eg_context_create(NULL, &context, &error) || eg_graph_create(context, &g, &error))
        return puts(error.message), 1;
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){1, INPUTS});
    eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){INPUTS + UNITS, UNITS});
    eg_node h = eg_state(g, "h", 2, (uint64_t[]){1, UNITS});
    eg_node both[] = {x, h};
    eg_node next = eg_tanh(g, eg_matmul(g, eg_concat(g, 1, 2, both), w));
    eg_output output = {"y", eg_update(g, h, next)};
    if (eg_compile(context, g, 1, &output, NULL, &program, &error) ||
        eg_weights_create(program, &weights, &error))
        return puts(error.message), 1;
    float ws[(INPUTS + UNITS) * UNITS], y[UNITS];
    for (int i = 0; i < (INPUTS + UNITS) * UNITS; i++) ws[i] = 0.3f * (float)(i % 7 - 3);
    eg_tensor tensor = {EG_F32, 2, {INPUTS + UNITS, UNITS}, ws};
    if (eg_weights_set(weights, "w", &tensor, &error)) return puts(error.message), 1;
    for (int r = 0; r < 2; r++) /* one program, one set of weights, two robots with their states */
        if (eg_instance_create(program, weights, &robots[r], &error)) return puts(error.message), 1;
    for (int t = 0; t < 3; t++)
        for (int r = 0; r < 2; r++) {
            float sensed[INPUTS] = {0.5f * (float)t, (float)r};
            eg_tensor in = {EG_F32, 2, {1, INPUTS}, sensed}, out = {EG_F32, 2, {1, UNITS}, y};
            if (eg_instance_bind(robots[r], "x", &in, &error) ||
                eg_instance_bind(robots[r], "y", &out, &error) || eg_run(robots[r], NULL, &error))
                return puts(error.message), 1;
            printf("step %d, robot %d: %7.4f %7.4f %7.4f\n", t, r, y[0], y[1], y[2]);
        }
    for (int r = 0; r < 2; r++) eg_instance_destroy(robots[r]);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return 0;
}
