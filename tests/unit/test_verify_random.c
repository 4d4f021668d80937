/* The verifier accepts what is right; whatever random change it lets pass, the bytes come out right all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter.h"
#include "pccl/verify.h"
#include "suspect.h"

static void test_samples(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
            for (uint32_t variant = 0; variant < 6; variant++) {
                struct suspect suspect = {.topology = sample_topology(sizes[i]), .num_ranks = sizes[i]};
                suspect.schedule = sample_schedule(suspect.topology, (enum sample_kind)kind, sizes[i], 1 + variant % 3,
                                                   11, variant % 2 == 1, variant >= 3);
                if (suspect.schedule != NULL) {
                    suspect_lower(&suspect);
                    expect_accepted(&suspect, variant);
                }
                suspect_close(&suspect);
            }
        }
    }
}

/* A random collective, delivered by random messages. */
static struct suspect random_plan(uint64_t seed)
{
    struct pccl__random random = {.state = seed};
    uint32_t num_ranks = 2 + pccl__random_below(&random, 6);
    enum pccl_collective collective = (enum pccl_collective)pccl__random_below(&random, PCCL_NUM_COLLECTIVES);
    bool ordered = pccl__random_below(&random, 2) == 0, other = pccl__random_below(&random, 2) == 0;
    uint32_t pieces = 1 + pccl__random_below(&random, 3);
    struct suspect suspect = {.topology = sample_topology(num_ranks), .num_ranks = num_ranks};
    struct pccl_demand *demand = collective == PCCL_CUSTOM
                                     ? sample_custom_demand(num_ranks, other, ordered, &random)
                                     : sample_demand(collective, num_ranks, pieces, 8, ordered, other);
    suspect.schedule = sample_random(suspect.topology, demand, &random);
    suspect_lower(&suspect);
    return suspect;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct suspect suspect = random_plan(seed);
        expect_accepted(&suspect, seed);
        suspect_close(&suspect);
    }
}

/* --- random changes
 * -----------------------------------------------------------------------------------------------
 */

static uint32_t odd_value(struct pccl__random *random, uint32_t value)
{
    static const uint32_t odd[] = {0, 1, UINT32_MAX, UINT32_MAX - 1, 1u << 30, 1u << 31, (1u << 30) + 1, 0x7fffffff};
    switch (pccl__random_below(random, 4)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return odd[pccl__random_below(random, 8)];
    default:
        return pccl__random_below(random, 12);
    }
}

/* Changes a random word, or swaps two, of an array of words. */
static void change_words(void *array, size_t num_words, struct pccl__random *random)
{
    if (num_words == 0) {
        return;
    }
    uint32_t *words = array, i = pccl__random_below(random, (uint32_t)num_words);
    uint32_t j = pccl__random_below(random, (uint32_t)num_words), kept = words[i];
    if (pccl__random_below(random, 2) == 0) {
        words[i] = words[j];
        words[j] = kept;
    } else {
        words[i] = odd_value(random, kept);
    }
}

static void change_program(struct pccl_program *program, struct pccl__random *random)
{
    switch (pccl__random_below(random, 6)) {
    case 0:
        change_words(program->operations, program->num_operations * sizeof *program->operations / 4, random);
        break;
    case 1:
        change_words(program->slots, program->num_slots, random);
        break;
    case 2:
        change_words(program->slot_chunk, program->num_slots, random);
        break;
    case 3:
        change_words(program->successors, program->num_successors, random);
        break;
    case 4:
        cut_dependency(program, pccl__random_below(random, program->num_successors + 1));
        break;
    default:
        program->num_operations -= program->num_operations > 0;
    }
}

static void expect_right_bytes(const struct suspect *suspect, uint64_t seed, struct pccl__random *random)
{
    for (uint32_t i = 0; i < 4; i++) {
        const char *wrong = interpret(suspect->schedule->demand, suspect->programs, i % 2 == 1, i / 2, random);
        if (wrong != NULL) {
            fail_msg("seed %llu: %s of %s was accepted, but %s", (unsigned long long)seed, suspect->schedule->method,
                     pccl_collective_name(suspect->schedule->demand->collective), wrong);
        }
    }
}

static void test_changed_programs(void **state)
{
    (void)state;
    uint32_t num_accepted = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct suspect suspect = random_plan(seed % 400);
        struct pccl__random random = {.state = seed};
        for (uint32_t changes = 1 + pccl__random_below(&random, 2); changes > 0; changes--) {
            change_program(suspect.programs[pccl__random_below(&random, suspect.num_ranks)], &random);
        }
        if (verify_programs(&suspect, NULL) == 0) {
            num_accepted++;
            expect_right_bytes(&suspect, seed, &random);
        }
        suspect_close(&suspect);
    }
    assert_in_range(num_accepted, 1, 1500);
}

static void change_schedule(struct pccl_schedule *schedule, struct pccl__random *random)
{
    uint32_t i = pccl__random_below(random, schedule->num_messages),
             j = pccl__random_below(random, schedule->num_messages);
    struct pccl_message *messages = schedule->messages;
    switch (pccl__random_below(random, 6)) {
    case 0: { /* swap contents, keeping the steps */
        struct pccl_message kept = messages[i];
        messages[i] = messages[j];
        messages[j] = kept;
        messages[j].step = messages[i].step;
        messages[i].step = kept.step;
        break;
    }
    case 1: /* drop */
        memmove(messages + i, messages + i + 1, (schedule->num_messages - i - 1) * sizeof *messages);
        schedule->num_messages--;
        break;
    case 2:
        messages[i].reduce ^= 1;
        break;
    case 3:
        messages[i].payload = odd_value(random, messages[i].payload);
        break;
    case 4:
        messages[i].path = pccl__random_below(random, schedule->num_paths);
        break;
    default: /* later or earlier */
        messages[i].step = messages[j].step;
        pccl_schedule_seal(schedule);
    }
}

static void test_changed_schedules(void **state)
{
    (void)state;
    uint32_t num_accepted = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct suspect suspect = random_plan(seed % 500);
        struct pccl__random random = {.state = seed};
        for (uint32_t i = 0; i < suspect.num_ranks; i++) {
            pccl_program_free(suspect.programs[i]);
            suspect.programs[i] = NULL;
        }
        for (uint32_t changes = 1 + pccl__random_below(&random, 2); changes > 0 && suspect.schedule->num_messages > 0;
             changes--) {
            change_schedule(suspect.schedule, &random);
        }
        if (verify_schedule(&suspect, NULL) == 0) {
            num_accepted++;
            suspect_lower(&suspect);
            expect_accepted(&suspect, seed);
            expect_right_bytes(&suspect, seed, &random);
        }
        suspect_close(&suspect);
    }
    assert_in_range(num_accepted, 1, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_changed_programs),
        cmocka_unit_test(test_changed_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
