/* How numbers are written, by definition: with printf and one digit more until they are read back. */
#ifndef TEST_DECIMAL_H
#define TEST_DECIMAL_H

#include <stdio.h>
#include <stdlib.h>

static inline void decimal_define_f32(char out[32], float value) {
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value) break;
    }
}

static inline void decimal_define_f64(char out[32], double value) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
}

#endif
