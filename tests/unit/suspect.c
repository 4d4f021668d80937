#include "suspect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "pccl/verify.h"

void suspect_lower(struct suspect *suspect)
{
    struct pccl_error error = {""};
    if (pccl_programs_create(suspect->schedule, suspect->programs, &error) != 0) {
        fail_msg("%s: %s", suspect->schedule->method, error.message);
    }
}

struct suspect suspect_open(enum sample_kind kind, uint32_t num_ranks, uint32_t pieces, bool ordered)
{
    struct suspect suspect = {.topology = sample_topology(num_ranks), .num_ranks = num_ranks};
    suspect.schedule = sample_schedule(suspect.topology, kind, num_ranks, pieces, 16, ordered, false);
    assert_non_null(suspect.schedule);
    suspect_lower(&suspect);
    return suspect;
}

void suspect_close(struct suspect *suspect)
{
    for (uint32_t i = 0; i < suspect->num_ranks; i++) {
        pccl_program_free(suspect->programs[i]);
    }
    pccl_schedule_free(suspect->schedule);
    pccl_topology_free(suspect->topology);
}

int verify_schedule(const struct suspect *suspect, struct pccl_error *error)
{
    return pccl_verify_schedule(suspect->topology, suspect->schedule, false, error);
}

int verify_programs(const struct suspect *suspect, struct pccl_error *error)
{
    const struct pccl_program *programs[64];
    for (uint32_t i = 0; i < suspect->num_ranks; i++) {
        programs[i] = suspect->programs[i];
    }
    return pccl_verify_programs(suspect->schedule->demand, programs, error);
}

void expect_accepted(const struct suspect *suspect, uint64_t seed)
{
    struct pccl_error error = {""};
    if (verify_schedule(suspect, &error) != 0) {
        fail_msg("schedule %s, %u ranks, seed %llu: %s", suspect->schedule->method, suspect->num_ranks,
                 (unsigned long long)seed, error.message);
    }
    if (verify_programs(suspect, &error) != 0) {
        fail_msg("programs of %s, %u ranks, seed %llu: %s", suspect->schedule->method, suspect->num_ranks,
                 (unsigned long long)seed, error.message);
    }
}

void expect_rejected(int (*verify)(const struct suspect *, struct pccl_error *), const struct suspect *suspect,
                     const char *part, int line)
{
    struct pccl_error error = {""};
    int status = verify(suspect, &error);
    if (status == 0 || strstr(error.message, part) == NULL) {
        fail_msg("line %d: \"%s\" expected, got %d: \"%s\"", line, part, status, error.message);
    }
}
/* Takes away the dependency number `which` of a program, consistently. */
bool cut_dependency(struct pccl_program *program, uint32_t which)
{
    if (which >= program->num_successors) {
        return false;
    }
    for (uint32_t i = 0; i < program->num_operations; i++) {
        struct pccl_operation *operation = &program->operations[i];
        if (which >= operation->first_successor && which < operation->first_successor + operation->num_successors) {
            operation->num_successors--;
            program->operations[program->successors[which]].num_waits--;
        } else if (operation->first_successor > which) {
            operation->first_successor--;
        }
    }
    program->num_successors--;
    memmove(program->successors + which, program->successors + which + 1,
            (program->num_successors - which) * sizeof *program->successors);
    return true;
}
