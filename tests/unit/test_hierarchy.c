/* Plans in levels: the programs of all ranks fit together and do what is asked, wherever the ranks sit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#include "algorithms/hierarchy.h"
#include "base/random.h"
#include "pccl/place.h"
#include "pccl/plan.h"
#include "pccl/simulate.h"
#include "pccl/verify.h"
#include "sanitized.h"

#define MAX_RANKS 96

/* --- jobs --------------------------------------------------------------------------------------------------------- */

/* A fabric with ranks on it. */
struct job {
    const char *fabric;
    uint32_t sizes[12]; /* ranks on each host */
    enum { BY_SLOT, BY_NODE, SHUFFLED } order;
};

struct placed {
    struct pccl_topology *topology;
    uint32_t *devices;
    uint32_t num_ranks;
    char name[96];
};

/* The hosts of all ranks, slot by slot, and the place of each slot: two packages of two L3 each, four ranks in each.
 * Where ranks come by slot, two neighbours share a processor. */
static uint32_t list_slots(const struct job *job, struct pccl_place *slots)
{
    uint32_t count = 0;
    for (uint32_t host = 0; host < 12; host++) {
        for (uint32_t i = 0; i < job->sizes[host]; i++) {
            int32_t package = (int32_t)(i / 8 % 2);
            uint32_t processor = job->order == BY_SLOT ? i / 2 + 1 : 0;
            slots[count++] = (struct pccl_place){host, package, package, (int32_t)(i / 4), -1, processor};
        }
    }
    return count;
}

static void shuffle(struct pccl_place *places, uint32_t count, uint64_t seed)
{
    struct pccl__random random = {seed};
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = pccl__random_below(&random, i);
        struct pccl_place place = places[i - 1];
        places[i - 1] = places[j];
        places[j] = place;
    }
}

/* Rank by rank over the hosts in turn. */
static void deal(const struct job *job, struct pccl_place *places, uint32_t count)
{
    struct pccl_place slots[MAX_RANKS];
    memcpy(slots, places, count * sizeof *slots);
    uint32_t used = 0;
    for (uint32_t round = 0; used < count; round++) {
        for (uint32_t host = 0, first = 0; host < 12; first += job->sizes[host++]) {
            if (round < job->sizes[host]) {
                places[used++] = slots[first + round];
            }
        }
    }
}

static struct placed place(const struct job *job)
{
    static const char *const orders[] = {"by slot", "by node", "shuffled"};
    struct placed placed = {0};
    struct pccl_topology *fabric;
    struct pccl_place places[MAX_RANKS];
    struct pccl_error error = {{0}};
    placed.num_ranks = list_slots(job, places);
    if (job->order == SHUFFLED) {
        shuffle(places, placed.num_ranks, 7);
    } else if (job->order == BY_NODE) {
        deal(job, places, placed.num_ranks);
    }
    if (pccl_topology_create(job->fabric, &fabric, &error) != 0 ||
        pccl_topology_place(fabric, places, placed.num_ranks, &placed.topology, &placed.devices, &error) != 0) {
        fail_msg("%s: %s", job->fabric, error.message);
    }
    pccl_topology_free(fabric);
    snprintf(placed.name, sizeof placed.name, "%s, %u ranks %s", job->fabric, placed.num_ranks, orders[job->order]);
    return placed;
}

static void unplace(struct placed *placed)
{
    pccl_topology_free(placed->topology);
    free(placed->devices);
}

static const struct job jobs[] = {
    {"star:4", {4, 4, 4, 4}, BY_SLOT},
    {"star:4", {4, 4, 4, 4}, BY_NODE},
    {"star:4", {4, 4, 4, 4}, SHUFFLED},
    {"star:3", {5, 3, 4}, SHUFFLED},
    {"star:3", {1, 7, 2}, BY_SLOT},
    {"star:2", {9, 8}, BY_NODE},
    {"torus:2x3", {3, 3, 3, 3, 3, 3}, SHUFFLED},
    {"torus:2x3", {3, 0, 1, 6, 2, 3}, BY_SLOT},
    {"fattree:2x4:taper=2", {2, 3, 2, 3, 2, 3, 2, 3}, BY_NODE},
    {"star:5", {16, 15, 17, 16, 16}, SHUFFLED},
    {"star:7", {1, 1, 1, 1, 1, 1, 1}, SHUFFLED},
    {"star:2", {6, 0}, SHUFFLED},
};
#define NUM_JOBS (sizeof jobs / sizeof jobs[0])

/* --- everything fits ---------------------------------------------------------------------------------------------- */

