/* Names of pages: whose they are, and whether they are complete. */
#include "base/base.h"
#include "publish/page.h"

#include <string.h>

bool eg__page_name_parse(const char *name, uint64_t *pid, bool *complete) {
    static const char digits[] = "0123456789";
    *complete = name[0] != '.';
    const char *at = name + !*complete;
    const size_t first = strspn(at, digits);
    int64_t number;
    if (first > 10 || at[first] != '-' || eg_integer_parse(at, first, 1, INT32_MAX, &number, NULL))
        return false;
    const char *serial = at + first + 1;
    const size_t second = strspn(serial, digits);
    *pid = (uint64_t)number;
    return second && second < 10 && strcmp(serial + second, *complete ? ".page" : ".new") == 0;
}
