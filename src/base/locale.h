/* Texts with numbers that have a point, whatever locale the program has chosen. */
#ifndef EG__LOCALE_H
#define EG__LOCALE_H

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h> /* where macOS declares uselocale */
#endif

/* From here to eg__point_end this thread writes numbers as C does. Returns what it did before. */
static inline locale_t eg__point_begin(void) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? uselocale(c) : (locale_t)0;
}
static inline void eg__point_end(locale_t before) {
    if (!before) return; /* there was no memory: numbers are the program's */
    const locale_t c = uselocale(before);
    freelocale(c);
}

#endif
