/* Runs the programs of all ranks on real bytes, in a random order that their dependencies allow, and compares every
 * output byte with what the demand asks for. Shares nothing with verifier and executor. */
#ifndef PCCL_TEST_INTERPRETER_H
#define PCCL_TEST_INTERPRETER_H

#include "base/random.h"
#include "pccl/program.h"

/* window: messages a rank keeps posted at once, except that its lowest ready operation always may be; 0 = no limit.
 * Returns NULL, or what went wrong (static storage). */
const char *interpret(const struct pccl_demand *demand, struct pccl_program *const *programs, bool in_place,
                      uint32_t window, struct pccl__random *random);

#endif
