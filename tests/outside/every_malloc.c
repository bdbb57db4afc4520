/* Runs a command again and again, failing another request for memory each time (fail_malloc.c), and looks at what
 * comes of it: no signal, no hang; a message and exit code 1 with the old files intact, or the same result as
 * undisturbed; never another file left behind.
 *
 *     every_malloc SHIM FOLDER SAMPLE NAME MARKS FILE COMMAND...
 *
 * FOLDER is emptied before each run, but for FILE ("-" = none), which then is `old` of the folder above, if that
 * exists, or "old". At most SAMPLE requests are tried of either kind (once, for ever), 0 = all. MARKS: "t" = the
 * output tells times: only the keys of its JSON are compared, "u" those of its outermost object (what else there is
 * depends on times); "T" and "U" = so does the file; "d" = the file is a database: after success only that it has
 * changed is looked at; "-" = none. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 60, COMPLAINTS = 8 };

typedef struct content {
    char *bytes;
    size_t size;
    bool there;
} content;

static const char *shim, *folder, *name, *marks, *file;
static char **command;
static int complaints;

static void die(const char *what) {
    fprintf(stderr, "every_malloc: %s: %s\n", what, strerror(errno));
    exit(2);
}

static const char *path_in(const char *of, const char *leaf) {
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", of, leaf);
    return path;
}

static content read_whole(const char *path) {
    content c = {NULL, 0, false};
    FILE *in = fopen(path, "rb");
    if (!in) return c;
    c.there = true;
    for (size_t got = 1; got; c.size += got) {
        c.bytes = realloc(c.bytes, c.size + 65537);
        if (!c.bytes) die("no memory");
        got = fread(c.bytes + c.size, 1, 65536, in);
    }
    c.bytes[c.size] = 0;
    fclose(in);
    return c;
}

static void write_whole(const char *path, const content *c) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(c->bytes, 1, c->size, out) != c->size || fclose(out)) die(path);
}

/* Of a JSON text only the keys and the brackets between them: what does not depend on time. */
static void keep_keys(content *c, int levels) {
    char *to = c->bytes;
    int level = 0;
    for (const char *at = c->bytes; at && *at;) {
        if (*at == '"') {
            const char *end = at + 1;
            while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
            const char *after = *end ? end + 1 : end;
            while (isspace((unsigned char)*after)) after++;
            if (*after == ':' && level <= levels)
                while (at < end) *to++ = *at++;
            at = *end ? end + 1 : end;
        } else {
            if (strchr("{[", *at)) level++;
            if (strchr("{}", *at) && level <= levels) *to++ = *at;
            if (strchr("}]", *at)) level--;
            at++;
        }
    }
    c->size = (size_t)(to - c->bytes);
}

