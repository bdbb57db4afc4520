/* Arbitrary bytes as the checkpoint of a training, as they are and, where they are tensors at all, with checksums that
 * agree: it goes on within what the options allow, or says why not, and the model is as it was then. */
#include "fuzz.h"
#include "elegans/elegans.h"
#include "engine/context.h"
#include "formats/files/safetensors.h"

#include <math.h>
#include <string.h>

static eg_context *context;
static eg_data *data;

static void prepare(void) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    char table_text[4096], path[64];
    int used = snprintf(table_text, sizeof table_text, "x,y\n");
    for (int i = 0; i < 64; i++)
        used +=
            snprintf(table_text + used, sizeof table_text - (size_t)used, "%d,%d\n", i % 7, i % 5);
    const int file = fuzz_file((const uint8_t *)table_text, (size_t)used, path);
    eg_table table;
    const eg_data_options columns = {.targets = "y", .window = 8, .stride = 8};
    require(eg_context_create(&options, &context, NULL) == EG_OK);
    require(eg_table_read(context, path, NULL, &table, NULL) == EG_OK);
    require(eg_data_create(context, 1, &table, &columns, &data, NULL) == EG_OK);
    eg_table_release(context, &table);
    close(file);
}

/* Ends the training at its first report. */
static int look(void *user, const eg_fit_progress *p) {
    (void)user;
    require(p->epoch >= 1 && p->batch <= p->batches && p->batch_size >= 1);
    require(p->best_epoch <= p->epoch);
    return 1;
}

static void resume(const char *path) {
    const eg_fit_options options = {
        .epochs = 3, .batch = 4, .checkpoint = path, .resume = 1, .progress = look};
    eg_model *model = NULL;
    eg_error error = {0};
    eg_fit_result result = {0};
    require(eg_model_open(context, "cfc:2,in=1,backbone=0,proj=1", &model, NULL) == EG_OK);
    if (eg_fit(model, data, NULL, &options, &result, &error)) require(error.message[0] != 0);
    else require(result.epochs <= UINT32_MAX && result.best_epoch <= result.history_count);
    eg_fit_release(model, &result);
    eg_model_destroy(model);
}

/* The same tensors with checksums that agree. */
static bool summed(const char *from, const char *to) {
    enum { MOST = 16 };
    const char *names[MOST];
    eg_tensor tensors[MOST];
    eg_safetensors *file = NULL;
    size_t count = 0;
    if (eg_safetensors_open(context, from, &file, NULL)) return false;
    for (size_t i = 0; i < eg_safetensors_count(file) && count < MOST; i++) {
        names[count] = eg_safetensors_name(file, i);
        if (strcmp(names[count], "checksums") == 0) continue;
        if (eg_safetensors_tensor(file, names[count], &tensors[count], NULL) == EG_OK) count++;
    }
    const eg_pair metadata = {"format", "elegans checkpoint"};
    const bool written = eg__safetensors_save_summed(eg__context_memory(context), to, count, names,
                                                     tensors, 1, &metadata, NULL) == EG_OK;
    eg_safetensors_close(file);
    return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[64], again[72];
    if (!context) prepare();
    snprintf(path, sizeof path, "/tmp/elegans-fuzz-%d", (int)getpid());
    snprintf(again, sizeof again, "%s.summed", path);
    fuzz_write(path, bytes, length);
    if (summed(path, again)) resume(again);
    resume(path);
    unlink(path);
    unlink(again);
    return 0;
}
