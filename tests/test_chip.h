/* What the test files of src/chip share. */
#ifndef EG__CHIP_TEST_H
#define EG__CHIP_TEST_H

#include "chip/detect.h"
#include "test.h"

/* The folder of a recorded machine below tests/fixtures/chip, in a buffer of the caller. */
static inline const char *fixture(char path[512], const char *name) {
    snprintf(path, 512, "%s/%s", test_path("fixtures/chip"), name);
    return path;
}

/* Writes `size` bytes to root/path and makes the folders on the way. */
void chip_file_write(const char *root, const char *path, const void *bytes, size_t size);
/* Reads a whole small file into `out`; its size, 0 when there is none. */
size_t chip_file_read(const char *root, const char *path, char *out, size_t size);

/* What must hold for whatever was detected, however broken the machine. */
void chip_check_sane(const eg_chip *chip, const char *what);

/* A log that counts warnings and keeps the text of all. */
typedef struct chip_warnings {
    unsigned count;
    char text[4096];
} chip_warnings;
void chip_warn(void *user, eg_log_level level, const char *message);

#endif
