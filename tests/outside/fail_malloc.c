/* Loaded before a program (LD_PRELOAD, glibc): the k-th request for memory of the whole process fails, whoever
 * makes it: the program, its libraries, libc itself. FAIL_MALLOC_AT=k; with FAIL_MALLOC_FOREVER=1 all after it
 * fail, too. FAIL_MALLOC_COUNT names a file for "requests failed".
 *
 * Left out by name: what hwloc_topology_init and hwloc_topology_load take. hwloc 2.9 uses what it did not get
 * (152 of 420 requests end in a signal, in a program that does nothing else), and has no hook for an allocator. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static long fail_at, requests, failed;
static int forever, ready;
static __thread int excused;

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int fails(void) {
    if (!ready || excused) return 0;
    const long k = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
    if (!fail_at || k < fail_at || (k > fail_at && !forever)) return 0;
    __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    fail_at = number_of("FAIL_MALLOC_AT");
    forever = number_of("FAIL_MALLOC_FOREVER") != 0;
    ready = 1;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAIL_MALLOC_COUNT");
    char text[64];
    ready = 0;
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file < 0) return;
    const int length = snprintf(text, sizeof text, "%ld %ld\n", requests, failed);
    if (write(file, text, (size_t)length) != length) abort();
    close(file);
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = fails() ? NULL : __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

static int excuse(const char *name, void *argument) {
    int (*function)(void *);
    excused++;
    *(void **)&function = dlsym(RTLD_NEXT, name);
    const int result = function ? function(argument) : -1;
    excused--;
    return result;
}
int hwloc_topology_init(void *topology) { return excuse("hwloc_topology_init", topology); }
int hwloc_topology_load(void *topology) { return excuse("hwloc_topology_load", topology); }
