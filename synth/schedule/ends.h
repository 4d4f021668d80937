/* What the messages of a schedule mean to ranks: who is at their ends, and whose contributions they carry. */
#ifndef PCCL__ENDS_H
#define PCCL__ENDS_H

#include "pccl/schedule.h"

/* The ranks at the ends of every path, PCCL_NONE if they are outside the group: two arrays [num_paths], the caller's to
 * free, also after an error. */
int pccl__ends_find(const struct pccl_schedule *schedule, uint32_t **source, uint32_t **target,
                    struct pccl_error *error);

/* Reductions: the lowest rank that contributed to each chunk that a message carries. Those of message i are
 * (*lowest)[(*first)[i]] and on, in the order of its chunks. source, target: of the paths, all within the group. Both
 * arrays are the caller's to free, also after an error. */
int pccl__lowest_find(const struct pccl_schedule *schedule, const uint32_t *source, const uint32_t *target,
                      uint32_t **first, uint32_t **lowest, struct pccl_error *error);

#endif
