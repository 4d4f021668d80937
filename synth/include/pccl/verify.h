/* Verifier: replays a schedule, or the programs of all ranks, symbolically. Shares no code with the algorithms. */
#ifndef PCCL_VERIFY_H
#define PCCL_VERIFY_H

#include "pccl/program.h"

#pragma GCC visibility push(default) /* what the shared library shows */

/* Checks that paths are chains of existing links through vertices that forward; that relays are allowed; that every
 * message carries what its sender holds; that every target ends with its chunk; for reductions that each contribution
 * enters exactly once, in rank order if the demand is ordered; that all targets of a chunk hold the same expression;
 * and that it is the one of the fixed tree (demand.h) if the demand is reproducible. */
int pccl_verify_schedule(const struct pccl_topology *topology, const struct pccl_schedule *schedule, bool relays,
                         struct pccl_error *error);

/* Executes the programs of all ranks symbolically (programs[r] is rank r's), messages matched per pair in posting order,
 * sends synchronous (they complete only when the receive is posted), so that no run depends on buffering. Checks in
 * addition: every two accesses to one slot of which one writes are ordered by a dependency; nothing writes the input;
 * message lengths agree at both ends; nothing is left unreceived; no deadlock with any window >= 1 (see doc/design.md);
 * the same holds with input laid over output (in place). */
int pccl_verify_programs(const struct pccl_demand *demand, const struct pccl_program *const *programs,
                         struct pccl_error *error);

/* Checks a program of pccl_program_exchange against the edges it was made for: each edge is served once, with its peer
 * and block, in the order of its pair. */
int pccl_verify_exchange(const struct pccl_program *program, const struct pccl_edge *sends, uint32_t num_sends,
                         const struct pccl_edge *receives, uint32_t num_receives, struct pccl_error *error);

/* What can be told from one rank's program alone: every index is within its array, slots fit the demand, waits and
 * lanes are consistent, accesses to one slot are ordered, nothing writes the input. The demand's arrays are not looked at,
 * except for a custom collective. */
int pccl_verify_program(const struct pccl_demand *demand, const struct pccl_program *program, struct pccl_error *error);

#pragma GCC visibility pop

#endif
