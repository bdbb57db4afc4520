/* Arbitrary texts as a command line, and the same bytes as a configuration in JSON. */
#include "fuzz.h"
#include "cli/cli.h"

#include <math.h>
#include <string.h>

typedef struct values {
    bool flag;
    const char *text;
    uint64_t count, whole;
    double number;
} values;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    enum { MOST = 16 };
    values v = {.count = 1};
    const option options[] = {{"--flag", OPTION_FLAG, &v.flag, NULL, "a flag"},
                              {"--text", OPTION_TEXT, &v.text, "TEXT", "a text"},
                              {"--count", OPTION_COUNT, &v.count, "N", "from 1"},
                              {"--whole", OPTION_WHOLE, &v.whole, "N", "from 0"},
                              {"--number", OPTION_NUMBER, &v.number, "X", "a number"},
                              {"--output", OPTION_TEXT, &v.text, "FILE", "a file"},
                              {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {"fuzz [OPTIONS]", "Any words.", options, "  elegans fuzz --flag\n"};
    char *copy = malloc(length + 1), *arguments[MOST + 1] = {0};
    require(copy != NULL);
    memcpy(copy, bytes, length);
    copy[length] = 0;
    int count = 0, rest = 0;
    for (char *at = copy; at <= copy + length && count < MOST; at += strlen(at) + 1)
        arguments[count++] = at;
    options_read(&use, count, arguments, &rest);
    require(rest >= 0 && rest <= count);
    require(v.count >= 1 && isfinite(v.number));
    uint64_t size;
    parse_bytes(copy, &size);
    char path[64];
    const int file = fuzz_file(bytes, length, path);
    json *document = NULL;
    options_config(&use, path, &document);
    require(v.count >= 1 && isfinite(v.number));
    json_free(document);
    close(file);
    free(copy);
    return 0;
}
