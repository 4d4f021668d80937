/* Replays schedules on numbers, to test the algorithms without the verifier. */
#ifndef PCCL_TEST_REPLAY_H
#define PCCL_TEST_REPLAY_H

#include "pccl/schedule.h"

/* Every operand is a 2x2 matrix modulo a prime that tells rank and chunk; operands combine by multiplication where
 * the demand is ordered (it does not commute), else by addition; where it is reproducible, by a function that does not
 * associate either. Returns NULL if all targets end with the right
 * matrix of each of their chunks, or what went wrong (static storage). */
const char *replay(const struct pccl_schedule *schedule, uint32_t num_devices);

#endif
