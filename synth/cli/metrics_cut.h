/* Bisection: the narrowest cut found that parts the devices into two halves. */
#ifndef PCCL_CLI_METRICS_CUT_H
#define PCCL_CLI_METRICS_CUT_H

#include "metrics.h"

/* Fills the two bisection fields. An upper limit: cuts across each dimension of a grid, by device number, and by
 * distance from a device are tried; switches go to the side where they cut less. */
int metrics_bisect(const struct pccl_topology *topology, struct metrics *metrics);

#endif
