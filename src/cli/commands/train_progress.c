/* Progress of a training: a bar on a terminal, lines elsewhere, a log of JSON lines, and Ctrl-C. */
#include "cli/interrupt.h"
#include "cli/commands/train.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int progress_open(progress *p, const eg_context *context, const char *log_path, bool quiet) {
    *p = (progress){.log_path = log_path,
                    .context = context,
                    .quiet = quiet,
                    .terminal = isatty(STDERR_FILENO) != 0};
    if (log_path && !json_usable())
        return fail(EXIT_FAILED, "--log: this build has no JSON (built without jansson)");
    interrupt_begin();
    return CLI_OK;
}

void progress_close(progress *p) {
    if (p->log && fclose(p->log) != 0) p->failed = true;
    p->log = NULL;
    interrupt_end();
}

/* ---- numbers */
static const char *clock_text(char out[32], double seconds) {
    if (!isfinite(seconds)) return strcpy(out, "?");
    const unsigned long long s = (unsigned long long)(seconds + 0.5);
    if (s >= 3600) snprintf(out, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    else snprintf(out, 32, "%llu:%02llu", s / 60, s % 60);
    return out;
}

static const char *speed_text(char out[32], double speed) {
    if (!isfinite(speed)) return strcpy(out, "?");
    if (speed < 9999.5) snprintf(out, 32, "%.0f", speed);
    else if (speed < 999950) snprintf(out, 32, "%.1fk", speed / 1e3);
    else snprintf(out, 32, "%.1fM", speed / 1e6);
    return out;
}

/* ---- a bar */
static void draw(progress *p, const eg_fit_progress *now) {
    enum { WIDE = 16, COLUMNS = 79, EVERY = 100000000 };
    const uint64_t time = eg_clock_ns();
    if (now->event == EG_FIT_STEP && time - p->last_drawn < EVERY) return;
    p->last_drawn = time;
    char bar[WIDE + 1], line[160], left[32], speed[32], validation[48] = "";
    const double done = ((double)(now->epoch - 1) + (double)now->batch / (double)now->batches) /
                        (double)now->epochs;
    for (int i = 0; i < WIDE; i++) bar[i] = i < done * WIDE ? '#' : '.';
    bar[WIDE] = 0;
    if (isfinite(now->validation))
        snprintf(validation, sizeof validation, "  val %.4g", now->validation);
    snprintf(line, sizeof line, "epoch %llu/%llu [%s] loss %.4g%s  %s/s  %s left",
             (unsigned long long)now->epoch, (unsigned long long)now->epochs, bar, now->loss,
             validation, speed_text(speed, now->samples_per_second),
             clock_text(left, now->seconds_left));
    fprintf(stderr, "\r%-*.*s", COLUMNS, COLUMNS, line);
    fflush(stderr);
}

static void clear_bar(void) { fprintf(stderr, "\r%79s\r", ""); }

static void print_epoch(const progress *p, const eg_fit_progress *now) {
    char speed[32], validation[64] = "", rate[64];
    if (p->terminal) clear_bar();
    if (isfinite(now->validation)) /* short, so that all fits into 80 columns */
        snprintf(validation, sizeof validation, "  val %-9.4g", now->validation);
    /* the rate follows from the schedule; how far f16 reaches does not */
    if (now->dtype == EG_F16 && now->skipped)
        snprintf(rate, sizeof rate, "scale 2^%d, %llu skipped", (int)log2(now->scale),
                 (unsigned long long)now->skipped);
    else if (now->dtype == EG_F16)
        snprintf(rate, sizeof rate, "scale 2^%-5d", (int)log2(now->scale));
    else snprintf(rate, sizeof rate, "rate %-8.3g", now->rate);
    fprintf(stderr, "epoch %3llu/%llu  loss %-9.4g%s  %s %6s windows/s%s\n",
            (unsigned long long)now->epoch, (unsigned long long)now->epochs, now->loss, validation,
            rate, speed_text(speed, now->samples_per_second),
            now->best_epoch == now->epoch ? " *" : "");
}

/* ---- the log */

/* Lines of epochs that are yet to be trained again are those of a run that was stopped after them. */
static bool is_before(void *user, const char *line) {
    json *object = json_read_text(line);
    const double epoch = json_number(object, "epoch");
    const bool whole = object && strchr(line, '\n');
    json_free(object);
    return whole && !(epoch >= *(const double *)user);
}

/* When the first epoch is known: a training that goes on keeps what was logged before it. */
static void open_log(progress *p, const eg_fit_progress *now) {
    double first = (double)now->epoch;
    if (output_log(p->log_path, now->resumed ? is_before : NULL, &first, &p->log)) p->failed = true;
}

static void put_memory(json *line, const eg_context *context) {
    eg_memory_figures held;
    const eg_metric resident = eg_resident_peak();
    if (eg_memory_query(context, EG_TAG_COUNT, &held, NULL)) return;
    const eg_metric now = {(double)held.current, EG_COUNTED, "B", "the library"};
    const eg_metric peak = {(double)held.peak, EG_COUNTED, "B", "the library"};
    json *memory = json_new_object();
    json_put_metric(memory, "held", &now);
    json_put_metric(memory, "peak", &peak);
    json_put_metric(memory, "resident_peak", &resident);
    json_put(line, "memory", memory);
}

static void log_epoch(progress *p, const eg_fit_progress *now) {
    json *line = json_new_object();
    json_put_text(line, "event", "epoch");
    json_put_count(line, "epoch", now->epoch);
    json_put_count(line, "steps", now->steps);
    json_put_number(line, "loss", now->loss);
    json_put_number(line, "validation", now->validation);
    json_put_number(line, "best", now->best);
    json_put_count(line, "best_epoch", now->best_epoch);
    json_put_number(line, "rate", now->rate);
    json_put_number(line, "gradient_norm", now->gradient_norm);
    json_put_text(line, "dtype", eg_type_name(now->dtype));
    if (now->dtype == EG_F16) {
        json_put_number(line, "loss_scale", now->scale);
        json_put_count(line, "skipped", now->skipped);
    }
    json_put_count(line, "missing_inputs", p->data.missing);
    json_put_count(line, "rows_dropped", p->data.dropped);
    json_put_count(line, "missing_targets", p->data.missing_targets);
    json_put_count(line, "rows_without_target", p->data.without_target);
    json_put_number(line, "windows_per_second", now->samples_per_second);
    json_put_number(line, "seconds", now->seconds);
    put_memory(line, p->context);
    if (json_write_line(line, p->log)) p->failed = true;
}

int progress_tell(void *user, const eg_fit_progress *now) {
    progress *p = user;
    if (p->log_path && !p->log && !p->failed) open_log(p, now);
    if (now->event == EG_FIT_EPOCH) {
        if (!p->quiet) print_epoch(p, now);
        if (p->log) log_epoch(p, now);
    } else if (now->event == EG_FIT_STEP && !p->quiet && p->terminal) draw(p, now);
    if (interrupted() && p->terminal && !p->quiet) clear_bar();
    return interrupted() || p->failed;
}
