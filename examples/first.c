/* A network of two layers: built, differentiated, compiled and run. */
#include <elegans/elegans.h>
#include <stdio.h>

int main(void) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_error error;
    eg_node d[2];
    if (eg_context_create(NULL, &context, &error) || eg_graph_create(context, &g, &error))
        return puts(error.message), 1;
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){2, 3});
    eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){3, 4});
    eg_node v = eg_parameter(g, "v", 2, (uint64_t[]){4, 1});
    eg_node y = eg_matmul(g, eg_tanh(g, eg_matmul(g, x, w)), v);
    eg_node loss = eg_mean(g, eg_mul(g, y, y), EG_ALL_AXES, 0);
    if (eg_gradient(g, loss, 2, (eg_node[]){w, v}, d, &error)) return puts(error.message), 1;
    eg_output outputs[] = {{"y", y}, {"loss", loss}, {"dw", d[0]}, {"dv", d[1]}};
    if (eg_compile(context, g, 4, outputs, NULL, &program, &error) ||
        eg_weights_create(program, &weights, &error) ||
        eg_instance_create(program, weights, &instance, &error))
        return puts(error.message), 1;
    float xs[] = {1, 2, 3, -1, 0, 1}, ws[12], vs[] = {1, -1, 2, -1}, ys[2];
    for (int i = 0; i < 12; i++) ws[i] = 0.1f * (float)(i % 5 - 2);
    eg_tensor out[3];
    if (eg_weights_set(weights, "w", &(eg_tensor){EG_F32, 2, {3, 4}, ws}, &error) ||
        eg_weights_set(weights, "v", &(eg_tensor){EG_F32, 2, {4, 1}, vs}, &error) ||
        eg_instance_bind(instance, "x", &(eg_tensor){EG_F32, 2, {2, 3}, xs}, &error) ||
        eg_instance_bind(instance, "y", &(eg_tensor){EG_F32, 2, {2, 1}, ys}, &error) ||
        eg_instance_output(instance, "loss", &out[0], &error) ||
        eg_instance_output(instance, "dw", &out[1], &error) ||
        eg_instance_output(instance, "dv", &out[2], &error) || eg_run(instance, NULL, &error))
        return puts(error.message), 1;
    printf("y = %.4f %.4f, loss = %.4f, d loss / d v =", ys[0], ys[1], *(float *)out[0].data);
    for (int i = 0; i < 4; i++) printf(" %.4f", ((float *)out[2].data)[i]);
    putchar('\n');
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return 0;
}
