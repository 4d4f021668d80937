/* How finely blocks are cut: at a first use no piece is so small that headers, which the model does not know, count. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>

#include <cmocka.h>

#include "plan.h"

#define SLOW ":bandwidth=1.2MB/s:latency=7us:overhead=10us" /* where small pieces look best */

/* Pieces of a block of a schedule for 16 ranks, by a method that may cut as it likes. */
static uint32_t count_pieces(const char *network, enum pccl_collective collective, int64_t bytes,
                             enum pccl_effort effort)
{
    struct pccl_topology *topology = open_topology(network);
    struct pccl_options options = {.effort = effort,
                                   .method = collective == PCCL_ALLTOALL ? "rounds" : "matching"};
    struct pccl_request request = plan_request(collective, 16, bytes);
    struct pccl_error error = {""};
    struct pccl_result *result;
    if (pccl_synthesize(topology, &request, &options, &result, &error) != 0) {
        fail_msg("%s: %s", network, error.message);
    }
    uint32_t pieces = result->schedule->demand->pieces;
    pccl_result_free(result);
    pccl_topology_free(topology);
    return pieces;
}

static const char *const networks[] = {"star:16" SLOW, "torus:4x4" SLOW, "fattree:4x4:spines=1" SLOW};

static void test_shares(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        for (int64_t bytes = 4096; bytes <= INT64_C(1) << 20; bytes *= 4) {
            uint32_t blocks = count_pieces(networks[i], PCCL_ALLGATHER, bytes, PCCL_EFFORT_FIRST_USE);
            uint32_t shares = count_pieces(networks[i], PCCL_ALLREDUCE, 16 * bytes, PCCL_EFFORT_FIRST_USE);
            assert_true(bytes / blocks >= 4096);
            assert_true(16 * bytes / shares >= 4096);
        }
    }
}

/* Where one rank has all, smaller ones fill the way to the last ranks sooner. */
static void test_broadcast(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        for (int64_t bytes = 4096; bytes <= INT64_C(1) << 18; bytes *= 8) {
            assert_true(bytes / count_pieces(networks[i], PCCL_BROADCAST, bytes, PCCL_EFFORT_FIRST_USE) >= 1024);
        }
        assert_true((1 << 17) / count_pieces(networks[i], PCCL_BROADCAST, 1 << 17, PCCL_EFFORT_FIRST_USE) < 4096);
    }
}

/* Slices end there as well, where messages take ever so much longer than what lies between them. */
static void test_slices(void **state)
{
    (void)state;
    static const char *const slow[] = {"star:16:bandwidth=1.2MB/s", "star:16:bandwidth=1B/s:latency=0:overhead=0",
                                       "fattree:4x4:spines=1:bandwidth=1.2MB/s"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        for (int64_t bytes = 1; bytes <= 8191; bytes = bytes * 8 + 7) {
            assert_int_equal(count_pieces(slow[i], PCCL_ALLTOALL, bytes, PCCL_EFFORT_FIRST_USE), 1);
        }
        assert_int_equal(count_pieces(slow[i], PCCL_ALLTOALL, 16384, PCCL_EFFORT_FIRST_USE), 2);
        assert_int_equal(count_pieces(slow[i], PCCL_ALLTOALL, 255, PCCL_EFFORT_THOROUGH), 1);
        assert_true(1024 / count_pieces(slow[i], PCCL_ALLTOALL, 1024, PCCL_EFFORT_THOROUGH) >= 128);
    }
}

/* Who has time gets what the model likes best. */
static void test_thorough(void **state)
{
    (void)state;
    assert_true(16384 / count_pieces("torus:4x4" SLOW, PCCL_ALLGATHER, 16384, PCCL_EFFORT_THOROUGH) < 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_thorough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
