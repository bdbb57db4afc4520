/* The folder of the pages, looked through for every sample. A file is believed only after its owner, size, magic, version and
 * process were checked; what a crashed program left is removed. */
#include "monitor/pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void ignore(eg__pages *pages, const char *name, const char *why) {
    if (!pages->ignored++)
        snprintf(pages->ignored_text, sizeof pages->ignored_text, "%.60s%s%s", name,
                 name[0] ? ": " : "", why);
}

/* ---- whether a file is a page, and whose */
typedef enum verdict { GOOD, STALE, OTHER } verdict;

/* Of a file of this user that is no page: left alone while a program of that pid lives, which may be writing it. */
static verdict garbage(uint64_t pid, const char **why, const char *fault) {
    eg__process process;
    *why = fault;
    return eg__process_look(pid, &process) ? OTHER : STALE;
}

static verdict check_process(const eg__page *page, uint64_t pid, const char **why) {
    eg__process process;
    const uint64_t space = eg__process_space();
    if (page->pid_space && space && page->pid_space != space) {
        *why = "its program is in another container";
        return OTHER;
    }
    if (page->pid != pid) return garbage(pid, why, "its name and its pid differ");
    *why = "its program has ended";
    if (!eg__process_look(pid, &process)) return STALE;
    return process.start && page->process_start && process.start != page->process_start ? STALE
                                                                                        : GOOD;
}

static verdict check_page(const eg__page *page, uint64_t pid, const char **why) {
    if (memcmp(page->magic, EG__PAGE_MAGIC, sizeof page->magic) != 0)
        return garbage(pid, why, "not a page of elegans");
    if (page->version != EG__PAGE_VERSION) {
        *why = "a page of another version of elegans";
        return OTHER;
    }
    if (page->size != EG__PAGE_SIZE) return garbage(pid, why, "a page of another size");
    return check_process(page, pid, why);
}

static verdict check_file(const struct stat *info, uint64_t pid, const char **why) {
    *why = "it belongs to another user";
    if (info->st_uid != geteuid()) return OTHER;
    *why = "not a regular file";
    if (!S_ISREG(info->st_mode)) return OTHER;
    if (info->st_size != EG__PAGE_SIZE) return garbage(pid, why, "a page of another size");
    return GOOD;
}

