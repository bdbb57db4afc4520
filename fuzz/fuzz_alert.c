/* Arbitrary text as an alert: a rule whose numbers make sense, or a message with a position. */
#include "fuzz.h"
#include "monitor/alert.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg__alert_rule rule;
    eg_error error = {0};
    char *text = malloc(length + 1);
    require(text != NULL);
    memcpy(text, bytes, length);
    text[length] = 0;
    if (eg__alert_parse(text, &rule, &error)) require(strncmp(error.message, "position ", 9) == 0);
    else
        require(rule.name && isfinite(rule.limit) && isfinite(rule.hold) && rule.hold >= 0 &&
                (rule.above ? rule.clear <= rule.limit : rule.clear >= rule.limit));
    free(text);
    return 0;
}
