/* Multicast trees: random patterns on random devices, spreading and reducing, with and without relays. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "open.h"
#include "pccl/synth.h"

#define MAX_RANKS 9
#define MAX_CHUNKS 12

static const char *const topologies[] = {
    "mesh:3x4:routing=none", "torus:3x5:routing=none", "ring:9:routing=none", "hypercube:4:routing=none", "star:10", "full:9",
    "fattree:3x4", "boxes:3x4", "dragonfly:3x2x2", "mesh:3x4",
};

struct pattern {
    struct pccl_demand demand;
    struct pccl_chunk chunks[MAX_CHUNKS];
    uint32_t holders[MAX_CHUNKS * 2 * MAX_RANKS];
    uint32_t devices[64];
};

/* Some ranks, ascending, at least one. Returns how many. */
static uint32_t draw_ranks(struct pccl__random *random, uint32_t num_ranks, uint32_t *ranks)
{
    uint32_t count = 0, certain = pccl__random_below(random, num_ranks);
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        if (rank == certain || pccl__random_below(random, 3) == 0) {
            ranks[count++] = rank;
        }
    }
    return count;
}

static struct pccl_request draw_request(struct pccl__random *random, uint32_t num_devices, struct pattern *pattern)
{
    uint32_t num_ranks = 2 + pccl__random_below(random, (num_devices < MAX_RANKS ? num_devices : MAX_RANKS) - 1);
    struct pccl_demand *demand = &pattern->demand;
    *demand = (struct pccl_demand){.collective = PCCL_CUSTOM, .num_ranks = num_ranks, .pieces = 1};
    for (uint32_t d = 0; d < num_devices; d++) {
        pattern->devices[d] = d;
    }
    pccl__random_shuffle(random, pattern->devices, num_devices);
    demand->reduces = pccl__random_below(random, 2) == 0;
    demand->num_chunks = 1 + pccl__random_below(random, MAX_CHUNKS);
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        struct pccl_chunk *chunk = &pattern->chunks[c];
        chunk->bytes = pccl__random_below(random, 100000);
        chunk->first_source = demand->num_holders;
        chunk->num_sources = draw_ranks(random, num_ranks, pattern->holders + chunk->first_source);
        chunk->first_target = chunk->first_source + chunk->num_sources;
        chunk->num_targets = draw_ranks(random, num_ranks, pattern->holders + chunk->first_target);
        demand->num_holders = chunk->first_target + chunk->num_targets;
        if (!demand->reduces) {
            chunk->num_sources = 1; /* the rest of the pool is unused */
        }
    }
    demand->chunks = pattern->chunks;
    demand->holders = pattern->holders;
    return (struct pccl_request){.collective = PCCL_CUSTOM, .num_ranks = num_ranks, .devices = pattern->devices,
                                 .custom = demand};
}

static void check(const struct pccl_topology *topology, const struct pccl_request *request, uint64_t seed)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_FIRST_USE,
                                   .method = seed % 2 == 0 ? "multicast" : "multicast:priced"};
    struct pccl_result *result = NULL;
    struct pccl_error error = {""};
    int status = pccl_synthesize(topology, request, &options, &result, &error);
    /* Without relays members may be out of each other's reach, or the topology has no arcs between them. */
    if (status == PCCL_ERR_UNSUPPORTED && !request->relays) {
        return;
    }
    if (status == 0) {
        status = pccl_verify_schedule(topology, result->schedule, request->relays, &error);
    }
    if (status != 0) {
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, topology->name, error.message);
    }
    pccl_result_free(result);
}

static void test_patterns(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        for (size_t t = 0; t < sizeof topologies / sizeof topologies[0]; t++) {
            struct pccl__random random = {seed};
            struct pattern pattern;
            struct pccl_topology *topology = open_topology(topologies[t]);
            struct pccl_request request = draw_request(&random, topology->num_devices, &pattern);
            check(topology, &request, seed);
            request.relays = true;
            check(topology, &request, seed);
            pccl_topology_free(topology);
        }
    }
}

/* Standard collectives of far-apart members that only relays join. */
static void test_relayed_groups(void **state)
{
    (void)state;
    static const enum pccl_collective collectives[] = {PCCL_ALLGATHER, PCCL_ALLREDUCE, PCCL_BARRIER, PCCL_BROADCAST,
                                                       PCCL_REDUCE,    PCCL_REDUCE_SCATTER};
    static const uint32_t corners[] = {0, 3, 12, 15, 5};
    struct pccl_topology *topology = open_topology("mesh:4x4:routing=none");
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        for (uint32_t num_ranks = 2; num_ranks <= 5; num_ranks++) {
            struct pccl_request request = {.collective = collectives[i], .num_ranks = num_ranks, .devices = corners,
                                           .root = num_ranks - 1, .bytes = 12345, .relays = true};
            check(topology, &request, 0);
        }
    }
    pccl_topology_free(topology);
}

/* The tree of a broadcast on a line of 5 from one end: every link once, so a block of 8 pieces takes 8 + 3 rounds. */
static void test_pipeline(void **state)
{
    (void)state;
    static const uint32_t devices[] = {0, 1, 2, 3, 4};
    struct pccl_topology *topology = open_topology("mesh:5:unit:routing=none");
    struct pccl_request request = {.collective = PCCL_BROADCAST, .num_ranks = 5, .devices = devices, .bytes = 8 << 10};
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH, .method = "multicast"};
    struct pccl_result *result = NULL;
    struct pccl_error error = {""};
    if (pccl_synthesize(topology, &request, &options, &result, &error) != 0) {
        fail_msg("%s", error.message);
    }
    bool found = false;
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        if (result->candidates[i].pieces == 8) {
            assert_int_equal(result->candidates[i].makespan_ps, 11 << 10);
            found = true;
        }
    }
    assert_true(found);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

/* Two broadcasts among devices scattered over a torus: trees that keep out of each other's way use all links of the
 * roots at once. */
static void test_scattered_groups(void **state)
{
    (void)state;
    static const uint32_t devices[] = {0, 7, 14, 21, 28, 3, 11, 19, 30, 35};
    static const uint32_t holders[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const struct pccl_chunk chunks[] = {{1 << 20, 0, 1, 0, 5}, {1 << 20, 5, 1, 5, 5}};
    static const struct pccl_demand pattern = {.collective = PCCL_CUSTOM, .num_ranks = 10, .pieces = 1, .num_chunks = 2,
                                               .chunks = chunks, .num_holders = 10, .holders = holders};
    struct pccl_topology *topology = open_topology("torus:6x6:unit");
    struct pccl_request request = {.collective = PCCL_CUSTOM, .num_ranks = 10, .devices = devices, .relays = true,
                                   .custom = &pattern};
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    struct pccl_result *result = NULL;
    struct pccl_bound bound;
    struct pccl_error error = {""};
    if (pccl_synthesize(topology, &request, &options, &result, &error) != 0 ||
        pccl_verify_schedule(topology, result->schedule, true, &error) != 0 ||
        pccl_bound_compute(topology, &request, &bound, &error) != 0) {
        fail_msg("%s", error.message);
    }
    assert_true(result->makespan_ps >= bound.bound_ps);
    assert_true(result->makespan_ps <= bound.bound_ps * 3 / 2);
    pccl_result_free(result);
    pccl_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_relayed_groups),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_scattered_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
