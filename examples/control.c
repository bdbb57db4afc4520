/* A control loop: a liquid network steers a cart, at times that are never quite the same. */
#include <elegans/elegans.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "cfc:autoncp:16:1,in=2,seed=1";
    eg_context *context;
    eg_model *model;
    eg_stream_program *program;
    eg_stream *stream;
    eg_error error;
    if (eg_context_create(&(eg_context_options){.threads = 1}, &context, &error) ||
        eg_model_open(context, file, &model, &error) ||
        eg_stream_compile(model, &program, &error) || eg_stream_create(program, &stream, &error))
        return puts(error.message), 1;
    float position = 0.5f, speed = 0, force[1];
    for (int step = 0; step < 200; step++) {
        const float elapsed = 0.02f + 0.01f * (float)(step % 3); /* a timer that jitters */
        const float sensors[2] = {position, speed};
        if (eg_stream_step(stream, sensors, elapsed, force, &error)) return puts(error.message), 1;
        speed += elapsed * (force[0] - 2 * position - speed);
        position += elapsed * speed;
        if (step % 50 == 0) printf("step %3d: position %6.3f\n", step, position);
    }
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return 0;
}
