/* Files that take their name when they are complete: readers see the old one or the new one, never a part.
 * Stable. */
#ifndef ELEGANS_FILE_H
#define ELEGANS_FILE_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is being written under a temporary name, ".elegans-HOST-PROCESS-NUMBER" in the same folder. */
enum { EG_FILE_PATH_SIZE = 4096 };
typedef struct eg_file_output {
    int descriptor;                    /* write to it; -1 = there is none */
    char path[EG_FILE_PATH_SIZE];      /* what it will replace; links are resolved */
    char temporary[EG_FILE_PATH_SIZE]; /* its present name */
} eg_file_output;

/* An existing file must be a regular one (EG_ERR_FILE otherwise); the new one gets its permissions. Temporary files
 * that dead processes of this user on this machine left in the folder are removed. After a success, call one of the
 * two below. Any thread. */
EG_API eg_status eg_file_begin(const char *path, eg_file_output *out, eg_error *error);
/* Syncs the file, renames it, and syncs the folder (fsync). On failure the old file is intact and the new one is
 * removed. */
EG_API eg_status eg_file_commit(eg_file_output *file, eg_error *error);
EG_API void eg_file_abort(eg_file_output *file); /* what was there stays */

#ifdef __cplusplus
}
#endif
#endif
