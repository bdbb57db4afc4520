/* The threads that OpenMP has in this process already, shared: those of torch spin for milliseconds after their work, on cores
 * that threads of our own would have to wait for. */
#include "core.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

/* Of GNU's libgomp: what `#pragma omp parallel` becomes, and how many threads that would have. */
static void (*parallel)(void (*)(void *), void *, unsigned threads, unsigned flags);
static int (*most_threads)(void);

typedef struct team {
    void (*member)(void *argument, unsigned thread);
    void *argument;
    unsigned count;
    atomic_uint next;
} team;

static void work(void *user) {
    team *t = user;
    for (unsigned i; (i = atomic_fetch_add(&t->next, 1)) < t->count;) t->member(t->argument, i);
}

/* As many threads as OpenMP has anyway: another number would end some and begin others. With fewer than we have of our own,
 * ours do the work. */
static int run_team(void *user, unsigned threads, void (*member)(void *, unsigned),
                    void *argument) {
    (void)user;
    if (most_threads() < (int)threads) return 0;
    team t = {.member = member, .argument = argument, .count = threads};
    parallel(work, &t, 0, 0);
    return 1;
}

static PyObject *share_threads(PyObject *module, PyObject *path) {
    (void)module;
    const char *text;
    PyObject *held = core_text(path, "path", &text);
    if (!held) return NULL;
    void *library = dlopen(text, RTLD_NOW | RTLD_NOLOAD);
    Py_DECREF(held);
    if (!library) Py_RETURN_FALSE;
    void *const of_parallel = dlsym(library, "GOMP_parallel"), *const of_most = dlsym(
                                                                   library, "omp_get_max_threads");
    if (!of_parallel || !of_most) {
        dlclose(library);
        Py_RETURN_FALSE;
    }
    /* dlsym gives data pointers; POSIX lets them hold functions */
    memcpy(&parallel, &of_parallel, sizeof parallel);
    memcpy(&most_threads, &of_most, sizeof most_threads);
    if (!core_context_team(run_team)) return NULL;
    Py_RETURN_TRUE;
}

PyMethodDef core_team_functions[] = {{"_share_threads", share_threads, METH_O, NULL},
                                     {NULL, NULL, 0, NULL}};
