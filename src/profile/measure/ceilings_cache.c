/* Ceilings are measured once per machine and number of threads, and kept in the user's cache. */
#include "base/abi.h"
#include "formats/files/file.h"
#include "profile/measure/ceilings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder, created if needed; false if that is not possible. */
static bool cache_folder(const char *given, char out[EG__PATH_SIZE]) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (given) length = snprintf(out, EG__PATH_SIZE, "%s", given);
    else if (xdg && xdg[0]) length = snprintf(out, EG__PATH_SIZE, "%s/elegans", xdg);
    else if (home && home[0]) length = snprintf(out, EG__PATH_SIZE, "%s/.cache/elegans", home);
    else return false;
    if (length <= 0 || length >= EG__PATH_SIZE - 64) return false;
    for (char *slash = strchr(out + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(out, 0777); /* the last one tells whether it worked */
        *slash = '/';
    }
    return mkdir(out, 0777) == 0 || errno == EEXIST;
}

static eg_status load(eg_context *context, const char *path, eg_ceilings *out, eg_error *error) {
    void *text;
    size_t length;
    unsigned threads;
    eg_status status =
        eg__file_read(context->memory, path, EG__CEILINGS_TEXT, &text, &length, error);
    if (status) return status;
    status = eg__ceilings_read(text, length, out, &threads, error);
    eg__memory_give(context->memory, text);
    if (status) return status;
    if (strcmp(out->fingerprint, context->chip.fingerprint) != 0 ||
        threads != eg__threads_count(context->threads))
        return eg__fail(error, EG_ERR_NOT_FOUND, "'%s' belongs to another machine", path);
    return EG_OK;
}

static eg_status store(eg_context *context, const char *path, const eg_ceilings *ceilings,
                       eg_error *error) {
    char text[EG__CEILINGS_TEXT];
    size_t length = eg__ceilings_write(ceilings, eg__threads_count(context->threads), text);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__writer *writer = eg__memory_take(context->memory, EG_TAG_FILE, sizeof *writer, &reason);
    if (!writer) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__writer_begin(writer, path, error);
    if (!status)
        status = eg__writer_end(writer, eg__writer_append(writer, text, length, error), error);
    eg__memory_give(context->memory, writer);
    return status;
}

eg_status eg_ceilings_measure(eg_context *context, const eg_ceilings_options *options,
                              eg_ceilings *out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer for the ceilings");
    eg_ceilings_options wanted;
    const eg_status taken = EG__OPTIONS(eg_ceilings_options, &wanted, options, error);
    if (taken) return taken;
    if (!(wanted.seconds >= 0 && wanted.seconds <= 3600))
        return eg__fail(error, EG_ERR_ARGUMENT, "%g seconds of measuring are out of range",
                        wanted.seconds);
    char folder[EG__PATH_SIZE], path[EG__PATH_SIZE];
    bool kept = cache_folder(wanted.cache_folder, folder);
    if (kept)
        snprintf(path, sizeof path, "%.*s/ceilings-%s-%s-%u", EG__PATH_SIZE - 64, folder,
                 context->chip.fingerprint, context->kernels.isa,
                 eg__threads_count(context->threads));
    eg_error unread;
    const eg_status status =
        kept && wanted.cached ? load(context, path, out, &unread) : EG_ERR_NOT_FOUND;
    if (!status) return EG_OK;
    if (status == EG_ERR_FORMAT)
        eg__log_write(&context->log, EG_LOG_WARNING, "'%s' is measured again: %s", path,
                      unread.message);
    eg__ceilings_run(context, wanted.seconds > 0 ? wanted.seconds : 1.5, out);
    eg_error reason;
    if (!kept) eg__log_write(&context->log, EG_LOG_WARNING, "no folder to keep the ceilings in");
    else if (store(context, path, out, &reason))
        eg__log_write(&context->log, EG_LOG_WARNING, "ceilings not kept: %s", reason.message);
    return EG_OK;
}
