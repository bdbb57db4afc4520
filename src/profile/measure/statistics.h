/* What the files about samples share. */
#ifndef EG__STATISTICS_H
#define EG__STATISTICS_H

#include "memory/memory.h"

void eg__samples_order(size_t count, double *samples); /* the least first; count > 0 */
/* A sorted copy that the caller gives back. EG_ERR_ARGUMENT: a sample is not finite; `what` says of
 * which samples ("old ", or ""). */
eg_status eg__samples_sort(eg__memory *memory, const char *what, size_t count,
                           const double *samples, double **sorted, eg_error *error);
/* The percentile `q` of 0..1, between two samples on the line that joins them; count > 0. */
double eg__samples_percentile(size_t count, const double *sorted, double q);
const char *eg__seconds_brief(char out[32], double seconds); /* "1.24 us"; returns `out` */

#endif
