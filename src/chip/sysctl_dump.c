/* The values of sysctl from a recorded "sysctl -a": lines of "key: value". */
#include "chip/detect.h"

#include <string.h>

void eg__sysctl_dump_read(eg__text *file, eg__sysctl_facts *out) {
    char line[1024], *key, *value;
    memset(out, 0, sizeof *out);
    while (eg__line_read(file, line, sizeof line)) {
        if (!eg__line_split(line, &key, &value)) continue;
        for (size_t i = 0; eg__sysctl_keys[i].name; i++)
            if (strcmp(eg__sysctl_keys[i].name, key) == 0)
                eg__text_clean(out->values[i], sizeof out->values[i], value, strlen(value));
    }
}
