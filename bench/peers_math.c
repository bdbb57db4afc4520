/* libmvec and SLEEF: which of their functions there are, by the names in vector_names. */
#include "peers_math.h"
#include "library.h"

#include <stdio.h>
#include <string.h>

static void *libraries[MATH_LIBRARIES]; /* filled by math_open */

void math_open(void) {
    libraries[MATH_MVEC] = library_open(library_mvec);
    libraries[MATH_SLEEF] = library_open(library_sleef);
}

void math_versions(peer_versions *out) {
    if (libraries[MATH_MVEC]) {
        const char *(*version)(void);
        library_find(libraries[MATH_MVEC], "gnu_get_libc_version", &version);
        peer_versions_add(out, "libmvec", "glibc %s", version ? version() : "of unknown version");
    }
    if (libraries[MATH_SLEEF]) peer_versions_add(out, "sleef", "SLEEF, version not told");
}

static void add_function(bench *b, race *r, const math_problem *p, const vector_name *from) {
    const bool is_sigmoid = p->function == MATH_SIGMOID;
    vector_address function;
    if (from->features & ~b->chip.features) return;
    if (from->function != (is_sigmoid ? MATH_EXP : p->function)) return;
    library_find(libraries[from->library], from->symbol, &function);
    if (!function) return;
    vector_map *state = bench_take(b, sizeof *state);
    *state = (vector_map){function, p->n, p->x, p->y};
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = from->name,
                             .variant = from->variant,
                             .run = is_sigmoid ? from->map_sigmoid : from->map,
                             .state = state});
}

void math_add(bench *b, race *r, const math_problem *problem) {
    for (const vector_name *from = vector_names; from->name; from++)
        add_function(b, r, problem, from);
}
