/* Metrics: sums over batches, and the metrics computed from them. */
#include "elegans/metrics.h"
#include "engine/context.h"

#include <math.h>
#include <string.h>

/* Of one output that is a number or binary, or of all outputs that are classes. */
typedef struct figures {
    uint64_t rows;
    double weight;
    double squares, sizes; /* of errors */
    double mean, spread;   /* of targets: their squared distances from the mean */
} figures;

struct eg_metrics {
    eg__memory *memory;
    eg_loss loss;
    uint64_t outputs;
    size_t groups, classes; /* groups of outputs that have figures; classes of each, or 0 */
    uint64_t rows;
    double counted;
    figures *figures;  /* [groups] */
    double *confusion; /* [groups][classes][classes]: truth, prediction */
};

static bool is_numbers(eg_loss loss) {
    return loss == EG_LOSS_MSE || loss == EG_LOSS_MAE || loss == EG_LOSS_HUBER;
}

/* ---- creation and destruction */
static eg_status take(eg_metrics *m, eg_error *error) {
    size_t cells = 0;
    eg_error reason = {EG_ERR_MEMORY, ""};
    if (!eg__size_mul(m->classes, m->classes, &cells) || !eg__size_mul(cells, m->groups, &cells))
        return eg__fail(error, EG_ERR_OVERFLOW, "metrics of %zu classes do not fit", m->classes);
    m->figures =
        eg__memory_take_array(m->memory, EG_TAG_OTHER, m->groups, sizeof *m->figures, &reason);
    if (m->figures)
        m->confusion =
            eg__memory_take_array(m->memory, EG_TAG_OTHER, cells, sizeof *m->confusion, &reason);
    return m->confusion ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

eg_status eg_metrics_create(eg_context *context, eg_loss loss, uint64_t outputs, uint64_t classes,
                            eg_metrics **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "metrics: no context or output pointer");
    if (!eg_loss_name(loss)) return eg__fail(error, EG_ERR_ARGUMENT, "unknown loss %d", (int)loss);
    if (!outputs || outputs > SIZE_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "metrics of %llu outputs are out of range",
                        (unsigned long long)outputs);
    if (classes && (loss != EG_LOSS_CLASSES || classes != outputs))
        return eg__fail(
            error, EG_ERR_ARGUMENT, "%llu classes do not fit %llu outputs with the loss '%s'",
            (unsigned long long)classes, (unsigned long long)outputs, eg_loss_name(loss));
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__memory *memory = eg__context_memory(context);
    eg_metrics *m = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *m, &reason);
    if (!m) return eg__fail(error, reason.status, "%s", reason.message);
    m->memory = memory;
    m->loss = loss;
    m->outputs = outputs;
    m->groups = loss == EG_LOSS_CLASSES ? 1 : (size_t)outputs;
    m->classes = loss == EG_LOSS_CLASSES ? (size_t)outputs : loss == EG_LOSS_BINARY ? 2 : 0;
    const eg_status status = take(m, error);
    if (status) eg_metrics_destroy(m);
    else *out = m;
    return status;
}

void eg_metrics_destroy(eg_metrics *m) {
    if (!m) return;
    eg__memory_give(m->memory, m->figures);
    eg__memory_give(m->memory, m->confusion);
    eg__memory_give(m->memory, m);
}

void eg_metrics_reset(eg_metrics *m) {
    m->rows = 0;
    m->counted = 0;
    memset(m->figures, 0, m->groups * sizeof *m->figures);
    memset(m->confusion, 0, m->groups * m->classes * m->classes * sizeof *m->confusion);
}

/* ---- adding */
static bool add_number(figures *f, double output, double target, double weight) {
    if (isnan(target)) return false;
    const double error = output - target, from_mean = target - f->mean;
    f->rows++;
    f->weight += weight;
    f->squares += weight * error * error;
    f->sizes += weight * fabs(error);
    /* Welford: the mean is not known before all batches have been seen */
    f->mean += from_mean * weight / f->weight;
    f->spread += weight * from_mean * (target - f->mean);
    return true;
}

/* `predicted` = classes: not known (NaN); then metrics that depend on it are not known either. */
static void add_class(eg_metrics *m, size_t group, size_t truth, size_t predicted, double weight) {
    double *row = m->confusion + (group * m->classes + truth) * m->classes;
    m->figures[group].rows++;
    m->figures[group].weight += weight;
    if (predicted < m->classes) row[predicted] += weight;
    for (size_t i = 0; predicted == m->classes && i < m->classes; i++) row[i] = NAN;
}

static size_t largest(const float *outputs, size_t count) {
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(outputs[i])) return count;
        if (outputs[i] > outputs[best]) best = i;
    }
    return best;
}

static bool add_row(eg_metrics *m, const float *outputs, const float *targets, double weight,
                    const eg_scaling *units) {
    bool counts = false;
    if (m->loss == EG_LOSS_CLASSES) {
        if (isnan(targets[0])) return false;
        add_class(m, 0, (size_t)targets[0], largest(outputs, m->classes), weight);
        return true;
    }
    const bool turned = units && units->output_mean && units->output_scale;
    for (size_t i = 0; i < m->groups; i++) {
        double y = (double)outputs[i], t = (double)targets[i];
        if (is_numbers(m->loss)) {
            const double scale = turned ? (double)units->output_scale[i] : 1;
            const double mean = turned ? (double)units->output_mean[i] : 0;
            if (add_number(&m->figures[i], y * scale + mean, t * scale + mean, weight))
                counts = true;
        } else if (!isnan(t)) {
            add_class(m, i, t > 0.5, isnan(y) ? 2 : y > 0, weight);
            counts = true;
        }
    }
    return counts;
}

