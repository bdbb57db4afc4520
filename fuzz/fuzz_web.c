/* Arbitrary lines as a request to the web server of the monitor: refused with a text, or for something that there is, from a
 * host that is ours and with the token. */
#include "fuzz.h"
#include "cli/web/web.h"

#include <string.h>

enum { LINES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const web_site sites[] = {
        {.address = "127.0.0.1", .loopback = true, .name = "desk", .port = 8642},
        {.address = "0.0.0.0", .name = "desk", .port = 8642, .token = "0123456789abcdef"}};
    const char *line[LINES] = {NULL};
    char *text = malloc(length + 1), *rest = text;
    require(text != NULL);
    memcpy(text, bytes, length);
    text[length] = 0;
    for (int i = 0; i < LINES && rest; i++) line[i] = strsep(&rest, "\n");
    const web_request request = {.method = line[0] ? line[0] : "GET",
                                 .target = line[1],
                                 .host = line[2],
                                 .hosts = line[2] != NULL,
                                 .origin = line[3],
                                 .authorization = line[4],
                                 .cookie = line[5]};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const web_answer a = web_check(&sites[i], &request);
        require((a.status == 200) == (a.kind != WEB_NONE) && (a.status == 200) == (a.text == NULL));
        if (a.status != 200) continue;
        require(!request.origin || strcasestr(request.origin, request.host));
        require((a.kind == WEB_FILE || a.kind == WEB_ENTER) == (a.file != NULL));
        require(i == 0 || memmem(bytes, length, sites[i].token, 16) != NULL);
    }
    web_wants_open_metrics(line[6]);
    if (line[4]) web_token_good(line[4]);
    free(text);
    return 0;
}
