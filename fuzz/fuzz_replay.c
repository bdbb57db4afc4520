/* Arbitrary text as a recording: every line is a sample or a message, and a sample can be written and read again. */
#include "fuzz.h"
#include "elegans/elegans.h"

#include <math.h>
#include <string.h>

static void read_again(eg_context *context, const char *line, size_t length) {
    char path[64];
    const int file = fuzz_file((const uint8_t *)line, length, path);
    const eg_monitor_options options = {.size = sizeof options, .replay = path};
    eg_monitor *monitor;
    eg_monitor_sample sample = {.size = sizeof sample};
    require(eg_monitor_open(context, &options, &monitor, NULL) == EG_OK);
    require(eg_monitor_read(monitor, &sample, NULL) == EG_OK);
    eg_monitor_close(monitor);
    close(file);
}

static void check(eg_context *context, eg_monitor *monitor, const eg_monitor_sample *sample) {
    const char *line;
    size_t length;
    for (size_t i = 0; i < sample->reading_count; i++)
        require(isfinite(sample->readings[i].metric.value) &&
                eg_sensor_name(sample->readings[i].sensor));
    for (size_t i = 0; i < sample->published_count; i++)
        for (int k = 0; k < EG_FIGURE_COUNT; k++)
            require(isfinite(sample->published[i].figures[k].value) &&
                    sample->published[i].figures[k].source);
    require(eg_monitor_line(monitor, &line, &length, NULL) == EG_OK && !memchr(line, '\n', length));
    read_again(context, line, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const eg_context_options how = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    static eg_context *context;
    if (!context) require(eg_context_create(&how, &context, NULL) == EG_OK);
    char path[64];
    const int file = fuzz_file(bytes, length, path);
    const eg_monitor_options options = {.size = sizeof options, .replay = path};
    eg_monitor *monitor;
    eg_monitor_sample sample = {.size = sizeof sample};
    eg_error error = {0};
    require(eg_monitor_open(context, &options, &monitor, &error) == EG_OK);
    for (int i = 0; i < 100; i++) {
        const eg_status status = eg_monitor_read(monitor, &sample, &error);
        if (status == EG_ERR_STOPPED) break;
        if (status) require(error.message[0] != 0);
        else check(context, monitor, &sample);
    }
    eg_monitor_close(monitor);
    close(file);
    return 0;
}
