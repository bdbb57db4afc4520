/* Entropies and patches as one JSON document, however long it becomes. */
#include "cli/commands/entropy.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *patch_mode_name(eg_patch_mode mode) {
    return mode == EG_PATCH_TARGET ? "target" : mode == EG_PATCH_FIXED ? "fixed" : "entropy";
}

int entropy_json_begin(entropy_json *j, const char *path, uint64_t window, bool patches) {
    *j = (entropy_json){.sizes = patches ? tmpfile() : NULL};
    if (patches && !j->sizes)
        return fail(EXIT_FAILED, "cannot create a temporary file: %s", strerror(errno));
    for (unsigned i = 0; i < 1000; i++) snprintf(j->tails[i], sizeof j->tails[i], "%03u", i);
    for (unsigned i = 0; i <= 1000; i++)
        snprintf(j->heads[i], sizeof j->heads[i], ",%u.%s", i / 1000, j->tails[i % 1000]);
    const int code = output_begin(&j->out, path);
    if (code) {
        if (j->sizes) fclose(j->sizes);
        return code;
    }
    fprintf(j->out.file, "{\"window\":%llu,\"entropy\":[", (unsigned long long)window);
    return CLI_OK;
}

/* Six digits, which is what the values are good for: ",0.123456". Two tables, because there is one of them
 * for each byte of the input; what is written too far is written over by what follows. */
enum { VALUE = 9 };
static void write_value(const entropy_json *j, char *to, float value) {
    const unsigned millionths = (unsigned)((double)value * 1e6 + 0.5);
    memcpy(to, j->heads[millionths / 1000], sizeof j->heads[0]);
    memcpy(to + 6, j->tails[millionths % 1000], sizeof j->tails[0]);
}

void entropy_json_add(entropy_json *j, const float *entropies, size_t count) {
    enum { PIECE = 4096 };
    char text[PIECE * VALUE + sizeof j->tails[0]];
    for (size_t start = 0; start < count; start += PIECE) {
        const size_t here = count - start < PIECE ? count - start : PIECE, skip = !j->started;
        for (size_t i = 0; i < here; i++) write_value(j, text + i * VALUE, entropies[start + i]);
        fwrite(text + skip, 1, here * VALUE - skip, j->out.file);
        j->started = true;
    }
}

void entropy_json_patch(entropy_json *j, const uint32_t *sizes, size_t count) {
    fwrite(sizes, sizeof *sizes, count, j->sizes);
}

static int write_sizes(entropy_json *j) {
    uint32_t size;
    const char *comma = "";
    if (fflush(j->sizes) != 0 || ferror(j->sizes))
        return fail(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
    rewind(j->sizes);
    fputs("\"sizes\":[", j->out.file);
    for (; fread(&size, sizeof size, 1, j->sizes) == 1; comma = ",")
        fprintf(j->out.file, "%s%u", comma, size);
    fputc(']', j->out.file);
    return CLI_OK;
}

/* null where there is no number. */
static void write_number(FILE *file, const char *key, double value) {
    fprintf(file, ",\"%s\":", key);
    if (isfinite(value)) fprintf(file, "%.9g", value);
    else fputs("null", file);
}

static void write_statistics(FILE *file, const eg_patch_statistics *s) {
    fprintf(file, ",\"count\":%llu,\"size_least\":%u,\"size_most\":%u",
            (unsigned long long)s->count, s->size_least, s->size_most);
    write_number(file, "size_mean", s->size_mean);
    write_number(file, "size_deviation", s->size_deviation);
    write_number(file, "entropy_mean", s->entropy_mean);
    write_number(file, "entropy_least", s->entropy_least);
    write_number(file, "entropy_most", s->entropy_most);
    write_number(file, "compression_ratio", s->compression_ratio);
    write_number(file, "coded_ratio", s->coded_ratio);
}

static void write_options(FILE *file, const eg_patch_options *o) {
    fprintf(file, "\"mode\":\"%s\"", patch_mode_name(o->mode));
    if (o->mode == EG_PATCH_FIXED) fprintf(file, ",\"size\":%u", o->fixed);
    else
        fprintf(file, ",\"minimum\":%u,\"maximum\":%u,\"low\":%.9g,\"high\":%.9g", o->minimum,
                o->maximum, o->low, o->high);
}

int entropy_json_end(entropy_json *j, const eg_entropy_column *all, const eg_patch_options *options,
                     const eg_patch_statistics *statistics) {
    FILE *file = j->out.file;
    fprintf(file, "],\"bytes\":%llu", (unsigned long long)all->count);
    write_number(file, "mean", all->sum / (double)all->count);
    write_number(file, "least", all->count ? (double)all->least : NAN);
    write_number(file, "most", all->count ? (double)all->most : NAN);
    if (statistics) {
        fputs(",\"patches\":{", file);
        write_options(file, options);
        write_statistics(file, statistics);
        fputc(',', file);
        const int code = write_sizes(j);
        if (code) {
            entropy_json_abort(j);
            return code;
        }
        fputc('}', file);
        fclose(j->sizes);
    }
    fputs("}\n", file);
    return output_end(&j->out);
}

void entropy_json_abort(entropy_json *j) {
    if (j->sizes) fclose(j->sizes);
    output_abort(&j->out);
}
