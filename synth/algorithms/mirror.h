/* Reductions for methods that only know how to spread chunks: all-gather and broadcast. */
#ifndef PCCL__MIRROR_H
#define PCCL__MIRROR_H

#include "algorithms/algorithm.h"

/* Runs `spread` and makes of its schedules what the problem asks for: itself (all-gather, broadcast, barrier,
 * custom), its mirror image planned on the reversed graph (reduce-scatter, reduce), or both joined (all-reduce,
 * custom reductions). */
int pccl__mirror_serve(const struct pccl__problem *problem, uint32_t pieces, pccl__algorithm *spread,
                       struct pccl_schedule **schedule, struct pccl_error *error);

#endif
