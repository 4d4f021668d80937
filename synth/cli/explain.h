/* What the files of 'pccl explain' share. */
#ifndef PCCL_CLI_EXPLAIN_H
#define PCCL_CLI_EXPLAIN_H

#include "cli.h"
#include "pccl/simulate.h"

struct explained {
    const struct pccl_topology *topology;
    const struct pccl_schedule *schedule;
    struct pccl_simulation simulation; /* of the schedule; start_ps and link_bytes filled */
    struct cli_request recovered;      /* what it answers */
};

/* explain_methods.c: asks the portfolio again and prints what it tried beside this schedule; `all`: with every number
 * of pieces. Returns an exit code. */
int cli_explain_methods(const struct explained *subject, bool all);

#endif
