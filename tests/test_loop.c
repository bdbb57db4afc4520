/* The loop that runs steps: it ends at the first one that fails, and says which and why. */
#include "engine/context.h"
#include "engine/program.h"
#include "test.h"
#include "test_kernels.h"
#include "test_models.h"

#include <math.h>
#include <string.h>

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

/* A kernel of a unit that is switched on and off: every thread does so around its calls, and no more
 * threads divide a step than there are units. */
static eg__gemm_f32_function *product;
static _Thread_local bool is_on;
static size_t entries, calls_on, calls_off; /* atomic */
static void unit_on(void) {
    CHECK(!is_on, "switched on twice");
    is_on = true;
    __atomic_add_fetch(&entries, 1, __ATOMIC_RELAXED);
}
static void unit_off(void) {
    CHECK(is_on, "switched off twice");
    is_on = false;
}
static void unit_product(const eg__gemm_f32_args *args) {
    __atomic_add_fetch(is_on ? &calls_on : &calls_off, 1, __ATOMIC_RELAXED);
    product(args);
}

static model_run units_open(unsigned clusters) {
    static eg__kernel table[512];
    const model_case c = example(71);
    const eg_context_options options = {.threads = 4};
    eg_context *context = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    product = context->kernels.gemm_f32;
    table[0] = (eg__kernel){.operation = EG__OP_gemm_f32,
                            .isa = "unit",
                            .name = "gemm_f32_unit",
                            .function = {.gemm_f32 = unit_product},
                            .lanes = 16,
                            .units = 1,
                            .enter = unit_on,
                            .leave = unit_off};
    for (size_t i = 0; i < eg__kernel_count(); i++) table[i + 1] = *eg__kernel_row(i);
    if (clusters) {
        context->kernels.table = table;
        context->kernels.rows = eg__kernel_count() + 1;
        context->kernels.clusters = clusters;
    }
    eg_graph *g = NULL;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_output outputs[MODEL_OUTPUTS];
    const size_t count = model_build(g, &c, outputs);
    model_run m = model_start(context, g, count, outputs, NULL);
    eg_graph_destroy(g);
    return m;
}

TEST(loop, units) {
    model_run plain = units_open(0);
    eg_error error;
    CHECK_OK(eg_run(plain.instance, NULL, &error), error);
    const eg_tensor want = model_output(&plain, "y");
    for (unsigned clusters = 1; clusters <= 3; clusters++) {
        entries = calls_on = calls_off = 0;
        model_run m = units_open(clusters);
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        const eg_tensor y = model_output(&m, "y");
        CHECK(tensor_distance(&y, &want) == 0, "%u clusters", clusters);
        CHECK(calls_on && !calls_off, "%zu calls, %zu of them without", calls_on, calls_off);
        CHECK(!is_on, "still on");
        size_t most = 0, found = 0;
        for (size_t i = 0; i < m.program->step_count; i++) {
            const eg__step *step = &m.program->steps[i];
            if (step->operation[0] != EG__OP_gemm_f32) continue;
            const size_t items = eg__step_items(step, m.program->length);
            CHECK(step->run == eg__run_entered, "step %zu", i);
            if (step->grain) most = eg__max(most, items / step->grain);
            found++;
        }
        CHECK(found && most <= clusters, "%zu products on %zu threads", found, most);
        CHECK(clusters == 1 || most > 1, "%u clusters: %zu threads", clusters, most);
        model_close(&m);
    }
    model_close(&plain);
}

/* ---- blocks of a batch */
static void blocks_set(eg_program *p, size_t block) {
    for (size_t i = 0; i < p->main_count; i++)
        if (eg__step_body(&p->steps[i])) p->steps[i].u.scan.block = block;
}

