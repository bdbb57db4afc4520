/* Gradient descent by hand: a small network learns a sine. */
#include <elegans/elegans.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 64, UNITS = 16, PARAMETERS = 4 };

static void check(eg_status status, const eg_error *error) {
    if (status) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

int main(void) {
    eg_error error;
    eg_context *context;
    eg_graph *g;
    check(eg_context_create(NULL, &context, &error), &error);
    check(eg_graph_create(context, &g, &error), &error);
    static const char *const names[] = {"w", "b", "v", "c"};
    static const char *const gradients[] = {"dw", "db", "dv", "dc"};
    static const uint64_t shapes[][2] = {{1, UNITS}, {1, UNITS}, {UNITS, 1}, {1, 1}};
    eg_node p[PARAMETERS], d[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) p[i] = eg_parameter(g, names[i], 2, shapes[i]);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){POINTS, 1});
    eg_node target = eg_input(g, "target", EG_F32, 2, (uint64_t[]){POINTS, 1});
    eg_node hidden = eg_tanh(g, eg_add(g, eg_matmul(g, x, p[0]), p[1]));
    eg_node off = eg_sub(g, eg_add(g, eg_matmul(g, hidden, p[2]), p[3]), target);
    eg_node loss = eg_mean(g, eg_mul(g, off, off), EG_ALL_AXES, 0);
    check(eg_gradient(g, loss, PARAMETERS, p, d, &error), &error);
    eg_output outputs[PARAMETERS + 1] = {{"loss", loss}};
    for (int i = 0; i < PARAMETERS; i++) outputs[i + 1] = (eg_output){gradients[i], d[i]};

    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    check(eg_compile(context, g, PARAMETERS + 1, outputs, NULL, &program, &error), &error);
    eg_graph_destroy(g); /* the program does not need it */
    check(eg_weights_create(program, &weights, &error), &error);
    check(eg_instance_create(program, weights, &instance, &error), &error);

    float xs[POINTS], ts[POINTS], value;
    for (int i = 0; i < POINTS; i++) {
        xs[i] = 6.2832f * (float)i / POINTS - 3.1416f;
        ts[i] = sinf(xs[i]);
    }
    eg_tensor column = {EG_F32, 2, {POINTS, 1}, xs}, scalar = {EG_F32, 0, {0}, &value};
    check(eg_instance_bind(instance, "x", &column, &error), &error);
    column.data = ts;
    check(eg_instance_bind(instance, "target", &column, &error), &error);
    check(eg_instance_bind(instance, "loss", &scalar, &error), &error);
    eg_tensor parameter[PARAMETERS], gradient[PARAMETERS];
    unsigned random = 1;
    check(eg_weights_begin(weights, 0, &error), &error);
    for (int i = 0; i < PARAMETERS; i++) {
        check(eg_weights_tensor(weights, names[i], &parameter[i], &error), &error);
        check(eg_instance_output(instance, gradients[i], &gradient[i], &error), &error);
        for (uint64_t k = 0; k < shapes[i][0] * shapes[i][1]; k++) {
            random = random * 1664525u + 1013904223u;
            ((float *)parameter[i].data)[k] = (float)(random >> 8) / (1 << 23) - 1;
        }
    }
    eg_weights_end(weights);

    for (int step = 0; step <= 2000; step++) {
        check(eg_run(instance, NULL, &error), &error);
        if (step == 0) printf("loss at first: %.2f\n", value);
        check(eg_weights_begin(weights, 1, &error), &error);
        for (int i = 0; i < PARAMETERS; i++)
            for (uint64_t k = 0; k < shapes[i][0] * shapes[i][1]; k++)
                ((float *)parameter[i].data)[k] -= 0.1f * ((float *)gradient[i].data)[k];
        eg_weights_end(weights); /* packs the new weights */
    }
    printf("after 2000 steps it is %s\n", value < 0.001f ? "below 0.001" : "not small");
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_context_destroy(context);
    return value < 0.001f ? 0 : 1;
}
