/* All-to-all on meshes along straight lines, one dimension after the other, where the network passes messages through. */
#ifndef PCCL__LINES_H
#define PCCL__LINES_H

#include "algorithms/portfolio.h"

pccl__algorithm pccl__lines_algorithm;
pccl__estimate pccl__estimate_lines; /* estimate_load.c */

/* What a link in the middle of a dimension has to carry, whatever the method: -1 where lines do not serve. */
int64_t pccl__lines_load_ps(const struct pccl__problem *problem);

#endif