static void check_programs(const struct pccl_request *request, uint32_t pieces, struct pccl_program **programs,
                           const char *what)
{
    struct pccl_demand *demand;
    struct pccl_error error = {{0}};
    if (pccl_demand_create(request, pieces, &demand, &error) != 0 ||
        pccl_verify_programs(demand, (const struct pccl_program *const *)programs, &error) != 0) {
        fail_msg("%s: %s", what, error.message);
    }
    pccl_demand_free(demand);
}

static void describe(char *text, size_t size, const struct placed *placed, const struct pccl_request *request,
                     const char *how)
{
    snprintf(text, size, "%s: %s of %lld bytes, root %u%s, %s", placed->name,
             pccl_collective_name(request->collective), (long long)request->bytes, request->root,
             request->ordered ? ", in rank order" : "", how);
}

/* The plans that ranks make, each by itself; of large groups some only, since each plans the whole. */
static void check_plans(const struct placed *placed, const struct pccl_request *request)
{
    struct pccl_plan *plans[MAX_RANKS];
    struct pccl_program *programs[MAX_RANKS];
    struct pccl_error error = {{0}};
    char text[256];
    for (uint32_t rank = 0; rank < placed->num_ranks; rank++) {
        describe(text, sizeof text, placed, request, "plan");
        if (pccl_plan_create(placed->topology, request, rank, &plans[rank], &error) != 0) {
            fail_msg("%s: %s", text, error.message);
        }
        programs[rank] = plans[rank]->program;
        assert_int_equal(plans[rank]->makespan_ps, plans[0]->makespan_ps);
        assert_int_equal(plans[rank]->pieces, plans[0]->pieces);
        assert_string_equal(plans[rank]->method, plans[0]->method);
    }
    describe(text, sizeof text, placed, request, plans[0]->method);
    check_programs(request, plans[0]->pieces, programs, text);
    for (uint32_t rank = 0; rank < placed->num_ranks; rank++) {
        pccl_plan_free(plans[rank]);
    }
}

/* One split of the data over the levels, whether or not it is the best; all zero: what is chosen. */
struct split {
    uint32_t rails, slices, window;
};

static void check_split(const struct placed *placed, const struct pccl_request *request, struct split split)
{
    struct pccl__hierarchy hierarchy;
    struct pccl_program *programs[MAX_RANKS];
    struct pccl_error error = {{0}};
    char how[96], text[256];
    int status = pccl__hierarchy_open(&hierarchy, placed->topology, request, &error);
    uint32_t rails = split.rails > hierarchy.smallest_node ? hierarchy.smallest_node : split.rails;
    snprintf(how, sizeof how, "%u rails, %u slices, window %u", rails, split.slices, split.window);
    describe(text, sizeof text, placed, request, how);
    if (status == 0) {
        status = rails == 0 ? pccl__hierarchy_plan(&hierarchy, true)
                            : pccl__hierarchy_plan_split(&hierarchy, rails, split.slices, split.window);
    }
    for (uint32_t rank = 0; rank < placed->num_ranks && status == 0; rank++) {
        status = pccl__levels_program(&hierarchy.levels, rank, &programs[rank], &error);
    }
    if (status != 0) {
        fail_msg("%s: %s", text, error.message);
    }
    check_programs(request, hierarchy.levels.demand.pieces, programs, text);
    for (uint32_t rank = 0; rank < placed->num_ranks; rank++) {
        pccl_program_free(programs[rank]);
    }
    pccl__hierarchy_close(&hierarchy);
}

static void check_splits(const struct placed *placed, const struct pccl_request *request)
{
    static const struct split splits[] = {{0, 0, 0},  {1, 1, 1}, {1, 1, 1000}, {1, 3, 2},
                                          {99, 1, 1}, {99, 2, 1000}, {2, 2, 2}};
    bool has_rails = pccl__hierarchy_has_rails(request->collective);
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        if (splits[i].rails <= 1 || has_rails) {
            check_split(placed, request, splits[i]);
        }
    }
}

/* Under a sanitizer each collective has one of the sizes. */
static void check_request(const struct placed *placed, struct pccl_request *request)
{
    static const int64_t sizes[] = {8, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (is_sanitized && i != request->collective % 2) {
            continue;
        }
        request->bytes = request->collective == PCCL_BARRIER ? 0 : sizes[i];
        if (request->collective == PCCL_ALLTOALL || placed->num_ranks < 12) {
            check_plans(placed, request);
        }
        if (request->collective != PCCL_ALLTOALL) {
            check_splits(placed, request);
        }
    }
}

