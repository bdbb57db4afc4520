/* A control loop that can be watched: it publishes its steps, and `elegans monitor` shows them from another terminal.
 *
 *     publish 5          steps for 5 seconds
 *     publish overhead   what publishing adds to a step: blocks of steps with and without it, in turns */
#include <elegans/elegans.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 2000,
    ROUNDS = 3001
}; /* blocks of a millisecond: both halves of a pair see the same machine */

static void run_steps(eg_stream *stream, eg_publisher *publisher, int steps) {
    float x[16] = {0}, y[16];
    for (int i = 0; i < steps; i++) {
        x[i % 16] = (float)(i % 7);
        eg_publisher_begin(publisher); /* NULL is fine: then nothing is published */
        eg_stream_step(stream, x, 0.05f, y, NULL);
        eg_publisher_end(publisher);
    }
}

static void run_plain(eg_stream *stream, int steps) {
    float x[16] = {0}, y[16];
    for (int i = 0; i < steps; i++) {
        x[i % 16] = (float)(i % 7);
        eg_stream_step(stream, x, 0.05f, y, NULL);
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double seconds_of(eg_stream *stream, eg_publisher *publisher) {
    const uint64_t start = eg_clock_ns();
    if (publisher) run_steps(stream, publisher, BLOCK);
    else run_plain(stream, BLOCK);
    return (double)(eg_clock_ns() - start) * 1e-9;
}

/* The median over many pairs: what else happens on the machine hits one half as often as the other. */
static void print_overhead(eg_stream *stream, eg_publisher *publisher) {
    static double without[ROUNDS], ratio[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        const double first = seconds_of(stream, i % 2 ? publisher : NULL);
        const double second = seconds_of(stream, i % 2 ? NULL : publisher);
        without[i] = i % 2 ? second : first;
        ratio[i] = (i % 2 ? first : second) / without[i];
    }
    qsort(without, ROUNDS, sizeof *without, compare);
    qsort(ratio, ROUNDS, sizeof *ratio, compare);
    printf("a step takes %.1f ns; publishing adds %.2f %% (half of the rounds: %.2f to %.2f %%)\n",
           without[ROUNDS / 2] / BLOCK * 1e9, 100 * (ratio[ROUNDS / 2] - 1),
           100 * (ratio[ROUNDS / 4] - 1), 100 * (ratio[3 * ROUNDS / 4] - 1));
}

int main(int argc, char **argv) {
    static const char model_name[] = "cfc:autoncp:64:8,in=16,seed=1";
    const char *wish = argc > 1 ? argv[1] : "0.1";
    eg_context *context = NULL;
    eg_model *model = NULL;
    eg_stream_program *program = NULL;
    eg_stream *stream = NULL;
    eg_publisher *publisher;
    eg_error error;
    if (eg_context_create(NULL, &context, &error) ||
        eg_model_open(context, model_name, &model, &error) ||
        eg_stream_compile(model, &program, &error) || eg_stream_create(program, &stream, &error)) {
        fprintf(stderr, "publish: %s\n", error.message);
        return 1;
    }
    eg_program_info costs = {.size = sizeof costs};
    eg_stream_program_info_get(program, &costs);
    const eg_publisher_options options = {.size = sizeof options,
                                          .program = "publish",
                                          .activity = "control",
                                          .model = model_name,
                                          .step_flops = costs.flops,
                                          .step_bytes = costs.bytes};
    if (eg_publisher_open(context, &options, &publisher, &error))
        fprintf(stderr, "publish: not published: %s\n", error.message); /* the work goes on */
    if (strcmp(wish, "overhead") == 0) print_overhead(stream, publisher);
    else {
        const uint64_t start = eg_clock_ns();
        while ((double)(eg_clock_ns() - start) * 1e-9 < atof(wish))
            run_steps(stream, publisher, BLOCK);
        printf("%s\n", publisher ? "all steps were published" : "nothing was published");
    }
    eg_publisher_close(publisher);
    eg_stream_destroy(stream);
    eg_stream_program_destroy(program);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return 0;
}