/* A batch that goes through a scan in blocks, of any size and on any threads, gives the same bits as all of it together. */
TEST(loop, blocks) {
    static const model_case cases[] = {
        {"gru", 5, 71, 12, 80, .gradient = true},
        {"gru", 7, 133, 9, 20, .reverse = true, .lengths = true, .gradient = true},
        {"cfc", 40, 97, 16, 72, .gradient = true}, /* products stay in the scan */
        {"cfc", 3, 64, 5, 33, .gradient = true},
    };
    static const size_t blocks[] = {4, 7, 32, 50, 64, 1000}; /* one row is another kernel */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        model_run whole = model_open(&cases[k], 1, NULL);
        eg_error error;
        size_t own = 0;
        for (size_t i = 0; i < whole.program->main_count; i++)
            if (eg__step_body(&whole.program->steps[i])) own = whole.program->steps[i].u.scan.block;
        CHECK(own >= 32 && own % 32 == 0, "blocks of %zu", own);
        blocks_set(whole.program, 1000);
        CHECK_OK(eg_run(whole.instance, NULL, &error), error);
        for (unsigned threads = 1; threads <= 3; threads++) {
            model_run m = model_open(&cases[k], threads, NULL);
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
                blocks_set(m.program, blocks[b]);
                CHECK_OK(eg_run(m.instance, NULL, &error), error);
                const char *name;
                for (size_t i = 0; (name = eg_program_leaf(m.program, EG_LEAF_OUTPUT, i, NULL));
                     i++) {
                    const eg_tensor want = model_output(&whole, name), got = model_output(&m, name);
                    uint64_t bytes;
                    eg_tensor_measure(&want, NULL, &bytes, NULL);
                    CHECK(!memcmp(want.data, got.data, (size_t)bytes),
                          "case %zu, '%s': other bits in blocks of %zu on %u threads", k, name,
                          blocks[b], threads);
                }
            }
            model_close(&m);
        }
        model_close(&whole);
    }
}

/* ---- two programs of one set of weights: what the second derives waits until it runs */
static eg__step_function *derives;
static size_t derivations;
static eg_status derive(const eg__step *step, const eg__frame *frame) {
    derivations++;
    return derives(step, frame);
}

TEST(loop, derived_when_needed) {
    model_case c = example(4);
    model_run m = model_open(&c, 1, NULL);
    eg_program *p = NULL;
    eg_instance *instance = NULL;
    eg_graph *g;
    eg_output outputs[MODEL_OUTPUTS];
    eg_error error;
    eg_tensor loss, x, parameter;
    CHECK_OK(eg_graph_create(m.context, &g, &error), error);
    c.gradient = false;
    const size_t count = model_build(g, &c, outputs);
    CHECK_OK(eg_compile(m.context, g, count, outputs, NULL, &p, &error), error);
    eg_graph_destroy(g);
    CHECK_OK(eg_instance_create(p, m.weights, &instance, &error), error);
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(p, EG_LEAF_INPUT, i, NULL)); i++) {
        x = model_input(&m, name);
        CHECK_OK(eg_instance_bind(instance, name, &x, &error), error);
    }
    for (size_t i = 0; i < count; i++)
        CHECK_OK(eg_instance_output(instance, outputs[i].name, &loss, &error), error);
    CHECK_OK(eg_instance_output(instance, "loss", &loss, &error), error);

    eg__step *first = &p->steps[p->main_count];
    CHECK(p->prologue_count > 0, "a prologue");
    const eg__step old = replace(first, derive);
    derives = old.run;
    derivations = 0;
    for (int i = 0; i < 4; i++) { /* only the first change finds it used, by its creation */
        CHECK_OK(eg_weights_begin(m.weights, 0, &error), error);
        const eg_tensor all = eg_weights_all(m.weights);
        for (uint64_t k = 0; k < all.shape[0]; k++) ((float *)all.data)[k] *= 0.9f;
        eg_weights_end(m.weights);
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        CHECK(derivations == 1, "derived %zu times after %d changes", derivations, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(eg_run(instance, NULL, &error), error);
        CHECK(derivations == 2, "derived %zu times", derivations);
        const float want = *(const float *)model_output(&m, "loss").data;
        const float got = *(const float *)loss.data;
        CHECK(fabsf(got - want) <= 1e-5f * fabsf(want), "a loss of %g, not %g", (double)got,
              (double)want);
    }
    /* a run that cannot derive them fails, and the next one tries again */
    const char *changed = p->parameters.list[0].name;
    CHECK_OK(eg_weights_tensor(m.weights, changed, &parameter, &error), error);
    eg_tensor same = parameter;
    same.data = test_alloc(p->parameters.list[0].elements * sizeof(float));
    memcpy(same.data, parameter.data, p->parameters.list[0].elements * sizeof(float));
    for (int i = 0; i < 2; i++) { /* at once, as it was used, then not */
        CHECK_OK(eg_weights_set(m.weights, changed, &same, &error), error);
        first->run = fail;
    }
    free(same.data);
    for (int i = 0; i < 2; i++)
        CHECK_FAILS(eg_run(instance, NULL, &error), error, EG_ERR_FILE, "no power");
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    *first = old;
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_instance_destroy(instance);
    eg_program_release(p);
    model_close(&m);
}
