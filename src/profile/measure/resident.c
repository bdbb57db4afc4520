/* Peak resident memory during a watch. */
#include "profile/measure/resident.h"
#include "elegans/profile.h"

#include <math.h>

void eg__resident_begin(eg__resident *w) {
    w->highest = eg__resident_highest();
    w->most = eg__resident_now();
}

void eg__resident_look(eg__resident *w) { w->most = fmax(w->most, eg__resident_now()); }

/* A system-wide peak that has not risen is from before the watch: then the samples are used. */
eg_metric eg__resident_most(const eg__resident *w) {
    const double highest = eg__resident_highest();
    if (!(w->most > 0)) return eg__metric_unavailable("B", "the system does not tell");
    if (highest > w->highest)
        return eg__metric(fmax(highest, w->most), "B", EG_MEASURED,
                          "resident set of the process at its highest");
    return eg__metric(w->most, "B", EG_MEASURED,
                      "resident set of the process, largest at the end of a phase");
}

eg_metric eg_resident_peak(void) {
    const double bytes = eg__resident_highest();
    return bytes > 0 ? eg__metric(bytes, "B", EG_MEASURED, "resident set of the process")
                     : eg__metric_unavailable("B", "the system does not tell");
}
