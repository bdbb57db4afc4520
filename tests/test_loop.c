/* The loop that runs steps: it ends at the first one that fails, and says which and why. */
#include "engine/program.h"
#include "test.h"
#include "test_models.h"

AREA(loop, "a step that fails ends its run: in scans, parts, split-K sums, prologues")

/* Steps that fail in the place of those of a program. Kernels cannot: what a step does is replaced. */
static size_t reached; /* how often a step ran that nothing should have come to */

static eg_status fail(const eg__step *step, const eg__frame *frame) {
    return eg__fail(frame->error, EG_ERR_FILE, "no power for %s", step->name);
}
static eg_status fail_silently(const eg__step *step, const eg__frame *frame) {
    (void)step, (void)frame;
    return EG_ERR_FILE;
}
/* Every part but the first, each with its own text. */
static eg_status fail_late(const eg__step *step, const eg__frame *frame) {
    (void)step;
    return frame->first ? eg__fail(frame->error, EG_ERR_FILE, "from item %zu on", frame->first)
                        : EG_OK;
}
static eg_status fail_in_sum(const eg__step *step, const eg__frame *frame) {
    (void)step;
    return frame->phase == EG__PHASE_SUM ? eg__fail(frame->error, EG_ERR_FILE, "no sum") : EG_OK;
}
static eg_status reach(const eg__step *step, const eg__frame *frame) {
    (void)step, (void)frame;
    __atomic_add_fetch(&reached, 1, __ATOMIC_RELAXED);
    return EG_OK;
}

static eg__step replace(eg__step *step, eg__step_function *run) {
    const eg__step old = *step;
    if (!eg__step_body(step)) step->kind = EG__STEP_softmax; /* some kinds are called directly */
    step->run = run;
    return old;
}

static model_case example(size_t batch) {
    return (model_case){"gru", 9, batch, 12, 80, .gradient = true};
}

TEST(loop, every_step) {
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        const model_case c = example(71);
        model_run m = model_open(&c, threads, NULL);
        eg_program *p = m.program;
        eg_error error;
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        for (size_t i = 0; i < p->step_count; i++) {
            char text[80];
            const bool scan = eg__step_body(&p->steps[i]) != NULL;
            if ((i >= p->main_count && i < p->main_count + p->prologue_count) || scan) continue;
            const eg__step old = replace(&p->steps[i], fail);
            const bool last = i + 1 >= p->main_count;
            const eg__step next = last ? old : replace(&p->steps[i + 1], reach);
            reached = 0;
            snprintf(text, sizeof text, "step %zu (%s): no power for %s", i, old.name, old.name);
            CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_FILE, text);
            CHECK(error.status == EG_ERR_FILE, "status %d", error.status);
            CHECK(!reached, "step %zu ran after one that failed", i + 1);
            CHECK(eg_run(m.instance, NULL, NULL) == EG_ERR_FILE, "no error is fine");
            p->steps[i] = old;
            if (!last) p->steps[i + 1] = next;
        }
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        model_close(&m);
    }
}

/* A step of a scan is named with its scan, and nothing of the next time step runs. */
TEST(loop, scans) {
    const model_case c = example(4);
    model_run m = model_open(&c, 1, NULL);
    eg_program *p = m.program;
    eg_error error;
    for (size_t i = 0; i < p->main_count; i++) {
        const eg__step_scan *scan = eg__step_body(&p->steps[i]);
        if (!scan || scan->count < 2) continue;
        char text[80];
        eg__step *body = &p->steps[scan->first];
        const eg__step first = replace(&body[0], reach), second = replace(&body[1], fail_silently);
        reached = 0;
        snprintf(text, sizeof text, "step %zu (scan): step %u (%s): %s", i, scan->first + 1,
                 second.name, eg_status_text(EG_ERR_FILE));
        CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_FILE, text);
        CHECK(reached == 1, "%zu time steps", reached);
        body[0] = first;
        body[1] = second;
    }
    model_close(&m);
}

/* On several threads the error is that of the first part that fails, whichever is done first. */
TEST(loop, parts) {
    const model_case c = example(71);
    model_run m = model_open(&c, 4, NULL);
    eg_program *p = m.program;
    eg_error error;
    size_t cut = 0, sums = 0;
    for (size_t i = 0; i < p->main_count; i++) {
        eg__step *step = &p->steps[i];
        const size_t items = eg__step_items(step, p->length) * eg__max(step->slices, 1);
        const size_t parts = step->grain ? eg__min(4, items / step->grain) : 1;
        if (parts < 2) continue;
        char text[80];
        const eg__step old = replace(step, fail_late);
        snprintf(text, sizeof text, "from item %zu on", items / parts);
        for (int again = 0; again < 20; again++)
            CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_FILE, text);
        *step = old;
        cut++;
        if (!step->slices) continue;
        replace(step, fail_in_sum);
        CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_FILE, "no sum");
        *step = old;
        sums++;
    }
    CHECK(cut && sums, "%zu steps on several threads, %zu of them in slices", cut, sums);
    model_close(&m);
}

/* Weights whose prologue failed cannot be used until they are changed with success. */
TEST(loop, prologues) {
    const model_case c = example(4);
    model_run m = model_open(&c, 1, NULL);
    eg_program *p = m.program;
    eg_error error;
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const float before = *(const float *)model_output(&m, "loss").data;
    const eg__leaf *leaf = &p->parameters.list[0];
    eg_tensor tensor = eg__leaf_tensor(leaf, test_alloc(leaf->elements * sizeof(float)));
    memcpy(tensor.data, m.weights->data + leaf->offset, leaf->elements * sizeof(float));
    CHECK(p->prologue_count > 0, "a prologue");
    const eg__step old = replace(&p->steps[p->main_count], fail);
    CHECK_FAILS(eg_weights_set(m.weights, leaf->name, &tensor, &error), error, EG_ERR_FILE,
                "no power");
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_FILE, "could not be prepared");
        CHECK_OK(eg_weights_begin(m.weights, i, &error), error);
        CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_BUSY, "being changed");
        eg_weights_end(m.weights); /* fails again */
    }
    p->steps[p->main_count] = old;
    CHECK_OK(eg_weights_set(m.weights, leaf->name, &tensor, &error), error);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    CHECK(*(const float *)model_output(&m, "loss").data == before, "the loss was %g",
          (double)before);

    eg_weights *others = NULL;
    eg_instance *instance = NULL;
    CHECK_OK(eg_weights_create(p, &others, &error), error);
    replace(&p->steps[p->main_count], fail);
    CHECK_FAILS(eg_instance_create(p, others, &instance, &error), error, EG_ERR_FILE, "no power");
    p->steps[p->main_count] = old;
    CHECK_OK(eg_instance_create(p, others, &instance, &error), error);
    eg_instance_destroy(instance);
    eg_weights_destroy(others);
    free(tensor.data);
    model_close(&m);
}
