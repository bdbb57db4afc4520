/* Dates of seconds since 1970 in UTC, without the C library: it has a zone and a locale, and fails for strange years. */
#include "report/report.h"

#include <math.h>

/* Days since 1970 as a date of the proleptic Gregorian calendar: years begin in March, so that the leap day is last. */
eg__date eg__report_date_of(int64_t seconds) {
    const int64_t day = seconds / 86400 - (seconds % 86400 < 0), rest = seconds - day * 86400;
    const int64_t shifted = day + 719468, era = shifted / 146097 - (shifted % 146097 < 0);
    const int64_t of_era = shifted - era * 146097,
                  year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365,
                  of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100),
                  month = (5 * of_year + 2) / 153;
    return (eg__date){.year = (int)(year_of_era + era * 400 + (month >= 10)),
                      .month = (int)(month < 10 ? month + 3 : month - 9),
                      .day = (int)(of_year - (153 * month + 2) / 5 + 1),
                      .hour = (int)(rest / 3600),
                      .minute = (int)(rest / 60 % 60),
                      .second = (int)(rest % 60)};
}

int64_t eg__report_seconds_of(int year, int month) {
    const int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5,
                  day = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return (era * 146097 + day - 719468) * 86400;
}

const char *eg__report_date(char out[32], double seconds) {
    out[0] = 0;
    if (!(seconds >= 0 && seconds < (double)EG__REPORT_LAST)) return out;
    const eg__date d = eg__report_date_of((int64_t)seconds);
    eg__report_print(out, 32, "%04d-%02d-%02d %02d:%02d UTC", d.year, d.month, d.day, d.hour,
                     d.minute);
    return out;
}