static void test_all_ranks_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_JOBS; i++) {
        struct placed placed = place(&jobs[i]);
        for (int collective = 0; collective < PCCL_NUM_COLLECTIVES; collective++) {
            if (collective != PCCL_ALLTOALL && !pccl__hierarchy_serves((enum pccl_collective)collective)) {
                continue;
            }
            struct pccl_request request = {
                .collective = (enum pccl_collective)collective,
                .num_ranks = placed.num_ranks,
                .devices = placed.devices,
            };
            for (int ordered = 0; ordered <= pccl_collective_is_reduction(request.collective); ordered++) {
                request.ordered = ordered != 0;
                check_request(&placed, &request);
                if (pccl_collective_is_rooted(request.collective)) {
                    request.root = placed.num_ranks * 2 / 3;
                    check_request(&placed, &request);
                    request.root = 0;
                }
            }
        }
        unplace(&placed);
    }
}

/* --- forecasts ---------------------------------------------------------------------------------------------------- */

static int64_t simulate_levels(const struct pccl__hierarchy *hierarchy)
{
    struct pccl__problem problem;
    struct pccl_schedule *schedule;
    struct pccl_error error = {{0}};
    struct pccl_simulation simulation = {0};
    int status = pccl__problem_open(&problem, hierarchy->topology, hierarchy->request, NULL, &error);
    problem.method = "levels";
    status = status == 0 ? pccl__levels_write(&hierarchy->levels, &problem, &schedule, &error) : status;
    if (status == 0) {
        status = pccl_verify_schedule(hierarchy->topology, schedule, false, &error);
        status = status == 0 ? pccl_simulate(hierarchy->topology, schedule, &simulation, &error) : status;
        pccl_schedule_free(schedule);
    }
    pccl__problem_close(&problem);
    if (status != 0) {
        fail_msg("%s", error.message);
    }
    return simulation.makespan_ps;
}

/* Where levels do not overlap, the forecast is within an eighth of the simulation of all messages. */
static void check_forecast(const struct placed *placed, const struct pccl_request *request)
{
    struct pccl__hierarchy hierarchy;
    struct pccl_error error = {{0}};
    if (pccl__hierarchy_open(&hierarchy, placed->topology, request, &error) != 0 ||
        pccl__hierarchy_plan(&hierarchy, false) != 0) {
        fail_msg("%s: %s", placed->name, error.message);
    }
    int64_t simulated_ps = simulate_levels(&hierarchy), forecast_ps = hierarchy.makespan_ps;
    if (forecast_ps < simulated_ps - simulated_ps / 8 || forecast_ps > simulated_ps + simulated_ps / 8) {
        fail_msg("%s: %s of %lld bytes: forecast %lld ps, simulated %lld ps", placed->name,
                 pccl_collective_name(request->collective), (long long)request->bytes, (long long)forecast_ps,
                 (long long)simulated_ps);
    }
    pccl__hierarchy_close(&hierarchy);
}

static void test_forecasts(void **state)
{
    (void)state;
    static const struct job forecast_jobs[] = {
        {"star:4", {8, 8, 8, 8}, SHUFFLED},
        {"fattree:2x4:taper=2", {4, 4, 4, 4, 4, 4, 4, 4}, BY_NODE},
    };
    for (size_t i = 0; i < sizeof forecast_jobs / sizeof forecast_jobs[0]; i++) {
        struct placed placed = place(&forecast_jobs[i]);
        for (int collective = 0; collective < PCCL_NUM_COLLECTIVES; collective++) {
            struct pccl_request request = {
                .collective = (enum pccl_collective)collective,
                .num_ranks = placed.num_ranks,
                .devices = placed.devices,
            };
            for (request.bytes = 8; request.bytes <= 32768 && pccl__hierarchy_serves(request.collective);
                 request.bytes *= 64) {
                check_forecast(&placed, &request);
            }
        }
        unplace(&placed);
    }
}

/* --- many ranks --------------------------------------------------------------------------------------------------- */

#define NODES 64
#define PER_NODE 64

/* 64 nodes of 64 ranks, or of 63, 64 and 65 in turn. */
static struct placed place_many(bool uneven, bool shuffled)
{
    struct placed placed = {0};
    struct pccl_topology *fabric;
    struct pccl_error error = {{0}};
    struct pccl_place *places = malloc(NODES * (PER_NODE + 1) * sizeof *places);
    for (uint32_t host = 0; host < NODES; host++) {
        uint32_t size = PER_NODE + (uneven ? host % 3 : 1) - 1;
        for (uint32_t i = 0; i < size; i++) {
            int32_t package = (int32_t)(2 * i / size), l3 = (int32_t)(8 * i / size);
            places[placed.num_ranks++] = (struct pccl_place){host, package, package, l3, -1, 0};
        }
    }
    if (shuffled) {
        shuffle(places, placed.num_ranks, 11);
    }
    if (pccl_topology_create("fattree:8x8:taper=2", &fabric, &error) != 0 ||
        pccl_topology_place(fabric, places, placed.num_ranks, &placed.topology, &placed.devices, &error) != 0) {
        fail_msg("%s", error.message);
    }
    pccl_topology_free(fabric);
    free(places);
    return placed;
}

