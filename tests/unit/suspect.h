/* A schedule with its programs, to be broken and shown to the verifier. */
#ifndef PCCL_TEST_SUSPECT_H
#define PCCL_TEST_SUSPECT_H

#include "pccl/program.h"
#include "samples.h"

struct suspect {
    struct pccl_topology *topology;
    struct pccl_schedule *schedule;
    struct pccl_program *programs[64];
    uint32_t num_ranks;
};

/* A sample of 16 bytes a block, each rank's program made. */
struct suspect suspect_open(enum sample_kind kind, uint32_t num_ranks, uint32_t pieces, bool ordered);
void suspect_close(struct suspect *suspect);
/* Makes the programs of the schedule. */
void suspect_lower(struct suspect *suspect);

int verify_schedule(const struct suspect *suspect, struct pccl_error *error);
int verify_programs(const struct suspect *suspect, struct pccl_error *error);
/* Both accept. seed: printed if not. */
void expect_accepted(const struct suspect *suspect, uint64_t seed);
void expect_rejected(int (*verify)(const struct suspect *, struct pccl_error *), const struct suspect *suspect,
                     const char *part, int line);
/* The message must hold `part`. */
#define EXPECT_SCHEDULE_REJECTED(suspect, part) expect_rejected(verify_schedule, suspect, part, __LINE__)
#define EXPECT_PROGRAMS_REJECTED(suspect, part) expect_rejected(verify_programs, suspect, part, __LINE__)

/* Takes away the dependency number `which` of a program, consistently; false if
 * there is none. */
bool cut_dependency(struct pccl_program *program, uint32_t which);

#endif
