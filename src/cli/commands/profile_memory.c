/* Memory over time: of the library through the phases of a profile, of the arena through a run. */
#include "cli/commands/profile.h"

#include <string.h>

/* What changed most since the moment before: "graph +65.1 KiB, arena +3 KiB". */
static void changes(char out[64], const eg_profile_moment *now, const eg_profile_moment *before) {
    bool used[EG_TAG_COUNT] = {false};
    size_t at = 0;
    out[0] = 0;
    for (int turn = 0; before && turn < 2; turn++) {
        uint64_t most = 0;
        int which = -1;
        for (int tag = 0; tag < EG_TAG_COUNT; tag++) {
            const uint64_t a = before->by_tag[tag], b = now->by_tag[tag];
            const uint64_t change = a > b ? a - b : b - a;
            if (used[tag] || change <= most) continue;
            most = change;
            which = tag;
        }
        if (which < 0) return;
        char bytes[32];
        used[which] = true;
        at += (size_t)snprintf(
            out + at, 64 - at, "%s%s %c%s", turn ? ", " : "", eg_tag_name((eg_tag)which),
            now->by_tag[which] < before->by_tag[which] ? '-' : '+', format_bytes(bytes, most));
    }
}

static void print_phases(const eg_profile *profile) {
    const eg_profile_moment *m, *before = NULL;
    print_section("over the profile", "bytes counted, times measured");
    printf("  %s%-9s %9s %10s %10s  %s%s\n", style_dim(), "end of", "at", "held", "most in it",
           "what changed", style_end());
    for (size_t i = 0; (m = eg_profile_memory(profile, i)); i++, before = m) {
        char at[32], held[32], most[32], what[64];
        changes(what, m, before);
        printf("  %-9s %9s %10s %10s  ", eg_profile_phase_name(m->phase),
               before ? format_seconds(at, m->seconds) : "0 s", format_bytes(held, m->held),
               format_bytes(most, m->peak));
        const char *text = what[0] ? what : before ? "nothing" : "was there before";
        print_folded(text, strlen(text), 45, 45, NULL);
    }
}

/* One sign per step or, where there are more than fit, per few of them: the most that they need. */
static void spark(const eg_profile *profile, size_t count, uint64_t most, char out[512]) {
    enum { WIDE = 48 };
    const size_t signs = count < WIDE ? count : WIDE;
    size_t at = 0;
    bool inside = false;
    for (size_t i = 0; i < signs; i++) {
        uint64_t live = 0;
        bool in_scan = false;
        for (size_t k = i * count / signs; k < (i + 1) * count / signs; k++) {
            const eg_profile_row *row = eg_profile_in_run(profile, k);
            if (row->live > live) live = row->live;
            in_scan = in_scan || row->inside;
        }
        if (in_scan != inside) at += (size_t)snprintf(out + at, 512 - at, in_scan ? "[" : "]");
        inside = in_scan;
        at += (size_t)snprintf(out + at, 512 - at, "%s",
                               format_block(most ? (double)live / (double)most : 0));
    }
    snprintf(out + at, 512 - at, "%s", inside ? "]" : "");
}

static size_t largest(const eg_profile *profile, size_t *count) {
    const eg_profile_row *row;
    size_t at = 0;
    for (*count = 0; (row = eg_profile_in_run(profile, *count)); ++*count)
        if (row->live > eg_profile_in_run(profile, at)->live) at = *count;
    return at;
}

static void print_arena(const eg_profile *profile) {
    size_t count;
    const eg_profile_row *most = eg_profile_in_run(profile, largest(profile, &count));
    eg_program_info info = {.size = sizeof info};
    char a[32], b[32], line[512];
    if (!most) return;
    eg_program_info_get(eg_profile_program(profile), &info);
    print_section("arena in a run", "step by step; those of a scan in brackets");
    spark(profile, count, most->live, line);
    print_row("live", line, "counted");
    snprintf(line, sizeof line, "%s, at step %u: %s %s %s", format_bytes(a, most->live), most->step,
             most->operation, most->kernel, most->shape);
    print_row("most", line, "counted");
    print_row("planned", format_bytes(b, info.arena_bytes), "counted");
}

void memory_print(const eg_profile *profile) {
    print_phases(profile);
    print_arena(profile);
}