static int64_t forecast_many(const struct placed *placed, enum pccl_collective collective, int64_t bytes)
{
    struct pccl_request request = {
        .collective = collective, .num_ranks = placed->num_ranks, .devices = placed->devices, .bytes = bytes};
    struct pccl_plan *plan;
    struct pccl_error error = {{0}};
    if (pccl_plan_create(placed->topology, &request, placed->num_ranks / 3, &plan, &error) != 0) {
        fail_msg("%s: %s", pccl_collective_name(collective), error.message);
    }
    /* Programs stay within a few operations for each other rank, however large the group is. */
    assert_true(plan->program->num_operations <= 8 * placed->num_ranks);
    assert_true(plan->program->num_slots <= 64 * placed->num_ranks);
    int64_t makespan_ps = plan->makespan_ps;
    pccl_plan_free(plan);
    return makespan_ps;
}

/* The next size that is tried. Roots matter most for long vectors. */
static int64_t next_bytes(enum pccl_collective collective, int64_t bytes)
{
    bool casts = collective == PCCL_BROADCAST || collective == PCCL_REDUCE;
    return bytes == 64 ? 65536 : bytes == 65536 && casts ? 1 << 20 : 0;
}

/* The numbers of the ranks, and with them the seat of the root, and unequal nodes make hardly any difference. */
static void test_many_ranks(void **state)
{
    (void)state;
    struct placed even = place_many(false, false), shuffled = place_many(false, true), uneven = place_many(true, true);
    for (int i = 0; i < PCCL_NUM_COLLECTIVES; i++) {
        enum pccl_collective collective = (enum pccl_collective)i;
        bool rooted = pccl_collective_is_rooted(collective), served = pccl__hierarchy_serves(collective);
        for (int64_t bytes = served || i == PCCL_ALLTOALL ? 64 : 0; bytes > 0; bytes = next_bytes(collective, bytes)) {
            int64_t ps = forecast_many(&even, collective, bytes), margin_ps = rooted ? ps / 10 : 0;
            int64_t shuffled_ps = forecast_many(&shuffled, collective, bytes);
            int64_t uneven_ps = forecast_many(&uneven, collective, bytes);
            if (shuffled_ps < ps - margin_ps || shuffled_ps > ps + margin_ps || uneven_ps > ps + ps / 8) {
                fail_msg("%s of %lld bytes: by slot %lld ps, shuffled %lld ps, unequal nodes %lld ps",
                         pccl_collective_name(collective), (long long)bytes, (long long)ps, (long long)shuffled_ps,
                         (long long)uneven_ps);
            }
        }
    }
    unplace(&even);
    unplace(&shuffled);
    unplace(&uneven);
}

/* Where only the root and a rank know the size of its block: a message between the two, or a copy. */
static void test_direct_star(void **state)
{
    (void)state;
    struct placed placed = place(&jobs[3]);
    struct pccl_error error = {{0}};
    for (int gathers = 0; gathers < 2; gathers++) {
        struct pccl_request request = {.collective = gathers ? PCCL_GATHER : PCCL_SCATTER, .bytes = 4096, .root = 5,
                                       .num_ranks = placed.num_ranks, .devices = placed.devices, .direct = true};
        uint32_t at_root = gathers ? PCCL_OP_RECEIVE : PCCL_OP_SEND;
        uint32_t elsewhere = gathers ? PCCL_OP_SEND : PCCL_OP_RECEIVE;
        for (uint32_t rank = 0; rank < placed.num_ranks; rank++) {
            struct pccl_plan *plan;
            bool is_root = rank == request.root;
            assert_int_equal(pccl_plan_create(placed.topology, &request, rank, &plan, &error), 0);
            assert_int_equal(plan->program->num_operations, is_root ? placed.num_ranks : 1);
            assert_int_equal(plan->pieces, 1);
            for (uint32_t i = 0; i < plan->program->num_operations; i++) {
                const struct pccl_operation *operation = &plan->program->operations[i];
                uint32_t block = PCCL_SLOT_INDEX(plan->program->slots[operation->first_slot]);
                bool is_copy = operation->kind == PCCL_OP_COPY;
                assert_true(is_copy ? is_root : operation->kind == (is_root ? at_root : elsewhere));
                assert_true(is_copy || operation->peer == (is_root ? block : request.root));
            }
            pccl_plan_free(plan);
        }
    }
    unplace(&placed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ranks_together),
        cmocka_unit_test(test_forecasts),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_direct_star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
