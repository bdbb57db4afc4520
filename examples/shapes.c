/* Shapes that change: a session compiles for every batch size it meets and remembers the last ones;
 * a scan runs any number of steps up to the one it was built with. */
#include <elegans/elegans.h>
#include <stdio.h>

enum { STEPS = 100 };

/* y[t] = 0.9 y[t-1] + x[t], for any number of samples */
static eg_status build(void *user, eg_graph *g, const uint64_t *dimensions, size_t count,
                       eg_output *outputs, size_t room, size_t *used, eg_error *error) {
    (void)user, (void)count, (void)room, (void)error;
    const uint64_t batch = dimensions[0];
    eg_node xs = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, batch, 1});
    eg_node decay = eg_parameter(g, "decay", 0, NULL), scan = eg_scan(g, STEPS, 0);
    eg_node zero = eg_broadcast(g, eg_scalar(g, 0), 2, (uint64_t[]){batch, 1});
    eg_node y = eg_scan_carry(g, scan, zero);
    eg_scan_update(g, y, eg_add(g, eg_mul(g, decay, y), eg_scan_step(g, scan, xs)));
    outputs[0] = (eg_output){"y", eg_scan_last(g, y)};
    *used = 1;
    return EG_OK;
}

int main(void) {
    static float xs[STEPS * 8];
    float decay = 0.9f;
    eg_context *context;
    eg_session *session;
    eg_weights *weights;
    eg_instance *instance;
    eg_error error;
    for (int i = 0; i < STEPS * 8; i++) xs[i] = 1;
    if (eg_context_create(NULL, &context, &error) ||
        eg_session_create(context, build, NULL, NULL, &session, &error))
        return puts(error.message), 1;
    static const uint64_t batches[] = {1, 8, 1, 8}, lengths[] = {1, 2, 10, 100};
    for (int i = 0; i < 4; i++) {
        eg_tensor x = {EG_F32, 3, {lengths[i], batches[i], 1}, xs}, y;
        if (eg_session_instance(session, &batches[i], 1, &instance, &error) ||
            eg_session_weights(session, &weights, &error) ||
            eg_weights_set(weights, "decay", &(eg_tensor){EG_F32, 0, {0}, &decay}, &error) ||
            eg_instance_bind(instance, "x", &x, &error) ||
            eg_instance_output(instance, "y", &y, &error) ||
            eg_run(instance, &(eg_run_options){.length = lengths[i]}, &error))
            return puts(error.message), 1;
        printf("%d samples, %3d steps: %.4f\n", (int)batches[i], (int)lengths[i],
               ((float *)y.data)[0]);
    }
    eg_session_figures figures;
    eg_session_figures_get(session, &figures);
    printf("%d compiled, %d remembered\n", (int)figures.misses, (int)figures.hits);
    eg_session_destroy(session);
    eg_context_destroy(context);
    return 0;
}
