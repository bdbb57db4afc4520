/* Compiles exported programs together with a main of ours that reads inputs and prints outputs. */
#include "export_run.h"
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && value[0] ? value : otherwise;
}

static FILE *file_open(const exporter *e, const char *name, const char *mode) {
    char path[EXPORT_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", e->folder, name);
    FILE *file = fopen(path, mode);
    CHECK(file, "cannot open %s", path);
    return file;
}

static int shell(const char *format, ...) {
    static char command[1 << 15];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

bool exporter_begin(exporter *e, double tolerance) {
    *e = (exporter){.tolerance = tolerance, .runs = 4};
    if (shell("%s --version >/dev/null 2>&1", setting("ELEGANS_EXPORT_CC", "cc"))) {
        test_skip("no C compiler '%s'", setting("ELEGANS_EXPORT_CC", "cc"));
        return false;
    }
    snprintf(e->folder, sizeof e->folder, "%s", setting("ELEGANS_EXPORT_FOLDER", test_folder()));
    e->main = file_open(e, "main.c", "w");
    e->in = file_open(e, "in.txt", "w");
    e->want = file_open(e, "want.txt", "w");
    if (!e->main || !e->in || !e->want) return false;
    fprintf(e->main, "#include <stdint.h>\n#include <stdio.h>\n"
                     "static void get(void *to, int n, int integers) {\n"
                     "    float f;\n"
                     "    for (int i = 0; i < n && scanf(\"%%f\", &f) == 1; i++)\n"
                     "        if (integers) ((int32_t *)to)[i] = (int32_t)f;\n"
                     "        else ((float *)to)[i] = f;\n"
                     "}\n"
                     "static void put(const void *from, int n, int integers) {\n"
                     "    for (int i = 0; i < n; i++)\n"
                     "        if (integers) printf(\"%%d\\n\", (int)((const int32_t *)from)[i]);\n"
                     "        else printf(\"%%.9g\\n\", ((const float *)from)[i]);\n"
                     "}\n");
    return true;
}

static void put_number(FILE *file, double value) {
    char text[EG_NUMBER_SIZE];
    eg_number_format(text, value);
    fprintf(file, "%s\n", text);
}

static size_t elements(const eg_tensor *tensor) {
    uint64_t n;
    eg_tensor_measure(tensor, &n, NULL, NULL);
    return (size_t)n;
}

/* ---- the main's part: memory of each input and output, and calls in order */
static void write_arrays(exporter *e, const eg_program *p, const char *name) {
    const char *kinds[] = {"in", "out"};
    eg_tensor tensor;
    fprintf(e->main, "#include \"%s.h\"\nstatic %s %s_self;\n", name, name, name);
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; eg_program_leaf(p, kind ? EG_LEAF_OUTPUT : EG_LEAF_INPUT, i, &tensor);
             i++)
            fprintf(e->main, "static %s %s_%s%zu[%zu];\n",
                    tensor.type == EG_I32 ? "int32_t" : "float", name, kinds[kind], i,
                    elements(&tensor) ? elements(&tensor) : 1);
}

static void write_main(exporter *e, const eg_program *p, const char *name) {
    eg_tensor tensor;
    write_arrays(e, p, name);
    fprintf(e->main,
            "static void %s_run(void) {\n    %s_init(&%s_self);\n"
            "    for (int s = 0; s < %d; s++) {\n",
            name, name, name, e->runs);
    fprintf(e->main, "        if (s == %d) %s_reset(&%s_self);\n", e->runs - 1, name, name);
    for (size_t i = 0; eg_program_leaf(p, EG_LEAF_INPUT, i, &tensor); i++)
        fprintf(e->main, "        get(%s_in%zu, %zu, %d);\n", name, i, elements(&tensor),
                tensor.type == EG_I32);
    fprintf(e->main, "        %s_step(&%s_self", name, name);
    for (size_t i = 0; eg_program_leaf(p, EG_LEAF_INPUT, i, NULL); i++)
        fprintf(e->main, ", %s_in%zu", name, i);
    for (size_t i = 0; eg_program_leaf(p, EG_LEAF_OUTPUT, i, NULL); i++)
        fprintf(e->main, ", %s_out%zu", name, i);
    fprintf(e->main, ");\n");
    for (size_t i = 0; eg_program_leaf(p, EG_LEAF_OUTPUT, i, &tensor); i++)
        fprintf(e->main, "        put(%s_out%zu, %zu, %d);\n", name, i, elements(&tensor),
                tensor.type == EG_I32);
    fprintf(e->main, "    }\n}\n");
}

/* ---- the library's part */
static void fill(const eg_tensor *tensor, double low, double high, uint64_t *state, FILE *copy) {
    for (size_t i = 0; i < elements(tensor); i++) {
        const double u = (test_random(state) + 1) / 2;
        if (tensor->type == EG_I32) ((int32_t *)tensor->data)[i] = (int32_t)(u * 4);
        else ((float *)tensor->data)[i] = (float)(low + u * (high - low));
        if (copy && tensor->type == EG_I32) put_number(copy, ((int32_t *)tensor->data)[i]);
        else if (copy) put_number(copy, (double)((float *)tensor->data)[i]);
    }
}

/* Integers of a row that 254/64 is the largest of are multiples of 1/32, so that 1/64 is a tie. */
static void fill_odd(const eg_tensor *tensor, int run, uint64_t *state, FILE *copy) {
    float *x = tensor->data;
    for (size_t i = 0; i < elements(tensor); i++) {
        x[i] = (float)(rint(64 * (double)test_random(state)) / 64);
        if (i == 0) x[i] = 254.0f / 64;
        if (i == 1 && run == 1) x[i] = NAN;
        if (i == 1 && run == 2) x[i] = -INFINITY;
        if (run == 3) x[i] *= 1e-35f;
        put_number(copy, (double)x[i]);
    }
}

static void fill_weights(eg_weights *weights, const eg_program *p, double low, double high) {
    eg_error error;
    eg_tensor tensor;
    uint64_t state = 5;
    const char *name;
    CHECK_OK(eg_weights_begin(weights, 1, &error), error);
    for (size_t i = 0; (name = eg_program_leaf(p, EG_LEAF_PARAMETER, i, NULL)); i++) {
        CHECK_OK(eg_weights_tensor(weights, name, &tensor, &error), error);
        fill(&tensor, low, high, &state, NULL);
    }
    eg_weights_end(weights);
}

/* One line per output of each run: name, type, number of elements; then the elements. */
static void write_want(exporter *e, eg_instance *instance, const eg_program *p, const char *name) {
    eg_error error;
    eg_tensor tensor;
    const char *output;
    for (size_t i = 0; (output = eg_program_leaf(p, EG_LEAF_OUTPUT, i, NULL)); i++) {
        CHECK_OK(eg_instance_output(instance, output, &tensor, &error), error);
        fprintf(e->want, "%s %s %zu\n", name, output, elements(&tensor));
        for (size_t k = 0; k < elements(&tensor); k++)
            put_number(e->want, tensor.type == EG_I32 ? ((int32_t *)tensor.data)[k]
                                                      : (double)((float *)tensor.data)[k]);
    }
}

static void run_library(exporter *e, eg_program *p, eg_weights *weights, const char *name,
                        double low, double high) {
    eg_instance *instance;
    eg_error error = {0};
    eg_tensor inputs[64], tensor;
    const char *leaf;
    uint64_t state = 11;
    size_t count = 0;
    CHECK_OK(eg_instance_create(p, weights, &instance, &error), error);
    for (; count < 64 && (leaf = eg_program_leaf(p, EG_LEAF_INPUT, count, &inputs[count]));
         count++) {
        inputs[count].data = test_alloc((elements(&inputs[count]) + 1) * sizeof(float));
        CHECK_OK(eg_instance_bind(instance, leaf, &inputs[count], &error), error);
    }
    for (size_t i = 0; (leaf = eg_program_leaf(p, EG_LEAF_OUTPUT, i, NULL)); i++)
        CHECK_OK(eg_instance_output(instance, leaf, &tensor, &error), error);
    for (int run = 0; run < e->runs; run++) {
        if (run == e->runs - 1) eg_instance_reset(instance);
        for (size_t i = 0; i < count; i++)
            if (e->odd) fill_odd(&inputs[i], run, &state, e->in);
            else fill(&inputs[i], low, high, &state, e->in);
        CHECK_OK(eg_run(instance, NULL, &error), error);
        write_want(e, instance, p, name);
    }
    for (size_t i = 0; i < count; i++) free(inputs[i].data);
    eg_instance_destroy(instance);
}

eg_export_info exporter_add_program(exporter *e, eg_program *p, eg_weights *weights,
                                    const char *name, double low, double high) {
    eg_export_info info = {.size = sizeof info};
    eg_error error = {0};
    eg_status status = eg_export_c(p, weights, e->folder, name, &info, &error);
    const bool empty = status == EG_ERR_UNSUPPORTED && strstr(error.message, "of nothing");
    CHECK(!status || empty, "%s: %s", name, error.message);
    if (status) return info;
    eg_program_info size = {.size = sizeof size};
    eg_program_info_get(p, &size);
    CHECK(info.code_lines && info.arena_bytes <= size.arena_bytes + size.scratch_bytes &&
              info.state_bytes <= size.state_bytes,
          "%s: %llu lines, %llu bytes of arena", name, (unsigned long long)info.code_lines,
          (unsigned long long)info.arena_bytes);
    e->programs++;
    e->code_lines += info.code_lines;
    write_main(e, p, name);
    snprintf(e->files + strlen(e->files), sizeof e->files - strlen(e->files), " '%s/%s.c'",
             e->folder, name);
    snprintf(e->calls + strlen(e->calls), sizeof e->calls - strlen(e->calls), "    %s_run();\n",
             name);
    run_library(e, p, weights, name, low, high);
    return info;
}

void exporter_add(exporter *e, eg_context *context, const eg_graph *g, size_t count,
                  const eg_output *outputs, const char *name, double low, double high) {
    eg_program *p;
    eg_weights *weights;
    eg_error error = {0};
    CHECK_OK(eg_compile(context, g, count, outputs, NULL, &p, &error), error);
    if (!p) return;
    CHECK_OK(eg_weights_create(p, &weights, &error), error);
    fill_weights(weights, p, low, high);
    exporter_add_program(e, p, weights, name, low, high);
    eg_weights_destroy(weights);
    eg_program_release(p);
}

/* ---- the comparison */
static double read_number(FILE *file) {
    char text[64];
    double value = NAN;
    eg_error error;
    if (fscanf(file, "%63s", text) != 1) {
        test_fail(__FILE__, __LINE__, "the output ends early");
        return NAN;
    }
    if (strstr(text, "nan")) return NAN;
    CHECK_OK(eg_number_parse(text, strlen(text), &value, &error), error);
    return value;
}

static void compare(const exporter *e) {
    FILE *want = file_open(e, "want.txt", "r"), *got = file_open(e, "out.txt", "r");
    char name[64], output[64];
    size_t count;
    while (want && got && fscanf(want, "%63s %63s %zu", name, output, &count) == 3) {
        double worst = 0, size = 0;
        for (size_t i = 0; i < count && !feof(got); i++) {
            const double a = read_number(want), b = read_number(got);
            /* sums of infinities are infinite or NaN, as they are put together */
            if ((e->odd ? !isfinite(a) && !isfinite(b) : isnan(a) && isnan(b)) || a == b) continue;
            const double off = isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
            if (isfinite(a)) size = fmax(size, fabs(a));
            worst = fmax(worst, off);
        }
        CHECK(worst <= e->tolerance * (1 + size), "%s: output '%s' is off by %g of %g", name,
              output, worst, size);
    }
    if (want) fclose(want);
    if (got) fclose(got);
}

void exporter_end(exporter *e) {
    fprintf(e->main, "int main(void) {\n%s    return 0;\n}\n", e->calls);
    fclose(e->main);
    fclose(e->in);
    fclose(e->want);
    const int compiled =
        shell("%s -std=c99 -Wall -Wextra -Werror -O2 '%s/main.c' %s -o '%s/run' -lm 2>'%s/errors'",
              setting("ELEGANS_EXPORT_CC", "cc"), e->folder, e->files, e->folder, e->folder);
    if (compiled) shell("head -n 20 '%s/errors' >&2", e->folder);
    CHECK(!compiled, "what was exported does not compile");
    if (compiled) return;
    const int status = shell("%s '%s/run' <'%s/in.txt' >'%s/out.txt'",
                             setting("ELEGANS_EXPORT_RUN", ""), e->folder, e->folder, e->folder);
    CHECK(!status, "what was exported ends with %d", status);
    if (!status) compare(e);
}
