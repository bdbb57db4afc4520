/* Our own bugs with blocks are caught where assertions are on. */
#include "test.h"
#include "memory/block.h"
#include "memory/guard.h"

#include <sys/wait.h>
#include <unistd.h>

AREA(block, "blocks given twice, overwritten, foreign or to the wrong owner are caught")

#ifdef NDEBUG
enum { ASSERTING = 0 };
#else
enum { ASSERTING = 1 };
#endif

typedef enum mistake { NONE, TWICE, FOREIGN, INSIDE, OTHER_OWNER, OVERWRITTEN } mistake;

static eg__memory *create(void) {
    eg__memory *memory = NULL;
    if (eg__memory_create(&memory, NULL, NULL)) exit(1);
    return memory;
}

/* `offset` is that of the header's byte to overwrite. */
static void make(mistake what, size_t offset) {
    static _Alignas(EG__ALIGNMENT) char foreign[4 * EG__ALIGNMENT];
    eg__memory *memory = create(), *owner = what == OTHER_OWNER ? create() : memory;
    char *block = eg__memory_take(memory, EG_TAG_OTHER, 1000, NULL);
    if (!block) exit(1);
    if (what == TWICE) eg__memory_give(memory, block);
    if (what == FOREIGN) block = foreign + 2 * EG__ALIGNMENT;
    if (what == INSIDE) block += 8;
    if (what == OVERWRITTEN) {
        char *header = block - sizeof(eg__block);
        eg__guard_open(header, sizeof(eg__block));
        header[offset] ^= 1;
    }
    eg__memory_give(owner, block);
}

TEST(block, assertions_catch_our_own_bugs) {
    if (!ASSERTING) {
        test_skip("assertions are off");
        return;
    }
    static const struct {
        const char *name;
        mistake what;
        size_t offset;
    } rows[] = {
        {"none", NONE, 0},
        {"given twice", TWICE, 0},
        {"foreign", FOREIGN, 0},
        {"inside of a block", INSIDE, 0},
        {"another's", OTHER_OWNER, 0},
        {"owner overwritten", OVERWRITTEN, offsetof(eg__block, owner)},
        {"size overwritten", OVERWRITTEN, offsetof(eg__block, size)},
        {"capacity overwritten", OVERWRITTEN, offsetof(eg__block, capacity)},
        {"tag overwritten", OVERWRITTEN, offsetof(eg__block, tag)},
        {"seal overwritten", OVERWRITTEN, offsetof(eg__block, seal)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t child = fork();
        if (child == 0) { /* dies with a message, which is not ours to show */
            if (!freopen("/dev/null", "w", stderr)) _exit(0);
            make(rows[i].what, rows[i].offset);
            _exit(0);
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork");
        CHECK((status != 0) == (rows[i].what != NONE), "%s: status %d", rows[i].name, status);
    }
}
