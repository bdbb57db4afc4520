/* Arbitrary JSON as a profile: pages in both forms, or a message, whatever is missing or of another kind in it. */
#include "fuzz.h"
#include "cli/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[64], message[256];
    const int file = fuzz_file(bytes, length, path);
    report r = {.run = json_read_file(path, message), .file = fopen("/dev/null", "w")};
    require(r.file && (r.run || message[0]));
    if (r.run) {
        report_html(&r);
        report_markdown(&r);
        r.basic = true;
        report_html(&r);
    }
    fclose(r.file);
    json_free(r.run);
    close(file);
    return 0;
}
