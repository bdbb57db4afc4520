/* The name that was probably meant: the one with the smallest edit distance. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 }; /* longer words are not compared */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Letters to insert, delete, replace or swap with the next one (the distance of Damerau and Levenshtein,
 * each letter in one edit at most), capitals aside. */
static size_t distance(const char *a, size_t rows, const char *b, size_t columns) {
    size_t table[3][LONGEST + 1]; /* the row before the last, the last, this one: taken in turns */
    for (size_t j = 0; j <= columns; j++) table[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *row = table[i % 3];
        const size_t *above = table[(i + 2) % 3], *before = table[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            const char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = eg__min(eg__min(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                row[j] = eg__min(row[j], before[j - 2] + 1);
        }
    }
    return table[rows % 3][columns];
}

const char *eg_closest(const char *word, const char *(*name_at)(void *user, size_t index),
                       void *user) {
    const size_t length = word ? strlen(word) : 0;
    if (!length || length > LONGEST || !name_at) return NULL;
    const char *best = NULL, *name;
    size_t fewest = length < 3 ? 1 : (length + 2) / 3; /* more mistakes than that: another word */
    for (size_t i = 0; (name = name_at(user, i)); i++) {
        const size_t other = strlen(name);
        if (other > LONGEST || !other) continue;
        const size_t mistakes = distance(word, length, name, other);
        /* in a word of one or two letters one wrong letter is too many */
        if (mistakes >= other || mistakes > fewest || (best && mistakes == fewest)) continue;
        fewest = mistakes;
        best = name;
    }
    return best;
}

const char *eg_did_you_mean(char out[EG_DID_YOU_MEAN_SIZE], const char *word,
                            const char *(*name_at)(void *user, size_t index), void *user) {
    const char *name = eg_closest(word, name_at, user);
    if (name) snprintf(out, EG_DID_YOU_MEAN_SIZE, "; did you mean '%s'?", name);
    else out[0] = 0;
    return out;
}
