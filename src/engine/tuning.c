/* Tunings: what was measured once on this machine, and how a context uses it. */
#include "engine/tuning.h"
#include "base/abi.h"
#include "base/cache_folder.h"
#include "kernels/gemm/cblas.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HEADER "elegans tuning 1\n"

/* ---- as text: every field once, in this order, then a hash of all of it */
typedef enum field_kind { TEXT, COUNT, MOMENT, NUMBER } field_kind;
typedef struct field {
    const char *name;
    field_kind kind;
    size_t offset, size; /* of a text */
    double least, most;  /* of numbers; 0 is allowed, too */
} field;
#define AT(name) offsetof(eg_tuning, name), sizeof(((eg_tuning *)0)->name)
static const field fields[] = {{"fingerprint", TEXT, AT(fingerprint), 0, 0},
                               {"isa", TEXT, AT(isa), 0, 0},
                               {"threads", COUNT, AT(threads), 1, 256},
                               {"measured_at", MOMENT, AT(measured_at), 0, 0},
                               {"seconds", NUMBER, AT(seconds), 0, 3600},
                               {"rows", COUNT, AT(rows), 8, 2048},
                               {"depth", COUNT, AT(depth), 16, 8192},
                               {"blocks_gain", NUMBER, AT(blocks_gain), 1, 100},
                               {"cblas", TEXT, AT(cblas), 0, 0},
                               {"cblas_least", COUNT, AT(cblas_least), 16, 65536},
                               {"cblas_gain", NUMBER, AT(cblas_gain), 0, 1e4}};
enum { FIELDS = sizeof fields / sizeof *fields };

static void number_text(const field *f, const eg_tuning *t, char out[EG_NUMBER_SIZE]) {
    const char *at = (const char *)t + f->offset;
    if (f->kind == COUNT) snprintf(out, EG_NUMBER_SIZE, "%u", *(const unsigned *)(const void *)at);
    else if (f->kind == MOMENT)
        snprintf(out, EG_NUMBER_SIZE, "%lld", (long long)*(const int64_t *)(const void *)at);
    else eg_number_format(out, *(const double *)(const void *)at);
}

size_t eg__tuning_write(const eg_tuning *tuning, char out[EG__TUNING_TEXT]) {
    int at = snprintf(out, EG__TUNING_TEXT, HEADER);
    for (size_t i = 0; i < FIELDS; i++) {
        char number[EG_NUMBER_SIZE];
        const char *value = (const char *)tuning + fields[i].offset;
        if (fields[i].kind != TEXT) number_text(&fields[i], tuning, number), value = number;
        at += snprintf(out + at, (size_t)(EG__TUNING_TEXT - at), "%s %s\n", fields[i].name, value);
    }
    const uint64_t hash = eg__hash(EG__HASH_SEED, out, (size_t)at);
    at += snprintf(out + at, (size_t)(EG__TUNING_TEXT - at), "hash %016llx\n",
                   (unsigned long long)hash);
    return (size_t)at;
}

static eg_status read_value(const field *f, const char *value, size_t length, eg_tuning *out,
                            eg_error *error) {
    char *at = (char *)out + f->offset;
    int64_t whole = 0;
    eg_status status = EG_OK;
    if (f->kind == TEXT) {
        if (length >= f->size || memchr(value, 0, length))
            return eg__fail(error, EG_ERR_FORMAT, "no %s has %zu bytes", f->name, length);
        memcpy(at, value, length);
        return EG_OK;
    }
    if (f->kind == MOMENT)
        return eg_integer_parse(value, length, 0, INT64_MAX, (int64_t *)(void *)at, error);
    if (f->kind == COUNT) {
        status = eg_integer_parse(value, length, 0, UINT32_MAX, &whole, error);
        if (!status && whole && ((double)whole < f->least || (double)whole > f->most))
            return eg__fail(error, EG_ERR_FORMAT, "%s of %lld is not within %g..%g", f->name,
                            (long long)whole, f->least, f->most);
        *(unsigned *)(void *)at = (unsigned)whole;
        return status;
    }
    double number = 0;
    status = eg_number_parse(value, length, &number, error);
    if (!status && !(number == 0 || (number >= f->least && number <= f->most)))
        return eg__fail(error, EG_ERR_FORMAT, "%s of %g is not within %g..%g", f->name, number,
                        f->least, f->most);
    *(double *)(void *)at = number;
    return status;
}

/* Whether the last line is the hash of all before it; *body is the length of that. */
static bool has_hash(const char *text, size_t length, size_t *body) {
    char hash[32];
    const size_t size = strlen("hash 0123456789abcdef\n");
    if (length < size) return false;
    *body = length - size;
    snprintf(hash, sizeof hash, "hash %016llx\n",
             (unsigned long long)eg__hash(EG__HASH_SEED, text, *body));
    return memcmp(text + *body, hash, size) == 0;
}

