/* How far a training is, with a curve of losses that stays within its memory; shares of operations. */
#include "base/abi.h"
#include "base/base.h"
#include "publish/publisher.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The mean of two, of which one may be unknown. */
static double mean(double a, double a_weight, double b, double b_weight) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    return (a * a_weight + b * b_weight) / (a_weight + b_weight);
}

static void merge(eg__loss_point *into, const eg__loss_point *next) {
    const double a = (double)into->weight, b = (double)next->weight;
    into->loss = mean(into->loss, a, next->loss, b);
    into->validation = mean(into->validation, a, next->validation, b);
    into->step = next->step;
    into->weight += next->weight;
}

/* Neighbours become one point, each of which stands for twice as many reports. */
static void thin(eg__page_training *t) {
    for (uint64_t i = 0; i < t->points / 2; i++) {
        t->curve[i] = t->curve[2 * i];
        merge(&t->curve[i], &t->curve[2 * i + 1]);
    }
    t->points /= 2;
    t->stride *= 2;
}

/* Returns the first point that changed. */
static uint64_t curve_add(eg__page_training *t, uint64_t step, double loss, double validation) {
    const eg__loss_point point = {step, 1, loss, validation};
    if (!t->stride) t->stride = 1;
    if (t->points && t->curve[t->points - 1].weight < t->stride) {
        merge(&t->curve[t->points - 1], &point);
        return t->points - 1;
    }
    const bool full = t->points == EG_LOSS_POINTS;
    if (full) thin(t);
    t->curve[t->points++] = point;
    return full ? 0 : t->points - 1;
}

eg_status eg_publisher_train(eg_publisher *p, const eg_training_report *report, eg_error *error) {
    eg_training_report r;
    if (!eg__publisher_ours(p)) return EG_OK;
    if (!report) return eg__fail(error, EG_ERR_ARGUMENT, "no report of a training");
    const eg_status status = EG__OPTIONS(eg_training_report, &r, report, error);
    if (status) return status;
    eg__page_training *t = &p->training;
    t->reports++;
    t->epoch = r.epoch;
    t->epochs = r.epochs;
    t->step = r.step;
    t->loss = r.loss;
    t->validation = r.validation;
    t->learning_rate = r.learning_rate;
    t->gradient_norm = r.gradient_norm;
    t->seconds_left = r.seconds_left;
    const uint64_t from = isfinite(r.loss) ? curve_add(t, r.step, r.loss, r.validation) : t->points;
    const size_t head = offsetof(eg__page_training, curve);
    eg__page *page = p->page;
    eg__block_begin(&page->training_sequence);
    eg__block_put(page->training, 0, t, head);
    eg__block_put(page->training, head + (size_t)from * sizeof *t->curve, t->curve + from,
                  (size_t)(t->points - from) * sizeof *t->curve);
    eg__block_end(&page->training_sequence);
    return EG_OK;
}

void eg_publisher_operations(eg_publisher *p, size_t count, const eg_operation_share *shares) {
    if (!eg__publisher_ours(p) || (count && !shares)) return;
    eg__page_operations all = {.count = eg__min(count, EG_OPERATION_SHARES)};
    for (size_t i = 0; i < all.count; i++) {
        snprintf(all.shares[i].name, sizeof all.shares[i].name, "%.*s", EG_OPERATION_NAME - 1,
                 shares[i].name);
        all.shares[i].share = shares[i].share;
    }
    eg__block_begin(&p->page->operations_sequence);
    eg__block_put(p->page->operations, 0, &all, sizeof all);
    eg__block_end(&p->page->operations_sequence);
}
