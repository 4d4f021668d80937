/* Schedules in the forms of other programs. */
#ifndef PCCL_CLI_CONVERT_H
#define PCCL_CLI_CONVERT_H

#include "cli.h"

/* One line per message, with its simulated times. */
int convert_csv(const struct pccl_topology *topology, const struct pccl_schedule *schedule, FILE *stream,
                struct pccl_error *error);
/* The XML that MSCCL's runtime reads: a thread block for every peer and direction, one for local work. Fails with
 * PCCL_ERR_UNSUPPORTED for what it cannot express: relays, unequal chunks, ordered reductions, barriers. */
int convert_msccl(const struct pccl_schedule *schedule, FILE *stream, struct pccl_error *error);

#endif