eg_status eg__tuning_parse(const char *text, size_t length, eg_tuning *out, eg_error *error) {
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    size_t at = strlen(HEADER), body;
    if (length < at || memcmp(text, HEADER, at) != 0)
        return eg__fail(error, EG_ERR_FORMAT, "not a tuning of this version");
    if (!has_hash(text, length, &body))
        return eg__fail(error, EG_ERR_FORMAT, "its hash is not that of its text");
    for (size_t i = 0; i < FIELDS; i++) {
        const size_t name = strlen(fields[i].name);
        const char *end = memchr(text + at, '\n', body - at), *value = text + at + name + 1;
        if (!end || value > end || memcmp(text + at, fields[i].name, name) != 0 || value[-1] != ' ')
            return eg__fail(error, EG_ERR_FORMAT, "no '%s' where it should be", fields[i].name);
        if (read_value(&fields[i], value, (size_t)(end - value), out, error))
            return error ? error->status = EG_ERR_FORMAT : EG_ERR_FORMAT;
        at = (size_t)(end - text) + 1;
    }
    if (at != body) return eg__fail(error, EG_ERR_FORMAT, "more than a tuning has");
    if (!out->threads || !out->rows != !out->depth || !out->cblas[0] != !out->cblas_least)
        return eg__fail(error, EG_ERR_FORMAT,
                        "rows without depth, a library without sizes, or no threads");
    return EG_OK;
}

/* ---- files */
bool eg__tuning_path(const eg_context *context, const char *folder, bool make,
                     char out[EG__TUNING_PATH]) {
    char within[EG__TUNING_PATH - 128];
    if (!eg__cache_folder(folder, make, within, sizeof within)) return false;
    snprintf(out, EG__TUNING_PATH, "%s/tuning-%s-%s-%u", within, context->chip.fingerprint,
             context->kernels.isa, eg__threads_count(context->threads));
    return true;
}

/* A small file in a buffer of our own: this folder is above those that read files. */
static eg_status load(const eg_context *context, const char *path, eg_tuning *out,
                      eg_error *error) {
    char text[EG__TUNING_TEXT + 1];
    FILE *file = fopen(path, "rb");
    if (!file) return eg__fail(error, EG_ERR_NOT_FOUND, "no '%s': %s", path, strerror(errno));
    const size_t length = fread(text, 1, sizeof text, file);
    const bool unread = ferror(file) != 0;
    fclose(file);
    if (unread || length > EG__TUNING_TEXT)
        return eg__fail(error, EG_ERR_FORMAT, unread ? "it cannot be read" : "it is too long");
    const eg_status status = eg__tuning_parse(text, length, out, error);
    if (status) return status;
    if (strcmp(out->fingerprint, context->chip.fingerprint) != 0 ||
        strcmp(out->isa, context->kernels.isa) != 0 ||
        out->threads != eg__threads_count(context->threads))
        return eg__fail(error, EG_ERR_FORMAT, "it belongs to another machine");
    return EG_OK;
}

/* ---- use */
/* The rows of this context: the library's from this size on, all others as they are. */
static eg_status use_cblas(eg_context *context, const eg_tuning *tuning, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t rows = context->kernels.rows, least = tuning->cblas_least;
    eg__cblas *blas = eg__memory_take(context->memory, EG_TAG_CONTEXT, sizeof *blas, &reason);
    if (!blas) return eg__fail(error, reason.status, "%s", reason.message);
    context->cblas = blas;
    if (eg__cblas_open(tuning->cblas, blas, &reason)) {
        eg__log_write(&context->log, EG_LOG_WARNING, "our own products instead: %s",
                      reason.message);
        return EG_OK;
    }
    eg__kernel *table =
        eg__memory_take_array(context->memory, EG_TAG_CONTEXT, rows, sizeof *table, &reason);
    if (!table) return eg__fail(error, reason.status, "%s", reason.message);
    memcpy(table, context->kernels.table, rows * sizeof *table);
    for (size_t i = 0; i < rows; i++)
        if (table[i].features & EG__NEEDS_CBLAS)
            table[i].least = (struct eg__kernel_least){least, least, least}, table[i].cblas = blas;
    context->table = table;
    context->kernels.table = table;
    context->kernels.features |= EG__NEEDS_CBLAS;
    return EG_OK;
}

eg_status eg__context_tune_with(eg_context *context, const eg_tuning *tuning, eg_error *error) {
    context->tuning = *tuning;
    if (tuning->rows) {
        context->kernels.blocks.rows = tuning->rows;
        context->kernels.blocks.depth = tuning->depth;
    }
    return tuning->cblas[0] ? use_cblas(context, tuning, error) : EG_OK;
}

eg_status eg__context_tune(eg_context *context, const char *folder, eg_error *error) {
    char path[EG__TUNING_PATH];
    eg_tuning tuning;
    eg_error reason;
    if (!eg__tuning_path(context, folder, false, path)) return EG_OK;
    const eg_status status = load(context, path, &tuning, &reason);
    if (!status) return eg__context_tune_with(context, &tuning, error);
    if (status != EG_ERR_NOT_FOUND)
        eg__log_write(&context->log, EG_LOG_WARNING,
                      "'%s' is not used: %s; 'elegans tune' replaces it", path, reason.message);
    return EG_OK;
}

eg_status eg_context_tuning(const eg_context *context, eg_tuning *out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    eg_tuning tuning = context->tuning;
    tuning.size = sizeof tuning;
    snprintf(tuning.fingerprint, sizeof tuning.fingerprint, "%s", context->chip.fingerprint);
    snprintf(tuning.isa, sizeof tuning.isa, "%s", context->kernels.isa);
    tuning.threads = eg__threads_count(context->threads);
    if (!tuning.rows) tuning.blocks_gain = 1;
    tuning.model_rows = (unsigned)context->modelled_blocks.rows;
    tuning.model_depth = (unsigned)context->modelled_blocks.depth;
    EG__INFO(eg_tuning, out, &tuning);
    return EG_OK;
}
