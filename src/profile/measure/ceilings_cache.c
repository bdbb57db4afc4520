/* Ceilings are measured once per machine and number of threads, and kept in the user's cache. */
#include "base/abi.h"
#include "base/cache_folder.h"
#include "formats/files/file.h"
#include "profile/measure/ceilings.h"

#include <stdio.h>
#include <string.h>

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
    return eg__file_write(context->memory, path, text, length, error);
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
    bool kept = eg__cache_folder(wanted.cache_folder, !wanted.stored, folder, sizeof folder);
    if (kept)
        snprintf(path, sizeof path, "%.*s/ceilings-%s-%s-%u", EG__PATH_SIZE - 64, folder,
                 context->chip.fingerprint, context->kernels.isa,
                 eg__threads_count(context->threads));
    eg_error unread;
    const eg_status status = kept && (wanted.cached || wanted.stored)
                                 ? load(context, path, out, &unread)
                                 : EG_ERR_NOT_FOUND;
    if (!status) return EG_OK;
    if (wanted.stored)
        return eg__fail(error, EG_ERR_NOT_FOUND, "no ceilings of this machine are stored");
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
