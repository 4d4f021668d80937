/* Several groups at once: patterns that fall into parts, each a standard collective. */
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

#define MAX_DEVICES 64
#define MAX_CHUNKS 4096

/* A pattern of groups under construction; group g is ranks first[g] .. first[g + 1] - 1. */
struct groups {
    struct pccl_demand demand;
    struct pccl_chunk chunks[MAX_CHUNKS];
    uint32_t holders[MAX_DEVICES]; /* 0, 1, 2 ... */
    uint32_t devices[MAX_DEVICES];
};

static void begin(struct groups *groups, bool reduces)
{
    groups->demand = (struct pccl_demand){.collective = PCCL_CUSTOM,
                                          .pieces = 1,
                                          .reduces = reduces,
                                          .chunks = groups->chunks,
                                          .holders = groups->holders};
    for (uint32_t i = 0; i < MAX_DEVICES; i++) {
        groups->holders[i] = groups->devices[i] = i;
    }
}

/* Adds a group of the next ranks: the chunks of its collective, with those that stay at home only now and then. */
static void add_group(struct groups *groups, enum pccl_collective collective, uint32_t num_ranks, int64_t bytes,
                      bool with_home, bool cut)
{
    struct pccl_request request = {.collective = collective,
                                   .num_ranks = num_ranks,
                                   .devices = groups->holders,
                                   .root = pccl_collective_is_rooted(collective) ? num_ranks / 2 : 0,
                                   .bytes = bytes};
    struct pccl_demand *demand;
    uint32_t base = groups->demand.num_ranks;
    assert_int_equal(pccl_demand_create(&request, cut ? num_ranks : 1, &demand, NULL), 0);
    for (uint32_t c = 0; c < demand->num_chunks; c++) {
        struct pccl_chunk chunk = demand->chunks[c];
        bool stays = chunk.num_sources == 1 && chunk.num_targets == 1 && chunk.first_source == chunk.first_target;
        chunk.first_source += base;
        chunk.first_target += base;
        if (!stays || with_home) {
            assert_true(groups->demand.num_chunks < MAX_CHUNKS);
            groups->chunks[groups->demand.num_chunks++] = chunk;
        }
    }
    groups->demand.num_ranks += num_ranks;
    pccl_demand_free(demand);
}

static struct pccl_request request_of(struct groups *groups)
{
    groups->demand.num_holders = groups->demand.num_ranks;
    return (struct pccl_request){.collective = PCCL_CUSTOM,
                                 .num_ranks = groups->demand.num_ranks,
                                 .devices = groups->devices,
                                 .custom = &groups->demand};
}

/* The makespan and the bound of the best schedule, which is verified; 0 if there is none. */
static int64_t plan(const struct pccl_topology *topology, const struct pccl_request *request, const char *method,
                    int64_t *bound_ps, const char *what)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH, .method = method};
    struct pccl_result *result = NULL;
    struct pccl_bound bound;
    struct pccl_error error = {""};
    int status = pccl_synthesize(topology, request, &options, &result, &error);
    if (status == PCCL_ERR_UNSUPPORTED && method != NULL) {
        return 0;
    }
    status = status == 0 ? pccl_verify_schedule(topology, result->schedule, request->relays, &error) : status;
    status = status == 0 ? pccl_bound_compute(topology, request, &bound, &error) : status;
    if (status != 0) {
        fail_msg("%s, %s: %s", topology->name, what, error.message);
    }
    int64_t makespan_ps = result->makespan_ps;
    if (bound.bound_ps > makespan_ps) {
        fail_msg("%s, %s: bound %lld ps (%s), finish %lld ps", topology->name, what, (long long)bound.bound_ps,
                 bound.argument, (long long)makespan_ps);
    }
    *bound_ps = bound.bound_ps;
    pccl_result_free(result);
    return makespan_ps;
}

static const enum pccl_collective collectives[] = {
    PCCL_ALLGATHER, PCCL_ALLTOALL, PCCL_BROADCAST, PCCL_GATHER,         PCCL_SCATTER,
    PCCL_ALLREDUCE, PCCL_REDUCE,   PCCL_REDUCE_SCATTER,
};
#define NUM_COLLECTIVES (sizeof collectives / sizeof collectives[0])

/* All rows of a grid at once take a tenth more than no schedule can do without, at most. */
static void test_all_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t rows, columns;
    } grids[] = {{"mesh:3x5:unit", 3, 5}, {"torus:3x5:unit", 3, 5}, {"mesh:4x4:unit", 4, 4}, {"torus:5x6:unit", 5, 6}};
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        struct pccl_topology *topology = open_topology(grids[g].name);
        for (size_t c = 0; c < NUM_COLLECTIVES; c++) {
            static struct groups groups;
            begin(&groups, pccl_collective_is_reduction(collectives[c]));
            for (uint32_t row = 0; row < grids[g].rows; row++) {
                add_group(&groups, collectives[c], grids[g].columns, 1 << 20, false, collectives[c] == PCCL_ALLREDUCE);
            }
            struct pccl_request request = request_of(&groups);
            const char *name = pccl_collective_name(collectives[c]);
            int64_t bound_ps, makespan_ps = plan(topology, &request, NULL, &bound_ps, name);
            if (makespan_ps > bound_ps + bound_ps / 10) {
                fail_msg("%s, %s in each row: finish %lld ps, bound %lld ps", grids[g].name, name,
                         (long long)makespan_ps, (long long)bound_ps);
            }
        }
        pccl_topology_free(topology);
    }
}

/* Groups of any size, each with a collective of its own, anywhere: what the parts make together is verified. */
static void test_random_groups(void **state)
{
    (void)state;
    static const char *const topologies[] = {"mesh:4x5",          "torus:4x4x2:unit", "hypercube:4", "star:17",
                                             "fattree:4x5:unit", "full:12",          "ring:14"};
    uint32_t num_planned = 0;
    for (uint64_t seed = 0; seed < 42; seed++) {
        struct pccl__random random = {seed};
        struct pccl_topology *topology = open_topology(topologies[seed % (sizeof topologies / sizeof topologies[0])]);
        bool reduces = pccl__random_below(&random, 2) == 0;
        static struct groups groups;
        char what[64];
        begin(&groups, reduces);
        pccl__random_shuffle(&random, groups.devices, topology->num_devices);
        while (groups.demand.num_ranks < topology->num_devices / 2) {
            uint32_t c = reduces ? 5 + pccl__random_below(&random, 3) : pccl__random_below(&random, 5);
            bool one_block = collectives[c] == PCCL_ALLREDUCE || collectives[c] == PCCL_REDUCE ||
                             collectives[c] == PCCL_BROADCAST;
            add_group(&groups, collectives[c], 2 + pccl__random_below(&random, 4),
                      1 + (int64_t)pccl__random_below(&random, 100000), pccl__random_below(&random, 2) == 0,
                      one_block && pccl__random_below(&random, 2) == 0);
        }
        struct pccl_request request = request_of(&groups);
        int64_t bound_ps;
        request.relays = pccl__random_below(&random, 2) == 0;
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        num_planned += plan(topology, &request, "parts", &bound_ps, what) > 0;
        if (seed % 4 == 0) {
            plan(topology, &request, NULL, &bound_ps, what);
        }
        pccl_topology_free(topology);
    }
    /* A pattern of one group has no parts. */
    assert_true(num_planned >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_rows), cmocka_unit_test(test_random_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
