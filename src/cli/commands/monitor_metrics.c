/* elegans monitor --metrics-file: the last sample for Prometheus, whole whenever somebody reads it. */
#include "cli/commands/monitor.h"

#include <string.h>

int monitor_metrics(eg_monitor *monitor, const char *path) {
    const size_t length = strlen(path);
    const bool older = length >= 5 && strcmp(path + length - 5, ".prom") == 0;
    const char *text;
    size_t size;
    eg_error error;
    output_file file;
    if (eg_monitor_metrics(monitor, older ? EG_METRICS_PROMETHEUS : EG_METRICS_OPEN, &text, &size,
                           &error))
        return fail_with(&error);
    const int code = output_begin(&file, path);
    if (code) return code;
    fwrite(text, 1, size, file.file); /* what fails here, its end tells */
    return output_end(&file);
}
