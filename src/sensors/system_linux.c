/* Linux: sources are files that are opened for every sample, nothing is kept. */
#include "sensors/ioreport.h"

void eg__sensors_system_open(eg_sensors *s) { (void)s; }
void eg__sensors_system_close(eg_sensors *s) { (void)s; }

bool eg__ioreport_live(eg_sensors *s, eg__ioreport_function *function, void *user,
                       double *seconds) {
    (void)s, (void)function, (void)user, (void)seconds;
    return false;
}
bool eg__clocks_live(eg_sensors *s, const char *table, eg__clock_table *out) {
    (void)s, (void)table, (void)out;
    return false;
}
