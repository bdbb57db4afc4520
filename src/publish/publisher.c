/* A page that has a name while its program lives: opened, closed. */
#include "base/abi.h"
#include "engine/context.h"
#include "publish/publisher.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SERIALS = 4096 };

static bool is_off(void) {
    const char *value = getenv("ELEGANS_PUBLISH");
    return value && strcmp(value, "0") == 0;
}

static double known(double value) { return value > 0 && isfinite(value) ? value : (double)NAN; }

double eg__publisher_bandwidth(const eg_publisher *p, double step_bytes) {
    for (int i = 0; i < EG_PUBLISHER_LEVELS; i++)
        if (step_bytes <= p->levels[i].bytes && p->levels[i].bandwidth > 0)
            return p->levels[i].bandwidth;
    return p->bandwidth;
}

static void copy_text(char *out, size_t size, const char *text) {
    snprintf(out, size, "%s", text ? text : "");
}

static void fill(const eg_publisher *p, eg__page *page, const eg_publisher_options *options) {
    eg__process self;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(page->magic, EG__PAGE_MAGIC, sizeof page->magic);
    page->version = EG__PAGE_VERSION;
    page->size = EG__PAGE_SIZE;
    page->pid = (uint64_t)getpid();
    eg__process_look(page->pid, &self);
    page->process_start = self.start;
    page->pid_space = eg__process_space();
    page->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    copy_text(page->program, sizeof page->program, options->program);
    copy_text(page->activity, sizeof page->activity, options->activity);
    copy_text(page->model, sizeof page->model, options->model);
    eg__word_set(&page->peak_flops, eg__bits_of(known(options->peak_flops)));
    eg__word_set(&page->peak_bandwidth,
                 eg__bits_of(eg__publisher_bandwidth(p, options->step_bytes)));
    eg__word_set(&page->step_flops, eg__bits_of(known(options->step_flops)));
    eg__word_set(&page->step_bytes, eg__bits_of(known(options->step_bytes)));
}

/* Written, not only made longer: its blocks are there then, and a disk that is full later cannot end the program when it
 * writes to mapped memory. */
static int create(int folder, const char *name, const eg__page *image) {
    const int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    const ssize_t written = pwrite(file, image, EG__PAGE_SIZE, 0);
    if (written == EG__PAGE_SIZE) return file;
    if (written >= 0) errno = ENOSPC;
    const int reason = errno;
    close(file);
    unlinkat(folder, name, 0);
    errno = reason;
    return -1;
}

/* Complete before it has its name, and never in place of another one: two threads may open publishers at once. */
static eg_status place(eg_publisher *p, int folder, const eg__page *image, eg_error *error) {
    for (int serial = 0; serial < SERIALS; serial++) {
        char fresh[64], name[64];
        snprintf(fresh, sizeof fresh, ".%ld-%d.new", (long)getpid(), serial);
        snprintf(name, sizeof name, "%ld-%d.page", (long)getpid(), serial);
        const int file = create(folder, fresh, image);
        if (file < 0 && errno == EEXIST) continue;
        if (file < 0) break;
        void *at = mmap(NULL, EG__PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        const bool named = at != MAP_FAILED && linkat(folder, fresh, folder, name, 0) == 0;
        const int reason = errno;
        unlinkat(folder, fresh, 0);
        if (named) {
            p->page = at;
            const size_t length = strlen(p->path);
            snprintf(p->path + length, sizeof p->path - length, "/%s", name);
            return EG_OK;
        }
        if (at != MAP_FAILED) munmap(at, EG__PAGE_SIZE);
        errno = reason;
        if (reason != EEXIST) break;
    }
    return eg__fail(error, EG_ERR_FILE, "cannot publish in '%s': %s", p->path, strerror(errno));
}

static eg_status open_page(eg_publisher *p, const eg_publisher_options *options, eg_error *error) {
    int folder;
    eg_status status = eg__publish_folder(options->folder, true, p->path, &folder, error);
    if (status) return status;
    eg__page *image = eg__memory_take_zeroed(p->memory, EG_TAG_MEASURE, EG__PAGE_SIZE, error);
    if (!image) status = EG_ERR_MEMORY;
    else {
        fill(p, image, options);
        status = place(p, folder, image, error);
    }
    eg__memory_give(p->memory, image);
    close(folder);
    return status;
}

eg_status eg_publisher_open(eg_context *context, const eg_publisher_options *options,
                            eg_publisher **out, eg_error *error) {
    eg_publisher_options kept;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the publisher");
    *out = NULL;
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    eg_status status = EG__OPTIONS(eg_publisher_options, &kept, options, error);
    if (status || is_off()) return status;
    if (!eg__forks_watch())
        return eg__fail(error, EG_ERR_SYSTEM, "cannot publish: forks cannot be watched");
    eg__memory *memory = eg__context_memory(context);
    eg_publisher *p = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *p, error);
    if (!p) return EG_ERR_MEMORY;
    p->memory = memory;
    p->forks = atomic_load_explicit(&eg__forks, memory_order_relaxed);
    p->every = 1;
    p->left = 1;
    p->bandwidth = known(kept.peak_bandwidth);
    memcpy(p->levels, kept.levels, sizeof p->levels);
    status = open_page(p, &kept, error);
    if (status) eg__memory_give(memory, p);
    else {
        eg__publisher_memory(p);
        *out = p;
    }
    return status;
}

void eg_publisher_close(eg_publisher *p) {
    if (!p) return;
    if (eg__publisher_ours(p)) unlink(p->path); /* in a child it is the parent's */
    munmap(p->page, EG__PAGE_SIZE);
    eg__memory_give(p->memory, p);
}