/* Mapped, not read: only loads of whole words see what a program stores. */
static const eg__page *map_file(int folder, const char *name, uint64_t pid, verdict *is,
                                const char **why) {
    struct stat info;
    *is = OTHER;
    *why = "it cannot be opened";
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return NULL;
    if (fstat(file, &info) == 0) *is = check_file(&info, pid, why);
    void *at = *is == GOOD ? mmap(NULL, EG__PAGE_SIZE, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (*is != GOOD || at == MAP_FAILED) return NULL;
    *is = check_page(at, pid, why);
    if (*is == GOOD) return at;
    munmap(at, EG__PAGE_SIZE);
    return NULL;
}

/* ---- those that are followed */
static void let_go(eg__pages *pages, size_t index) {
    munmap((void *)(uintptr_t)pages->tracked[index]->page, EG__PAGE_SIZE);
    eg__memory_give(pages->memory, pages->tracked[index]);
    pages->count--;
    for (size_t i = index; i < pages->count; i++) pages->tracked[i] = pages->tracked[i + 1];
}

static size_t find(const eg__pages *pages, const char *name) {
    size_t i = 0;
    while (i < pages->count && strcmp(pages->tracked[i]->name, name) != 0) i++;
    return i;
}

static bool goes_before(const eg__tracked *a, const eg__tracked *b) {
    return a->pid != b->pid ? a->pid < b->pid : strcmp(a->name, b->name) < 0;
}

static eg_status follow(eg__pages *pages, const char *name, uint64_t pid, const eg__page *page,
                        eg_error *error) {
    eg__tracked *t = eg__memory_take_zeroed(pages->memory, EG_TAG_MEASURE, sizeof *t, error);
    if (!t) return EG_ERR_MEMORY;
    snprintf(t->name, sizeof t->name, "%.47s", name);
    t->pid = pid;
    t->page = page;
    t->seen = true;
    size_t at = pages->count++;
    for (; at > 0 && goes_before(t, pages->tracked[at - 1]); at--)
        pages->tracked[at] = pages->tracked[at - 1];
    pages->tracked[at] = t;
    return EG_OK;
}

/* Still the file that was mapped, as long as it was, of a program that lives. */
static verdict check_again(int folder, const eg__tracked *t, const char **why) {
    struct stat info;
    *why = "it cannot be read any more";
    if (fstatat(folder, t->name, &info, AT_SYMLINK_NOFOLLOW) != 0) return OTHER;
    const verdict is = check_file(&info, t->pid, why);
    return is == GOOD ? check_page(t->page, t->pid, why) : is;
}

static eg_status look_at(eg__pages *pages, int folder, const char *name, eg_error *error) {
    uint64_t pid;
    bool complete;
    const char *why = "";
    verdict is;
    if (!eg__page_name_parse(name, &pid, &complete)) return EG_OK;
    if (!complete) { /* of a program that ended while it opened a page */
        if (garbage(pid, &why, "") == STALE) unlinkat(folder, name, 0);
        return EG_OK;
    }
    const size_t index = find(pages, name);
    if (index < pages->count) {
        is = check_again(folder, pages->tracked[index], &why);
        pages->tracked[index]->seen = is == GOOD;
    } else {
        const eg__page *page = map_file(folder, name, pid, &is, &why);
        if (page && pages->count == EG__PAGES_MOST) {
            is = OTHER;
            why = "more programs than can be followed";
        }
        const eg_status status = page && is == GOOD ? follow(pages, name, pid, page, error) : EG_OK;
        if (page && (is != GOOD || status)) munmap((void *)(uintptr_t)page, EG__PAGE_SIZE);
        if (status) return status;
    }
    if (is == STALE) unlinkat(folder, name, 0);
    if (is == OTHER) ignore(pages, name, why);
    return EG_OK;
}

static eg_status scan(eg__pages *pages, eg_error *error) {
    char path[EG__PUBLISH_PATH];
    int folder;
    eg_error reason;
    pages->ignored = 0;
    pages->ignored_text[0] = 0;
    for (size_t i = 0; i < pages->count; i++) pages->tracked[i]->seen = false;
    const eg_status missing = eg__publish_folder(pages->folder, false, path, &folder, &reason);
    if (missing == EG_ERR_NOT_FOUND) return EG_OK; /* nobody has published yet */
    if (missing) {
        ignore(pages, "", reason.message);
        return EG_OK;
    }
    const int copy = dup(folder);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    eg_status status = EG_OK;
    for (struct dirent *entry; list && !status && (entry = readdir(list));)
        status = look_at(pages, folder, entry->d_name, error);
    if (list) closedir(list);
    else if (copy >= 0) close(copy);
    close(folder);
    return status;
}

/* ---- reading */
static void view(const eg__page *page, uint64_t pid, eg__page_view *v) {
    eg__process process;
    v->read_ns = eg_clock_ns();
    v->steps = eg__word_get(&page->steps);
    v->tokens = eg__word_get(&page->tokens);
    v->timed_every = eg__word_get(&page->timed_every);
    v->step_flops = eg__double_of(eg__word_get(&page->step_flops));
    v->peak_flops = eg__double_of(eg__word_get(&page->peak_flops));
    v->peak_bandwidth = eg__double_of(eg__word_get(&page->peak_bandwidth));
    v->step_bytes = eg__double_of(eg__word_get(&page->step_bytes));
    v->held = (double)eg__word_get(&page->held);
    v->held_peak = (double)eg__word_get(&page->held_peak);
    eg__process_look(pid, &process);
    v->resident = process.resident;
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++)
        v->latency[i] = eg__word_get(&page->latency[i]);
    v->training_known =
        eg__block_get(&page->training_sequence, page->training, EG__TRAINING_WORDS, &v->training);
    v->operations_known = eg__block_get(&page->operations_sequence, page->operations,
                                        EG__OPERATIONS_WORDS, &v->operations);
    /* whatever wrote it, these are lengths of lists here */
    v->training.points = eg__min((size_t)v->training.points, EG_LOSS_POINTS);
    v->operations.count = eg__min((size_t)v->operations.count, EG_OPERATION_SHARES);
}

eg_status eg__pages_read(eg__pages *pages, eg_error *error) {
    const eg_status status = scan(pages, error);
    if (status) return status;
    for (size_t i = pages->count; i-- > 0;)
        if (!pages->tracked[i]->seen) let_go(pages, i);
    for (size_t i = 0; i < pages->count; i++) {
        eg__tracked *t = pages->tracked[i];
        t->again = t->now.read_ns != 0;
        t->before = t->now;
        view(t->page, t->pid, &t->now);
    }
    return EG_OK;
}

void eg__pages_close(eg__pages *pages) {
    while (pages->count) let_go(pages, pages->count - 1);
    eg__memory_give(pages->memory, pages->folder);
    pages->folder = NULL;
}
