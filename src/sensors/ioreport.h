/* Channels of Apple's IOReport: what they mean (ioreport.c), apart from how they are asked for (ioreport_macos.c), so that
 * recorded ones can be read anywhere. */
#ifndef EG__IOREPORT_H
#define EG__IOREPORT_H

#include "sensors/sensing.h"

enum { EG__STATES = 64, EG__CLOCKS = 64 };
/* What a channel changed by between two samples. */
typedef struct eg__channel {
    char group[48], subgroup[48], name[48], unit[16];
    unsigned states; /* 0: a single number, `value` */
    int64_t value;   /* INT64_MIN = not populated */
    struct {
        char name[24];
        int64_t time; /* in ticks; only shares are used */
    } state[EG__STATES];
} eg__channel;

/* Frequencies of a table of the power manager, in Hz, as "voltage-states5-sram". */
typedef struct eg__clock_table {
    unsigned count;
    double hertz[EG__CLOCKS];
} eg__clock_table;

typedef void eg__ioreport_function(eg_sensors *s, const eg__channel *channel, void *user);
/* Every channel of the groups of interest, changes since the sample before and the seconds between. False: there is no
 * IOReport, or no earlier sample. */
bool eg__ioreport_live(eg_sensors *s, eg__ioreport_function *function, void *user, double *seconds);
bool eg__clocks_live(eg_sensors *s, const char *table, eg__clock_table *out);
/* The same of a root. */
bool eg__ioreport_recorded(eg_sensors *s, eg__ioreport_function *function, void *user,
                           double *seconds);
bool eg__clocks_recorded(const eg_sensors *s, const char *table, eg__clock_table *out);
/* Tables are in Hz up to the M3, in kHz since: no core of these has less than 100 MHz at best. */
void eg__clock_table_scale(eg__clock_table *table);

#endif