eg_status eg_metrics_add(eg_metrics *m, const float *outputs, const float *targets,
                         const float *weights, uint64_t count, const eg_scaling *units,
                         eg_error *error) {
    if (!m || (count && (!outputs || !targets)))
        return eg__fail(error, EG_ERR_ARGUMENT, "metrics: no outputs or targets");
    const bool classes = m->loss == EG_LOSS_CLASSES;
    for (uint64_t i = 0; classes && i < count; i++) {
        const float target = targets[i];
        if (isnan(target) || (weights && !(weights[i] > 0))) continue;
        if (!(target >= 0 && target < (float)m->classes && target == floorf(target)))
            return eg__fail(error, EG_ERR_FORMAT,
                            "row %llu: class '%g' is not a whole number below %zu",
                            (unsigned long long)i + 1, (double)target, m->classes);
    }
    const uint64_t width = classes ? 1 : m->outputs;
    for (uint64_t i = 0; i < count; i++) {
        const double weight = weights ? (double)weights[i] : 1;
        if (!(weight > 0) ||
            !add_row(m, outputs + i * m->outputs, targets + i * width, weight, units))
            continue;
        m->rows++;
        m->counted += weight;
    }
    return EG_OK;
}

/* ---- figures of classes */
typedef struct counts {
    double right, truth, predicted;
} counts;

static counts count_class(const eg_metrics *m, size_t group, size_t class) {
    const double *cells = m->confusion + group * m->classes * m->classes;
    counts c = {cells[class * m->classes + class], 0, 0};
    for (size_t i = 0; i < m->classes; i++) {
        c.truth += cells[class * m->classes + i];
        c.predicted += cells[i * m->classes + class];
    }
    return c;
}

static double divide(double a, double b) { return b == 0 ? NAN : a / b; }

/* The mean over the values present; NaN from outputs stays NaN. */
typedef struct average {
    double sum;
    uint64_t count;
} average;

static void average_f1(average *a, counts c) {
    if (c.truth + c.predicted == 0) return;
    a->sum += 2 * c.right / (c.truth + c.predicted);
    a->count++;
}

static void get_classes(const eg_metrics *m, size_t first, size_t end, eg_metrics_result *out) {
    average all = {0}, ones = {0};
    double right = 0, counted = 0;
    for (size_t g = first; g < end; g++) {
        for (size_t k = 0; k < m->classes; k++) {
            const counts c = count_class(m, g, k);
            right += c.right;
            counted += c.truth;
            average_f1(&all, c);
            if (m->classes == 2 && k == 1) average_f1(&ones, c);
        }
    }
    out->accuracy = divide(right, counted);
    out->macro_f1 = divide(all.sum, (double)all.count);
    out->f1 = divide(ones.sum, (double)ones.count);
}

/* ---- figures of numbers */
static void get_numbers(const eg_metrics *m, size_t first, size_t end, eg_metrics_result *out) {
    double weight = 0, squares = 0, sizes = 0, spread = 0;
    for (size_t g = first; g < end; g++) {
        weight += m->figures[g].weight;
        squares += m->figures[g].squares;
        sizes += m->figures[g].sizes;
        spread += m->figures[g].spread;
    }
    out->mse = divide(squares, weight);
    out->mae = divide(sizes, weight);
    out->rmse = sqrt(out->mse);
    out->r2 = 1 - divide(squares, spread);
}

static void get(const eg_metrics *m, size_t first, size_t end, eg_metrics_result *out) {
    *out = (eg_metrics_result){m->rows, m->counted, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (m->classes) get_classes(m, first, end, out);
    else get_numbers(m, first, end, out);
}

/* ---- questions */
void eg_metrics_get(const eg_metrics *m, eg_metrics_result *out) { get(m, 0, m->groups, out); }

eg_status eg_metrics_output(const eg_metrics *m, uint64_t output, eg_metrics_result *out,
                            eg_error *error) {
    if (!m || !out || output >= m->groups)
        return eg__fail(error, EG_ERR_ARGUMENT, "output %llu has no metrics",
                        (unsigned long long)output);
    get(m, (size_t)output, (size_t)output + 1, out);
    out->rows = m->figures[output].rows;
    out->counted = m->figures[output].weight;
    return EG_OK;
}

eg_status eg_metrics_class_get(const eg_metrics *m, uint64_t output, uint64_t index,
                               eg_metrics_class *out, eg_error *error) {
    if (!m || !out || output >= m->groups || index >= m->classes)
        return eg__fail(error, EG_ERR_ARGUMENT, "no class %llu of output %llu",
                        (unsigned long long)index, (unsigned long long)output);
    const counts c = count_class(m, (size_t)output, (size_t)index);
    *out = (eg_metrics_class){c.truth, divide(c.right, c.predicted), divide(c.right, c.truth),
                              divide(2 * c.right, c.truth + c.predicted)};
    return EG_OK;
}

double eg_metrics_confusion(const eg_metrics *m, uint64_t output, uint64_t truth,
                            uint64_t predicted) {
    if (!m || output >= m->groups || truth >= m->classes || predicted >= m->classes) return NAN;
    return m->confusion[(output * m->classes + truth) * m->classes + predicted];
}
