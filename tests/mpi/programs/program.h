/* A program: a sequence of steps that follows from its seed. */
#ifndef PROGRAMS_PROGRAM_H
#define PROGRAMS_PROGRAM_H

#include "requests.h"

/* num_steps 0: as many as the seed says. */
void program_run(uint64_t seed, int num_steps);

#endif
