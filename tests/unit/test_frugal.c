/* Frugal synthesis: plans with as few messages as can be. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "pccl/synth.h"
#include "plan.h"

/* Messages without which a collective cannot be done among n ranks by any method of the portfolio: one into each rank
 * (out of each), twice that where all must hear of all; Bruck's for all-to-alls. */
static uint32_t fewest_messages(enum pccl_collective collective, uint32_t n)
{
    uint32_t rounds = 0;
    while (1u << rounds < n) {
        rounds++;
    }
    switch (collective) {
    case PCCL_ALLTOALL:
        return n * rounds;
    case PCCL_ALLGATHER:
    case PCCL_ALLREDUCE:
    case PCCL_REDUCE_SCATTER:
    case PCCL_BARRIER:
        return 2 * (n - 1);
    default:
        return n - 1;
    }
}

static struct pccl_result *synthesize_frugally(const struct pccl_topology *topology, const struct pccl_request *request)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE, .frugal = true};
    struct pccl_result *result;
    struct pccl_error error;
    if (pccl_synthesize(topology, request, &options, &result, &error) != 0) {
        fail_msg("%s, %s: %s", topology->name, pccl_collective_name(request->collective), error.message);
    }
    return result;
}

/* As few messages as can be, on any topology, for any size and number of ranks; right, and the same every time. */
static void test_fewest_messages(void **state)
{
    (void)state;
    static const char *const networks[] = {"star:3", "star:16", "torus:4x4", "mesh:3x5", "fattree:4x4:taper=4",
                                           "ring:7", "star:64"};
    static const enum pccl_collective collectives[] = {
        PCCL_ALLGATHER, PCCL_ALLREDUCE, PCCL_ALLTOALL, PCCL_BARRIER, PCCL_BROADCAST, PCCL_GATHER, PCCL_REDUCE,
        PCCL_REDUCE_SCATTER, PCCL_SCAN, PCCL_EXSCAN, PCCL_SCATTER};
    static const int64_t sizes[] = {8, 1024, 1 << 20};
    for (size_t t = 0; t < sizeof networks / sizeof *networks; t++) {
        struct pccl_topology *topology = open_topology(networks[t]);
        for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++) {
            uint32_t n = topology->num_devices, fewest = fewest_messages(collectives[c], n);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                struct pccl_request request = plan_request(collectives[c], n, sizes[s]);
                struct pccl_result *result = synthesize_frugally(topology, &request);
                struct pccl_result *again = synthesize_frugally(topology, &request);
                assert_true(result->schedule->num_messages <= fewest);
                assert_int_equal(pccl_schedule_digest(result->schedule), pccl_schedule_digest(again->schedule));
                assert_int_equal(pccl_verify_schedule(topology, result->schedule, false, NULL), 0);
                assert_null(replay(result->schedule, n));
                pccl_result_free(result);
                pccl_result_free(again);
            }
        }
        pccl_topology_free(topology);
    }
}

/* Of a large group's prospects none is planned message by message where another needs as few. */
static void test_work(void **state)
{
    struct pccl_topology *topology = open_topology("torus:6x4");
    struct pccl_request request = plan_request(PCCL_GATHER, 24, 8);
    struct pccl_result *result = synthesize_frugally(topology, &request);
    uint32_t num_spared = 0;
    (void)state;
    assert_int_equal(result->schedule->num_messages, 23);
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        const struct pccl_candidate *candidate = &result->candidates[i];
        bool is_planned =
            strncmp(candidate->method, "circuits", 8) == 0 || strncmp(candidate->method, "unicast", 7) == 0;
        assert_true(!is_planned || candidate->makespan_ps < 0);
        num_spared += is_planned;
    }
    assert_true(num_spared > 0);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

/* Among those with as few messages: few steps for few bytes, short queues for many. */
static void test_shapes(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:16");
    struct pccl_request request = plan_request(PCCL_BROADCAST, 16, 8);
    struct pccl_result *small = synthesize_frugally(topology, &request);
    request.bytes = 1 << 20;
    struct pccl_result *large = synthesize_frugally(topology, &request);
    assert_string_equal(small->schedule->method, "flat");
    assert_true(large->schedule->messages[large->schedule->num_messages - 1].step > 0);
    pccl_result_free(small);
    pccl_result_free(large);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewest_messages),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
