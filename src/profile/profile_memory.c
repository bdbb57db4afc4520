/* Memory over time: what the library holds at the end of each phase of a profile. */
#include "profile/profile.h"

const char *eg_profile_phase_name(eg_profile_phase phase) {
    static const char *const names[] = {
#define NAME(name, text) #name,
        EG_PROFILE_PHASE_MAP(NAME)
#undef NAME
    };
    return (unsigned)phase < EG_PROFILE_PHASES ? names[phase] : NULL;
}

const char *eg_profile_phase_text(eg_profile_phase phase) {
    static const char *const texts[] = {
#define TEXT(name, text) text,
        EG_PROFILE_PHASE_MAP(TEXT)
#undef TEXT
    };
    return (unsigned)phase < EG_PROFILE_PHASES ? texts[phase] : NULL;
}

/* Peaks begin anew with each phase, so that each has its own. */
void eg__profile_moment(eg_profile *p, eg_profile_phase phase) {
    eg_profile_moment *m = &p->moments[p->moment_count++];
    eg_memory_figures figures = {0};
    const uint64_t now = eg_clock_ns();
    if (phase == EG_PHASE_begin) p->began = now;
    m->phase = phase;
    m->seconds = (double)(now - p->began) * 1e-9;
    for (int tag = 0; tag < EG_TAG_COUNT; tag++) {
        eg_memory_query(p->context, (eg_tag)tag, &figures, NULL);
        m->by_tag[tag] = figures.current;
    }
    eg_memory_query(p->context, EG_TAG_COUNT, &figures, NULL);
    m->held = figures.current;
    m->peak = figures.peak;
    m->resident = (uint64_t)eg__resident_now();
    eg__resident_look(&p->resident);
    eg_memory_reset_peak(p->context);
}

const eg_profile_moment *eg_profile_memory(const eg_profile *p, size_t index) {
    return index < p->moment_count ? &p->moments[index] : NULL;
}
