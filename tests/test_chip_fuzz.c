/* Damaged recordings: whatever bytes a machine consists of, nothing crashes and nothing absurd is
 * told. The numbers are the same on every run; a failure names the round. */
#include "test_chip.h"

enum { ROUNDS = 300, FILE_MAX = 20000 };

static uint32_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* One of the ways in which files break: a byte, a bit, a digit, a cut, a piece said twice. */
static size_t damage(char *bytes, size_t size, uint64_t *state) {
    if (!size) return 0;
    size_t at = next(state) % size, piece = next(state) % 40;
    switch (next(state) % 6) {
    case 0: bytes[at] = (char)next(state); break;
    case 1: bytes[at] = (char)(bytes[at] ^ 1 << next(state) % 8); break;
    case 2: bytes[at] = (char)('0' + next(state) % 10); break;
    case 3: return at;
    case 4:
        if (at + piece > size) piece = size - at;
        memmove(bytes + at, bytes + at + piece, size - at - piece);
        return size - piece;
    default:
        if (at + piece > size || size + piece > FILE_MAX) return size;
        memmove(bytes + at + piece, bytes + at, size - at);
        return size + piece;
    }
    return size;
}

TEST(chip, damaged_recordings) {
    static const char *const machines[] = {"m1-asahi", "m2-max-macos", "vm", "server-2s"};
    static const char *const files[] = {"sysctl.txt",
                                        "hwloc.xml",
                                        "proc/cpuinfo",
                                        "proc/meminfo",
                                        "proc/version",
                                        "proc/self/cgroup",
                                        "proc/device-tree/compatible",
                                        "proc/device-tree/model",
                                        "sys/fs/cgroup/memory.max",
                                        "sys/fs/cgroup/memory.current",
                                        "sys/fs/cgroup/memory.stat"};
    enum { MACHINES = sizeof machines / sizeof *machines, FILES = sizeof files / sizeof *files };
    static char bytes[FILES][FILE_MAX], broken[FILE_MAX];
    const unsigned rounds = test_quick() ? ROUNDS / 10 : ROUNDS;
    uint64_t state = 20240607;
    unsigned told = 0;
    for (unsigned m = 0; m < MACHINES; m++) {
        char source[512], what[64];
        size_t sizes[FILES];
        fixture(source, machines[m]);
        for (int f = 0; f < FILES; f++)
            sizes[f] = chip_file_read(source, files[f], bytes[f], FILE_MAX);
        const char *root = test_folder();
        for (unsigned round = 0; round < rounds; round++) {
            for (int f = 0; f < FILES; f++) {
                size_t size = sizes[f];
                memcpy(broken, bytes[f], size);
                if (size && (next(&state) % 2 || f < 2))
                    for (unsigned k = 1 + next(&state) % 3; k > 0; k--)
                        size = damage(broken, size, &state);
                if (sizes[f]) chip_file_write(root, files[f], broken, size);
            }
            eg_chip chip;
            eg_status status = eg_chip_detect(root, NULL, NULL, &chip, NULL);
            snprintf(what, sizeof what, "%s, round %u", machines[m], round);
            CHECK(status == EG_OK || status == EG_ERR_NOT_FOUND, "%s: %s", what,
                  eg_status_name(status));
            if (status == EG_OK) chip_check_sane(&chip, what);
            told += status == EG_OK && chip.cores > 0;
        }
    }
    CHECK(told > MACHINES * rounds / 2, "only %u of %u machines told their cores", told,
          MACHINES * rounds);
}
