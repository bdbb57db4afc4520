/* Measuring ceilings, and keeping them per machine. */
#ifndef EG__CEILINGS_H
#define EG__CEILINGS_H

#include "elegans/measure.h"
#include "engine/context.h"

/* Never fails: a ceiling that cannot be measured is unavailable, with the reason. */
void eg__ceilings_run(eg_context *context, double seconds, eg_ceilings *out);
/* The FMA peak of one core alone, in about `seconds`. */
eg_metric eg__fma_peak_measure(eg_context *context, double seconds);

/* The first of `sizes` (the largest first) that is read a quarter quicker than the DRAM, and at least half way
 * from it to the quickest of them; `least` = none. */
double eg__last_cache_find(size_t count, const double *sizes, const double *gbps, double dram,
                           double least);

/* Bytes to read for the DRAM: eight times all caches together, within 128 MiB and 1 GiB. */
size_t eg__ceilings_buffer(const eg_chip *chip);

/* The text form: one `name value provenance` per line, values as eg_number_format writes them. */
enum { EG__CEILINGS_TEXT = 4096 };
size_t eg__ceilings_write(const eg_ceilings *ceilings, unsigned threads,
                          char out[EG__CEILINGS_TEXT]);
/* EG_ERR_FORMAT names the line, also of a figure that no machine has; a value of an unknown name is skipped, a missing one unavailable. */
eg_status eg__ceilings_read(const char *text, size_t length, eg_ceilings *out, unsigned *threads,
                            eg_error *error);

#endif