static bool same(content *a, content *b, int levels) {
    if (levels) keep_keys(a, levels), keep_keys(b, levels);
    return a->there == b->there && a->size == b->size &&
           (!a->size || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* ---- the folder */
static char known[64][256]; /* what an undisturbed run leaves beside the file */
static int known_count;

static bool is_known(const char *leaf) {
    for (int i = 0; i < known_count; i++)
        if (strcmp(known[i], leaf) == 0) return true;
    return false;
}

typedef struct listing {
    int known, others;
} listing;

/* Goes through the folder: to empty it, to learn what belongs there, or to count. */
static listing look(bool discard, bool learn) {
    DIR *all = opendir(folder);
    listing count = {0, 0};
    if (!all) die(folder);
    for (struct dirent *entry; (entry = readdir(all));) {
        const char *leaf = entry->d_name;
        if (!strcmp(leaf, ".") || !strcmp(leaf, "..")) continue;
        if (discard && unlink(path_in(folder, leaf))) die(leaf);
        if (strcmp(leaf, file) == 0) continue;
        if (learn && known_count < (int)(sizeof known / sizeof *known))
            snprintf(known[known_count++], sizeof known[0], "%s", leaf);
        if (is_known(leaf)) count.known++;
        else count.others++;
    }
    closedir(all);
    return count;
}

static content prepare(void) {
    look(true, false);
    content old = {NULL, 0, false};
    if (strcmp(file, "-") == 0) return old;
    old = read_whole(path_in(folder, "../old"));
    if (!old.there) {
        old = (content){strdup("old\n"), 4, true};
        if (!old.bytes) die("no memory");
    }
    write_whole(path_in(folder, file), &old);
    return old;
}

/* ---- one run */
typedef struct outcome {
    int code; /* 128 + signal; -1 = it hung */
    long requests, failed;
    content out, err, file, old;
    listing left;
} outcome;

static void redirect(const char *path, int to) {
    const int f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (f < 0 || dup2(f, to) < 0) _exit(126);
    close(f);
}

static int wait_for(pid_t child) {
    for (int tick = 0; tick < SECONDS * 500; tick++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

static outcome run(long at, bool forever) {
    outcome o = {.old = prepare()};
    char number[32];
    const char *counts = path_in(folder, "../counts"), *out = path_in(folder, "../stdout"),
               *err = path_in(folder, "../stderr");
    unlink(counts);
    lseek(0, 0, SEEK_SET); /* what it reads, from the beginning */
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (!child) {
        snprintf(number, sizeof number, "%ld", at);
        setenv("FAIL_MALLOC_AT", number, 1);
        setenv("FAIL_MALLOC_FOREVER", forever ? "1" : "0", 1);
        setenv("FAIL_MALLOC_COUNT", counts, 1);
        setenv("LD_PRELOAD", shim, 1);
        redirect(out, 1);
        redirect(err, 2);
        execv(command[0], command);
        _exit(127);
    }
    o.code = wait_for(child);
    o.out = read_whole(path_in(folder, "../stdout"));
    o.err = read_whole(path_in(folder, "../stderr"));
    content told = read_whole(path_in(folder, "../counts"));
    if (told.there) sscanf(told.bytes, "%ld %ld", &o.requests, &o.failed);
    free(told.bytes);
    if (strcmp(file, "-") != 0) o.file = read_whole(path_in(folder, file));
    o.left = look(false, false);
    return o;
}

static void forget(outcome *o) {
    free(o->out.bytes);
    free(o->err.bytes);
    free(o->file.bytes);
    free(o->old.bytes);
}

static void complain(long at, bool forever, const outcome *o, const char *what) {
    if (complaints++ >= COMPLAINTS) return;
    printf("FAIL %s: request %ld%s: %s (exit %d) %.*s\n", name, at, forever ? " and all after" : "",
           what, o->code, o->err.there ? (int)strcspn(o->err.bytes, "\n") : 0,
           o->err.there ? o->err.bytes : "");
}

/* True when nothing was failed: it was over before. */
static bool judge(long at, bool forever, outcome *o) {
    const int times = strchr(marks, 't') ? 99 : strchr(marks, 'u') ? 1 : 0;
    const int file_times = strchr(marks, 'T') ? 99 : strchr(marks, 'U') ? 1 : 0;
    const bool database = strchr(marks, 'd') != NULL;
    content out = read_whole(path_in(folder, "../stdout.good"));
    content wanted = read_whole(path_in(folder, "../file.good"));
    if (o->code == -1) complain(at, forever, o, "hangs");
    else if (o->code >= 126) complain(at, forever, o, "ended by a signal");
    else if (o->left.others) complain(at, forever, o, "a file that does not belong there is left");
    else if (o->code == 0 && o->left.known != known_count)
        complain(at, forever, o, "a file is missing");
    if (o->code > 0 && o->code < 126) {
        if (o->code != 1) complain(at, forever, o, "another exit code than 1");
        if (!o->err.there || !strstr(o->err.bytes, "elegans: "))
            complain(at, forever, o, "no message");
        /* or replaced by a whole new one, and what failed came after */
        if (!same(&o->file, &o->old, 0) && !database && !same(&o->file, &wanted, file_times))
            complain(at, forever, o, "the old file is lost");
    } else if (o->code == 0) {
        if (!same(&o->out, &out, times)) complain(at, forever, o, "another output");
        if (database) {
            if (same(&o->file, &o->old, 0)) complain(at, forever, o, "nothing was written");
        } else if (strcmp(file, "-") != 0 && !same(&o->file, &wanted, file_times))
            complain(at, forever, o, "another file");
    }
    free(out.bytes);
    free(wanted.bytes);
    return o->code == 0 && o->requests < at;
}

int main(int argc, char **argv) {
    if (argc < 8) die("every_malloc SHIM FOLDER SAMPLE NAME MARKS FILE COMMAND...");
    shim = argv[1], folder = argv[2], name = argv[4], marks = argv[5], file = argv[6];
    command = argv + 7;
    const long sample = atol(argv[3]);
    outcome good = run(0, false);
    if (good.code) {
        printf("FAIL %s: undisturbed, exit %d: %s\n", name, good.code,
               good.err.there ? good.err.bytes : "");
        return 1;
    }
    look(false, true);
    write_whole(path_in(folder, "../stdout.good"), &good.out);
    if (good.file.there) write_whole(path_in(folder, "../file.good"), &good.file);
    long runs = 0, refused = 0;
    for (int forever = 0; forever < 2; forever++) {
        /* the same requests each time; more of the first ones, among which everything begins */
        for (long i = 1;; i++) {
            const long all = good.requests + 2;
            long at = i;
            if (sample && all > sample && i > sample / 4)
                at = sample / 4 + (i - sample / 4) * (all - sample / 4) / (sample - sample / 4);
            if (at > 4 * all) break;
            outcome o = run(at, forever != 0);
            const bool over = judge(at, forever != 0, &o);
            runs++, refused += o.code != 0;
            forget(&o);
            if (over) break;
        }
    }
    printf("%s %-14s %6ld requests, %5ld runs, %5ld refused, %d wrong\n",
           complaints ? "FAIL" : "ok  ", name, good.requests, runs, refused, complaints);
    return complaints != 0;
}
