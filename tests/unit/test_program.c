/* Programs compute the right bytes: every sample and many random schedules, run on real buffers in random order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter.h"
#include "samples.h"

static void free_programs(struct pccl_program **programs, uint32_t num_ranks)
{
    for (uint32_t i = 0; i < num_ranks; i++) {
        pccl_program_free(programs[i]);
    }
}

/* Lowers and runs a schedule (taken over) in place and not, with several windows. */
static void check_schedule(struct pccl_schedule *schedule, uint64_t seed)
{
    struct pccl_program *programs[64];
    struct pccl_error error = {""};
    uint32_t num_ranks = schedule->demand->num_ranks;
    struct pccl__random random = {.state = seed};
    if (pccl_programs_create(schedule, programs, &error) != 0) {
        fail_msg("%s, %u ranks, seed %llu: %s", schedule->method, num_ranks, (unsigned long long)seed, error.message);
    }
    static const uint32_t windows[] = {0, 1, 3};
    for (uint32_t i = 0; i < 6; i++) {
        const char *wrong = interpret(schedule->demand, programs, i % 2 == 1, windows[i / 2], &random);
        if (wrong != NULL) {
            fail_msg("%s of %s, %u ranks, %u pieces, %s, window %u, seed %llu: %s", schedule->method,
                     pccl_collective_name(schedule->demand->collective), num_ranks, schedule->demand->pieces,
                     i % 2 == 1 ? "in place" : "not in place", windows[i / 2], (unsigned long long)seed, wrong);
        }
    }
    free_programs(programs, num_ranks);
    pccl_schedule_free(schedule);
}

static void test_samples(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct pccl_topology *topology = sample_topology(sizes[i]);
        for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
            for (uint32_t variant = 0; variant < (sizes[i] < 9 ? 6 : 2); variant++) {
                struct pccl_schedule *schedule = sample_schedule(topology, (enum sample_kind)kind, sizes[i],
                                                                 1 + variant % 3, 11, variant % 2 == 1, variant >= 3);
                if (schedule != NULL) {
                    check_schedule(schedule, variant);
                }
            }
        }
        pccl_topology_free(topology);
    }
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        struct pccl__random random = {.state = seed};
        uint32_t num_ranks = 2 + pccl__random_below(&random, 6);
        enum pccl_collective collective = (enum pccl_collective)pccl__random_below(&random, PCCL_NUM_COLLECTIVES);
        bool ordered = pccl__random_below(&random, 2) == 0;
        struct pccl_topology *topology = sample_topology(num_ranks);
        struct pccl_demand *demand;
        if (collective == PCCL_CUSTOM) {
            demand = sample_custom_demand(num_ranks, pccl__random_below(&random, 2) == 0, ordered, &random);
        } else {
            uint32_t pieces = 1 + pccl__random_below(&random, 3);
            demand = sample_demand(collective, num_ranks, pieces, 8, ordered, pccl__random_below(&random, 2) == 0);
        }
        check_schedule(sample_random(topology, demand, &random), seed);
        pccl_topology_free(topology);
    }
}

static void check_same(const struct pccl_program *a, const struct pccl_program *b)
{
    assert_int_equal(a->num_operations, b->num_operations);
    assert_int_equal(a->num_slots, b->num_slots);
    assert_int_equal(a->num_successors, b->num_successors);
    assert_int_equal(a->num_scratch_slots, b->num_scratch_slots);
    assert_memory_equal(a->operations, b->operations, a->num_operations * sizeof *a->operations);
    assert_memory_equal(a->slots, b->slots, a->num_slots * sizeof *a->slots);
    assert_memory_equal(a->slot_chunk, b->slot_chunk, a->num_slots * sizeof *a->slot_chunk);
    assert_memory_equal(a->successors, b->successors, a->num_successors * sizeof *a->successors);
}

