/* Files that take their name when they are complete: readers see the old one or the new one, never a part.
 * Stable. */
#ifndef ELEGANS_FILE_H
#define ELEGANS_FILE_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is being written beside its place, as ".elegans-HOST-PROCESS-NUMBER" in the same folder. */
enum { EG_FILE_PATH_SIZE = 4096 };
typedef struct eg_file_output {
    int descriptor;                    /* write to it; -1 = there is none */
    char path[EG_FILE_PATH_SIZE];      /* what it will replace; links are resolved */
    char temporary[EG_FILE_PATH_SIZE]; /* where it is meanwhile */
} eg_file_output;

/* What is there must be a regular file (EG_ERR_FILE otherwise), whose permissions the new one gets. Files of the
 * same kind in that folder that a process of this user on this machine began and did not live to finish are
 * removed. After a success, call one of the two below. Any thread. */
EG_API eg_status eg_file_begin(const char *path, eg_file_output *out, eg_error *error);
/* Brings the bytes to the disk (fsync), renames, and brings the folder to the disk. On failure the old file is
 * whole and the new one is gone. */
EG_API eg_status eg_file_commit(eg_file_output *file, eg_error *error);
EG_API void eg_file_abort(eg_file_output *file); /* what was there stays */

#ifdef __cplusplus
}
#endif
#endif
