/* This machine, against what Linux says without us. */
#include "test_chip.h"

#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(chip, this_machine) {
    eg_chip chip, again;
    eg_error error = {0};
    struct utsname name;
    cpu_set_t allowed;
    CHECK_OK(eg_chip_detect(NULL, NULL, NULL, &chip, &error), error);
    CHECK_OK(eg_chip_detect(NULL, NULL, NULL, &again, &error), error);
    chip_check_sane(&chip, "this machine");
    CHECK(strcmp(chip.fingerprint, again.fingerprint) == 0, "two runs differ");
    CHECK(uname(&name) == 0 && strcmp(chip.arch, name.machine) == 0, "arch '%s'", chip.arch);
    CHECK(strncmp(chip.system, "Linux ", 6) == 0, "system '%s'", chip.system);
    CHECK(chip.cores >= 1 && chip.kind_count >= 1, "%u cores", chip.cores);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        CHECK(chip.threads == (unsigned)CPU_COUNT(&allowed), "%u threads, %d allowed", chip.threads,
              CPU_COUNT(&allowed));
    unsigned cores = 0, threads = 0;
    CHECK(eg__cores_usable(&cores, &threads) && cores == chip.cores && threads == chip.threads,
          "the kernel's files tell %u cores, %u threads", cores, threads);
    CHECK(strcmp(chip.arch, "aarch64") != 0 || (chip.features & EG_CPU_NEON), "no NEON");
    CHECK(chip.page_size == (unsigned)sysconf(_SC_PAGESIZE), "page %u", chip.page_size);
    uint64_t available = eg__memory_available(NULL);
    CHECK(chip.memory_bytes > 0 && available > 0 && available <= chip.memory_bytes,
          "%llu of %llu bytes", (unsigned long long)available,
          (unsigned long long)chip.memory_bytes);
    CHECK(!(chip.features & EG_CPU_APPLE_AMX), "AMX under Linux");
}

/* In a child, so that the tests after this one keep their processors. */
TEST(chip, a_process_that_may_use_one_processor) {
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t allowed, one;
        eg_chip chip;
        int cpu = 0;
        if (sched_getaffinity(0, sizeof allowed, &allowed)) _exit(2);
        while (!CPU_ISSET(cpu, &allowed)) cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one)) _exit(2);
        if (eg_chip_detect(NULL, NULL, NULL, &chip, NULL)) _exit(1);
        _exit(chip.cores == 1 && chip.threads == 1 ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status), "no child");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        test_skip("affinity is refused here");
        return;
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "more than one core is told");
}

/* Eight hardware threads: two fast cores of two, a slow pair, two without files. */
TEST(chip, order_of_cores) {
    static const struct {
        const char *path, *text;
    } files[] = {{"cpu0/topology/thread_siblings_list", "0,4\n"},
                 {"cpu4/topology/thread_siblings_list", "0,4\n"},
                 {"cpu0/cpufreq/cpuinfo_max_freq", "2000000\n"},
                 {"cpu4/cpufreq/cpuinfo_max_freq", "2000000\n"},
                 {"cpu1/topology/thread_siblings_list", "1-2\n"},
                 {"cpu2/topology/thread_siblings_list", "1-2\n"},
                 {"cpu1/cpufreq/cpuinfo_max_freq", "3000000\n"},
                 {"cpu5/topology/thread_siblings_list", "5-6\n"},
                 {"cpu6/topology/thread_siblings_list", "5-6\n"},
                 {"cpu5/cpu_capacity", "3000000\n"},
                 {"cpu7/topology/thread_siblings_list", "7-99999999999,x-,,\n"}};
    static const struct {
        uint64_t allowed;
        unsigned cores;
        uint64_t picked[6];
    } rows[] = {{0xff, 5, {0x06, 0x60, 0x11, 0x08, 0x80}},
                {0xfe, 5, {0x06, 0x60, 0x10, 0x08, 0x80}},
                {0x5d, 4, {0x11, 0x04, 0x08, 0x40}},
                {0x80, 1, {0x80}},
                {0, 0, {0}}};
    const char *root = test_folder();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "sys/devices/system/cpu/%s", files[i].path);
        chip_file_write(root, path, files[i].text, strlen(files[i].text));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__cpu_mask allowed = {{rows[i].allowed}}, core;
        CHECK(eg__cores_count(root, &allowed) == rows[i].cores, "%llx: %u cores",
              (unsigned long long)rows[i].allowed, eg__cores_count(root, &allowed));
        for (unsigned k = 0; k < rows[i].cores; k++)
            CHECK(eg__core_pick(root, &allowed, k, &core) && core.words[0] == rows[i].picked[k],
                  "%llx: core %u is %llx", (unsigned long long)rows[i].allowed, k,
                  (unsigned long long)core.words[0]);
        CHECK(!eg__core_pick(root, &allowed, rows[i].cores, &core), "%llx: a core too many",
              (unsigned long long)rows[i].allowed);
    }
}

typedef struct binding {
    unsigned index;
    bool bound;
    int before, after;
    cpu_set_t set;
} binding;

static void *bind_here(void *user) {
    binding *b = user;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    b->before = CPU_COUNT(&allowed);
    b->bound = eg__chip_bind_thread(b->index);
    sched_getaffinity(0, sizeof b->set, &b->set);
    b->after = CPU_COUNT(&b->set);
    return NULL;
}

static binding bind_in_thread(unsigned index) {
    binding b = {.index = index};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, bind_here, &b) == 0, "no thread");
    pthread_join(thread, NULL);
    return b;
}

TEST(chip, bound_threads) {
    eg_chip chip;
    eg_error error = {0};
    CHECK_OK(eg_chip_detect(NULL, NULL, NULL, &chip, &error), error);
    binding first = bind_in_thread(0);
    if (!first.bound) {
        test_skip("affinity is refused here");
        return;
    }
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (unsigned i = 0; i < chip.cores && i < 64; i++) {
        binding b = bind_in_thread(i);
        cpu_set_t both;
        CPU_AND(&both, &seen, &b.set);
        CHECK(b.bound && CPU_COUNT(&both) == 0, "core %u was given before", i);
        CHECK(b.after >= 1 && b.after <= b.before, "core %u has %d threads", i, b.after);
        CPU_OR(&seen, &seen, &b.set);
    }
    CHECK(chip.cores > 64 || CPU_COUNT(&seen) == (int)chip.threads, "%d of %u threads bound",
          CPU_COUNT(&seen), chip.threads);
    binding beyond = bind_in_thread(chip.cores);
    CHECK(!beyond.bound && beyond.after == beyond.before, "there is one core too many");
    CHECK(!bind_in_thread(4000000000u).bound, "an absurd core");
}