static void test_one_rank_alone(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(8);
    for (uint32_t kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
        struct pccl_schedule *schedule = sample_schedule(topology, (enum sample_kind)kind, 8, 2, 16, false, false);
        struct pccl_program *all[8], *one;
        assert_int_equal(pccl_programs_create(schedule, all, NULL), 0);
        for (uint32_t rank = 0; rank < 8; rank++) {
            assert_int_equal(pccl_program_create(schedule, rank, &one, NULL), 0);
            check_same(one, all[rank]);
            pccl_program_free(one);
        }
        free_programs(all, 8);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

static uint32_t count_kind(const struct pccl_program *program, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->num_operations; i++) {
        count += program->operations[i].kind == kind;
    }
    return count;
}

/* No copies but the rank's own block; scratch does not grow with the number of ranks. */
static void test_economy(void **state)
{
    (void)state;
    static const struct {
        enum sample_kind kind;
        uint32_t copies, scratch;
    } cases[] = {
        {SAMPLE_RING_ALLGATHER, 1, 0},  {SAMPLE_BRUCK_ALLGATHER, 1, 0},    {SAMPLE_DIRECT_ALLTOALL, 1, 0},
        {SAMPLE_CHAIN_BROADCAST, 0, 0}, {SAMPLE_BINOMIAL_BROADCAST, 0, 0}, {SAMPLE_RING_REDUCE_SCATTER, 0, 3},
        {SAMPLE_RING_ALLREDUCE, 0, 3},  {SAMPLE_DOUBLING_ALLREDUCE, 0, 2}, {SAMPLE_DISSEMINATION_BARRIER, 0, 0},
    };
    struct pccl_topology *topology = sample_topology(16);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pccl_schedule *schedule = sample_schedule(topology, cases[i].kind, 16, 1, 64, false, false);
        struct pccl_program *programs[16];
        assert_int_equal(pccl_programs_create(schedule, programs, NULL), 0);
        for (uint32_t rank = 0; rank < 16; rank++) {
            if (count_kind(programs[rank], PCCL_OP_COPY) > cases[i].copies ||
                programs[rank]->num_scratch_slots > cases[i].scratch) {
                fail_msg("%s: %u copies, %u scratch slots", sample_name(cases[i].kind),
                         count_kind(programs[rank], PCCL_OP_COPY), programs[rank]->num_scratch_slots);
            }
        }
        free_programs(programs, 16);
        pccl_schedule_free(schedule);
    }
    pccl_topology_free(topology);
}

static void test_star_barrier_is_linear(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(60);
    struct pccl_schedule *schedule = sample_schedule(topology, SAMPLE_STAR_BARRIER, 60, 1, 0, false, false);
    struct pccl_program *program;
    assert_int_equal(pccl_program_create(schedule, 0, &program, NULL), 0);
    assert_true(program->num_successors <= 2 * 59);
    pccl_program_free(program);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pccl_topology *topology = sample_topology(4);
    struct pccl_demand *demand = sample_demand(PCCL_BROADCAST, 3, 1, 8, false, false);
    struct pccl_schedule *schedule;
    struct pccl_program *programs[3];
    assert_int_equal(pccl_schedule_create(demand, topology, "relay", &schedule, NULL), 0);
    uint32_t link = sample_link(4, 1, 3), chunk = 0;
    uint32_t path = pccl_schedule_path(schedule, topology, &link, 1);
    assert_int_equal(pccl_schedule_add(schedule, 0, path, false, &chunk, 1), 0);
    assert_int_equal(pccl_programs_create(schedule, programs, NULL), PCCL_ERR_UNSUPPORTED);
    assert_null(programs[0]);
    assert_int_equal(pccl_program_create(schedule, 3, programs, NULL), PCCL_ERR_INVALID);
    pccl_schedule_free(schedule);
    demand = sample_demand(PCCL_BROADCAST, 4, 1, 8, false, false);
    assert_int_equal(pccl_schedule_create(demand, topology, "from nowhere", &schedule, NULL), 0);
    link = sample_link(4, 0, 3);
    path = pccl_schedule_path(schedule, topology, &link, 1);
    assert_int_equal(pccl_schedule_add(schedule, 0, path, false, &chunk, 1), 0);
    struct pccl_program *four[4];
    assert_int_equal(pccl_programs_create(schedule, four, NULL), PCCL_ERR_VERIFY);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_one_rank_alone),
        cmocka_unit_test(test_economy),
        cmocka_unit_test(test_star_barrier_is_linear),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
