/* Times and rates as people write them ("1.5us", "12.5GB/s", "100Gbit/s"), read exactly, in integers. */
#ifndef PCCL__QUANTITY_H
#define PCCL__QUANTITY_H

#include "base/error.h"

#include <stdint.h>

/* Each reads all of `text`; `what` names the quantity in errors (PCCL_ERR_FORMAT). */

/* A number with ps, ns, us, ms or s; "0" needs no unit. What is finer than a picosecond is refused. */
int pccl__quantity_time(const char *text, const char *what, int64_t *time_ps, struct pccl_error *error);
/* A number above 0 with B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s, Gbit/s or Tbit/s. The result
 * is rounded up to a whole picosecond per MiB. */
int pccl__quantity_rate(const char *text, const char *what, int64_t *ps_per_mib, struct pccl_error *error);
/* A number of digits only, minimum .. maximum. */
int pccl__quantity_integer(const char *text, const char *what, int64_t minimum, int64_t maximum, int64_t *value,
                           struct pccl_error *error);
/* A decimal number above 0 as a fraction. */
int pccl__quantity_ratio(const char *text, const char *what, int64_t *numerator, int64_t *denominator,
                         struct pccl_error *error);

#endif
