/* Lower bounds: values worked out by hand, the tightest cut against all subsets of small random graphs, and never above
 * what any schedule takes in the simulator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "open.h"
#include "pccl/synth.h"
#include "samples.h"

static uint32_t everyone[1100];

static struct pccl_request request_of(enum pccl_collective collective, const struct pccl_topology *topology,
                                      int64_t bytes)
{
    return (struct pccl_request){
        .collective = collective, .num_ranks = topology->num_devices, .devices = everyone, .bytes = bytes};
}

static struct pccl_bound bound_of(const struct pccl_topology *topology, const struct pccl_request *request)
{
    struct pccl_bound bound;
    struct pccl_error error = {""};
    if (pccl_bound_compute(topology, request, &bound, &error) != 0) {
        fail_msg("%s of %s: %s", pccl_collective_name(request->collective), topology->name, error.message);
    }
    assert_true(bound.bound_ps >= 0 && bound.argument != NULL);
    return bound;
}

/* --- by hand ----------------------------------------------------------------------------------------------------- */

static void test_bytes_by_hand(void **state)
{
    (void)state;
    /* Unit links: 1 ps for each byte, nothing else. 1000 bytes. */
    static const struct {
        const char *topology;
        enum pccl_collective collective;
        int64_t bound_ps;
    } cases[] = {
        {"star:5:unit", PCCL_ALLGATHER, 4000},
        {"star:5:unit", PCCL_ALLTOALL, 4000},
        {"star:5:unit", PCCL_REDUCE_SCATTER, 4000},
        {"star:5:unit", PCCL_GATHER, 4000},
        {"star:5:unit", PCCL_SCATTER, 4000},
        {"star:5:unit", PCCL_BROADCAST, 1000},
        {"star:5:unit", PCCL_REDUCE, 1000},
        {"star:5:unit", PCCL_ALLREDUCE, 1600}, /* 2 * 4 messages of 1000 bytes over 5 senders */
        {"star:5:unit", PCCL_SCAN, 1000},
        {"star:5:unit", PCCL_EXSCAN, 1000},
        {"mesh:4:unit", PCCL_SCAN, 1000},
        {"torus:4x4:unit", PCCL_EXSCAN, 250},
        {"star:5:unit", PCCL_BARRIER, 0},
        {"torus:4x4:unit", PCCL_ALLGATHER, 3750}, /* 15 blocks over 4 links */
        {"torus:4x4:unit", PCCL_ALLTOALL, 8000},  /* halves: 8 * 8 blocks over 8 links */
        {"torus:4x4:unit", PCCL_BROADCAST, 250},
        {"torus:5x5:unit", PCCL_ALLTOALL, 15000}, /* 2 of 5 rows: 10 * 15 blocks over 10 links */
        {"torus:8x8x8:unit", PCCL_ALLTOALL, 512000},
        {"torus:8x8x8:unit", PCCL_ALLREDUCE, 333},   /* 2 * 511 / (6 * 512) of 1000, rounded up */
        {"mesh:32x16:unit", PCCL_ALLTOALL, 4096000}, /* 256 * 256 blocks over 16 links */
        {"mesh:32x16:unit", PCCL_ALLGATHER, 255500}, /* a corner has two links */
        {"mesh:4:unit", PCCL_ALLREDUCE, 1000},
        {"hypercube:9:unit", PCCL_ALLTOALL, 256000},
        {"fattree:4x4:unit:taper=2", PCCL_ALLTOALL, 24000},     /* 4 * 12 blocks over 2 uplinks */
        {"fattree:2x4x4:unit:taper=1,4", PCCL_ALLTOALL, 64000}, /* pods: 16 * 16 blocks over 4 links' worth */
        {"fattree:32x16:spines=16:unit", PCCL_ALLTOALL, 511000},
        {"dragonfly:9x1x9:unit", PCCL_ALLTOALL, 81000}, /* groups: 9 * 9 blocks over one cable to each other */
        {"boxes:4x4:ps_per_mib=262144,1048576:latency=0:overhead=0", PCCL_ALLTOALL,
         12000},                              /* 4 * 12 blocks over 4 rails */
        {"ring:5:unit", PCCL_ALLTOALL, 3000}, /* 2 * 3 blocks over 2 links */
        {"ring:6:unit", PCCL_GATHER, 2500},
        {"mesh:4:unit", PCCL_GATHER, 3000}, /* the root at the end has one link */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].topology);
        struct pccl_request request = request_of(cases[i].collective, topology, 1000);
        struct pccl_bound bound = bound_of(topology, &request);
        print_message("%s of %s: %lld ps by %s\n", pccl_collective_name(cases[i].collective), cases[i].topology,
                      (long long)bound.bound_ps, bound.argument);
        assert_int_equal(bound.bound_ps, cases[i].bound_ps);
        pccl_topology_free(topology);
    }
}

static void test_latency_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        enum pccl_collective collective;
        int64_t bytes, bound_ps;
    } cases[] = {
        /* 16 ranks, o = 1 us at either end, L = 0.1 us. The news is there at
         * 0; 2.1; 3.1; 4.1, 4.2; 5.1, 5.2, 5.2; 6.1, 6.2 three times, 6.3; 7.1, 7.2 six times ...: the 16th hears
         * at 7.2. */
        {"star:16:overhead=1us:latency=50ns:ps_per_mib=0", PCCL_ALLGATHER, 8, 7200000},
        {"star:2:overhead=1us:latency=50ns:ps_per_mib=0", PCCL_BARRIER, 0, 2100000},
        {"star:3:overhead=1us:latency=50ns:ps_per_mib=0", PCCL_BROADCAST, 8,
         3100000}, /* the second message follows at once */
        {"star:4:overhead=0:latency=50ns:ps_per_mib=0", PCCL_BARRIER, 0, 100000},
        /* A line of four, software relays: three hops, two relays. */
        {"mesh:4:overhead=1us:latency=10us:ps_per_mib=0:routing=none", PCCL_BROADCAST, 8, 36000000},
        /* Routers forward: no overheads on the way. */
        {"mesh:4:overhead=1us:latency=10us:ps_per_mib=0", PCCL_BROADCAST, 8, 32000000},
        {"mesh:4:overhead=1us:latency=10us:ps_per_mib=0", PCCL_REDUCE, 8, 32000000},
        {"mesh:4:overhead=1us:latency=10us:ps_per_mib=0", PCCL_ALLTOALL, 8, 32000000},
        /* All bytes come the whole way. */
        {"mesh:4:overhead=0:latency=10us:ps_per_mib=1048576", PCCL_BROADCAST, 1000, 30001000},
        {"mesh:4:overhead=0:latency=10us:ps_per_mib=1048576", PCCL_GATHER, 1000, 30001000},
        {"mesh:4:overhead=0:latency=10us:ps_per_mib=1048576", PCCL_SCATTER, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pccl_topology *topology = open_topology(cases[i].topology);
        struct pccl_request request = request_of(cases[i].collective, topology, cases[i].bytes);
        struct pccl_bound bound = bound_of(topology, &request);
        print_message("%s of %s: %lld ps by %s\n", pccl_collective_name(cases[i].collective), cases[i].topology,
                      (long long)bound.bound_ps, bound.argument);
        assert_int_equal(bound.bound_ps, cases[i].bound_ps);
        pccl_topology_free(topology);
    }
}

static void test_groups_by_hand(void **state)
{
    (void)state;
    struct pccl_topology *mesh = open_topology("mesh:4x4:unit:routing=none");
    const uint32_t row[] = {0, 1, 2, 3}, corners[] = {0, 3, 12, 15};
    struct pccl_request request = {.collective = PCCL_ALLTOALL, .num_ranks = 4, .devices = row, .bytes = 1000};
    assert_int_equal(bound_of(mesh, &request).bound_ps, 4000); /* alone: 2 * 2 blocks over one link */
    request.relays = true;
    assert_int_equal(bound_of(mesh, &request).bound_ps, 1500); /* a corner: 3 blocks over 2 links */
    request.devices = corners;
    assert_int_equal(bound_of(mesh, &request).bound_ps, 1500);
    request.relays = false;
    struct pccl_bound bound;
    struct pccl_error error = {""};
    assert_int_equal(pccl_bound_compute(mesh, &request, &bound, &error), PCCL_ERR_UNREACHABLE);
    assert_non_null(strstr(error.message, "d0.0"));
    pccl_topology_free(mesh);
    mesh = open_topology("mesh:4x4:unit"); /* routers forward: corners reach each other */
    assert_int_equal(bound_of(mesh, &request).bound_ps, 1500);
    pccl_topology_free(mesh);
}

static void test_shared_capacity(void **state)
{
    (void)state;
    /* Three devices, a link from each to each; all links out of device 0 share one NIC, the later at half the speed. */
    struct pccl_topology_builder *builder = pccl_topology_builder_new("nic");
    struct pccl_topology *topology = NULL;
    pccl_topology_add_device(builder, "0");
    pccl_topology_add_device(builder, "1");
    pccl_topology_add_device(builder, "2");
    for (uint32_t a = 0; a < 3; a++) {
        for (uint32_t b = 0; b < 3; b++) {
            if (a != b) {
                pccl_topology_add_link(builder, a, b, 0, a == 0 && b == 2 ? 2 << 20 : 1 << 20, a == 0 ? 7 : PCCL_NONE);
            }
        }
    }
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    struct pccl_request request = request_of(PCCL_ALLTOALL, topology, 1000);
    assert_int_equal(bound_of(topology, &request).bound_ps, 2000); /* out of 0: as if both links were fast */
    request.collective = PCCL_ALLGATHER;
    assert_int_equal(bound_of(topology, &request).bound_ps, 1334); /* into 2: at 1 and 1/2 byte per ps */
    request.collective = PCCL_SCATTER;
    assert_int_equal(bound_of(topology, &request).bound_ps, 2000);
    pccl_topology_free(topology);
}

static void test_bus(void **state)
{
    (void)state;
    /* Two devices and a switch on one bus: the simulator lets a message use it for both of its links at once. */
    struct pccl_topology_builder *builder = pccl_topology_builder_new("bus");
    struct pccl_topology *topology = NULL;
    pccl_topology_add_device(builder, "a");
    pccl_topology_add_device(builder, "b");
    pccl_topology_add_switch(builder, "s", false);
    for (uint32_t d = 0; d < 2; d++) {
        pccl_topology_add_link(builder, d, 2, 0, 1 << 20, 0);
        pccl_topology_add_link(builder, 2, d, 0, 1 << 20, 0);
    }
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    struct pccl_request request = request_of(PCCL_ALLTOALL, topology, 1000);
    assert_int_equal(bound_of(topology, &request).bound_ps, 1000);
    pccl_topology_free(topology);
}

static void test_unequal_blocks(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:3:unit");
    const int64_t blocks[] = {5, 0, 100}, pairs[] = {9, 1, 2, 30, 9, 0, 500, 7, 9}; /* the diagonal stays at home */
    struct pccl_request request = request_of(PCCL_ALLGATHER, topology, 0);
    request.block_bytes = blocks;
    assert_int_equal(bound_of(topology, &request).bound_ps, 105);
    request.collective = PCCL_REDUCE_SCATTER;
    assert_int_equal(bound_of(topology, &request).bound_ps, 105);
    request.collective = PCCL_GATHER;
    assert_int_equal(bound_of(topology, &request).bound_ps, 100);
    request.root = 2;
    assert_int_equal(bound_of(topology, &request).bound_ps, 5);
    request.collective = PCCL_ALLTOALL;
    request.block_bytes = pairs;
    assert_int_equal(bound_of(topology, &request).bound_ps, 530);
    pccl_topology_free(topology);
    topology = open_topology("ring:3:unit"); /* the same through the cuts of a grid */
    assert_int_equal(bound_of(topology, &request).bound_ps, 265);
    pccl_topology_free(topology);
}

static void test_custom(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("mesh:4:latency=1us:overhead=0:ps_per_mib=1048576");
    const uint32_t holders[] = {0, 1, 2, 3};
    struct pccl_chunk chunks[] = {{1000, 0, 1, 3, 1}, {500, 0, 2, 2, 2}, {100, 3, 1, 0, 2}};
    struct pccl_demand custom = {.collective = PCCL_CUSTOM,
                                 .num_ranks = 4,
                                 .pieces = 1,
                                 .num_chunks = 3,
                                 .chunks = chunks,
                                 .num_holders = 4,
                                 .holders = holders,
                                 .devices = everyone};
    struct pccl_request request = request_of(PCCL_CUSTOM, topology, 0);
    request.custom = &custom;
    /* From 0 to 3; a copy at 0 or 1 to 2 and 3; from 3 to 0 and 1: the cut 1 | 2 carries 1500 ps, plus one link's
     * latency; the way from 0 to 3 takes 3 us. */
    assert_int_equal(bound_of(topology, &request).bound_ps, 3000000);
    chunks[0].bytes = 10000000;
    assert_int_equal(bound_of(topology, &request).bound_ps, 10000500 + 1000000);
    custom.reduces = true; /* now both 0 and 1 contribute to chunk 1, which may cross as one */
    assert_int_equal(bound_of(topology, &request).bound_ps, 10000500 + 1000000);
    chunks[0].first_source = 9;
    struct pccl_bound bound;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request.custom = NULL;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    pccl_topology_free(topology);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pccl_topology *topology = open_topology("star:3");
    const uint32_t twice[] = {0, 1, 1}, beyond[] = {0, 1, 3};
    const int64_t negative[] = {1, -1, 1};
    struct pccl_bound bound;
    struct pccl_request request = request_of(PCCL_ALLGATHER, topology, 1);
    request.devices = twice;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request.devices = beyond;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request = request_of(PCCL_ALLGATHER, topology, -1);
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request = request_of(PCCL_ALLGATHER, topology, 1);
    request.block_bytes = negative;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request = request_of(PCCL_ALLGATHER, topology, INT64_MAX);
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_OVERFLOW);
    request = request_of(PCCL_BROADCAST, topology, 1);
    request.root = 3;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request = request_of(PCCL_BROADCAST, topology, 1);
    request.num_ranks = 1;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    request.num_ranks = 4;
    assert_int_equal(pccl_bound_compute(topology, &request, &bound, NULL), PCCL_ERR_INVALID);
    pccl_topology_free(topology);
}

/* --- all subsets ------------------------------------------------------------------------------------------------- */

/* A ring, so that all is reachable, and two chords from each vertex. Unless plain: latencies, overheads, capacities
 * that links share. */
static struct pccl_topology *random_graph(struct pccl__random *random, uint32_t num_devices, uint32_t num_switches,
                                          bool plain)
{
    struct pccl_topology_builder *builder = pccl_topology_builder_new("random");
    struct pccl_topology *topology = NULL;
    const uint32_t num_vertices = num_devices + num_switches;
    for (uint32_t v = 0; v < num_vertices; v++) {
        char name[16];
        snprintf(name, sizeof name, "%u", v);
        if (v >= num_devices) {
            pccl_topology_add_switch(builder, name, false);
            continue;
        }
        pccl_topology_add_device(builder, name);
        if (!plain) {
            pccl_topology_set_overheads(builder, v, pccl__random_below(random, 900000),
                                        pccl__random_below(random, 900000));
        }
    }
    for (uint32_t i = 0; i < 3 * num_vertices; i++) {
        uint32_t v = i / 3, step = i % 3 == 0 ? 1 : 1 + pccl__random_below(random, num_vertices - 1);
        int64_t latency_ps = plain ? 0 : pccl__random_below(random, 3000000);
        uint32_t capacity = plain || pccl__random_below(random, 2) == 0 ? PCCL_NONE : pccl__random_below(random, 8);
        pccl_topology_add_link(builder, v, (v + step) % num_vertices, latency_ps,
                               1 << (18 + pccl__random_below(random, 3)), capacity);
    }
    assert_int_equal(pccl_topology_finish(builder, &topology, NULL), 0);
    return topology;
}

/* The largest ratio of bytes that must cross to what can, over all subsets of vertices. Speeds are powers of two. */
static int64_t best_cut(const struct pccl_topology *topology, const struct pccl_request *request)
{
    int64_t best = 0;
    for (uint32_t set = 1; set + 1 < 1u << topology->num_vertices; set++) {
        uint32_t inside = 0;
        int64_t capacity = 0, must = 0; /* capacity in units of 1 / 2^20 ps per MiB */
        for (uint32_t d = 0; d < topology->num_devices; d++) {
            inside += set >> d & 1;
        }
        for (uint32_t l = 0; l < topology->num_links; l++) {
            const struct pccl_link *link = &topology->links[l];
            if ((set >> link->source & 1) && !(set >> link->target & 1)) {
                capacity += (1 << 20) / link->ps_per_mib;
            }
        }
        const uint32_t outside = topology->num_devices - inside;
        const bool root_inside = set >> request->root & 1;
        if (inside == 0 || outside == 0) {
            continue;
        }
        switch (request->collective) {
        case PCCL_ALLGATHER:
            must = inside * request->bytes;
            break;
        case PCCL_REDUCE_SCATTER:
            must = outside * request->bytes;
            break;
        case PCCL_BROADCAST:
            must = root_inside ? request->bytes : 0;
            break;
        case PCCL_REDUCE:
            must = root_inside ? 0 : request->bytes;
            break;
        case PCCL_GATHER:
            must = root_inside ? 0 : inside * request->bytes;
            break;
        case PCCL_SCATTER:
            must = root_inside ? outside * request->bytes : 0;
            break;
        case PCCL_SCAN:
        case PCCL_EXSCAN: /* a rank inside is below one outside, unless those outside are the first */
            must = set >> (topology->num_devices - inside) << (topology->num_devices - inside) == set ? 0
                                                                                                    : request->bytes;
            break;
        default:
            must = request->bytes;
            break;
        }
        int64_t time = (must + capacity - 1) / capacity;
        best = time > best ? time : best;
    }
    return best;
}

static void test_tightest_cut(void **state)
{
    (void)state;
    static const enum pccl_collective collectives[] = {PCCL_ALLGATHER, PCCL_REDUCE_SCATTER, PCCL_BROADCAST, PCCL_REDUCE,
                                                       PCCL_GATHER, PCCL_SCATTER, PCCL_ALLREDUCE, PCCL_SCAN,
                                                       PCCL_EXSCAN};
    struct pccl__random random = {2024};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int round = 0; round < 40; round++) {
        struct pccl_topology *topology = random_graph(&random, 4 + pccl__random_below(&random, 4), 2, true);
        for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
            struct pccl_request request = request_of(collectives[i], topology, 1000000);
            request.root = pccl__random_below(&random, topology->num_devices);
            int64_t met = bound_of(topology, &request).bound_ps, expected = best_cut(topology, &request);
            /* All-reduce has more than cuts; for scans fewer are tried. */
            if (collectives[i] == PCCL_ALLREDUCE                   ? met < expected
                : pccl_collective_is_prefix(collectives[i]) ? met > expected || met == 0
                                                                   : met != expected) {
                fail_msg("round %d, %s: bound %lld, tightest cut %lld", round, pccl_collective_name(collectives[i]),
                         (long long)met, (long long)expected);
            }
        }
        pccl_topology_free(topology);
    }
}

/* --- no schedule is faster --------------------------------------------------------------------------------------- */

/* Returns whether there is a schedule. */
static bool check_synthesized(const struct pccl_topology *topology, const struct pccl_request *request)
{
    struct pccl_result *result = NULL;
    struct pccl_error error = {""};
    int status = pccl_synthesize(topology, request, NULL, &result, &error);
    if (status == PCCL_ERR_UNSUPPORTED || status == PCCL_ERR_UNREACHABLE) {
        return false;
    }
    if (status != 0) {
        fail_msg("%s of %s: %s", pccl_collective_name(request->collective), topology->name, error.message);
    }
    struct pccl_bound bound = bound_of(topology, request);
    if (result->makespan_ps < bound.bound_ps) {
        fail_msg("%s of %lld bytes among %u of %s: %s takes %lld ps, below the bound of %lld by %s",
                 pccl_collective_name(request->collective), (long long)request->bytes, request->num_ranks,
                 topology->name, result->schedule->method, (long long)result->makespan_ps, (long long)bound.bound_ps,
                 bound.argument);
    }
    pccl_result_free(result);
    return true;
}

/* Every collective among all devices and among a random group. */
static void check_topology(const struct pccl_topology *topology, struct pccl__random *random, uint32_t *num_made)
{
    static const int64_t sizes[] = {0, 1, 8, 1000, 1 << 20};
    for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            uint32_t devices[16];
            memcpy(devices, everyone, sizeof devices);
            struct pccl_request request = request_of((enum pccl_collective)collective, topology, sizes[s]);
            request.root = pccl__random_below(random, topology->num_devices);
            *num_made += check_synthesized(topology, &request);
            pccl__random_shuffle(random, devices, topology->num_devices);
            request.devices = devices;
            request.num_ranks = 2 + pccl__random_below(random, topology->num_devices - 1);
            request.root %= request.num_ranks;
            request.relays = pccl__random_below(random, 2) == 1;
            *num_made += check_synthesized(topology, &request);
        }
    }
}

static void test_never_above_a_schedule(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "star:5", "star:6:unit", "full:4", "ring:5", "mesh:3x3:unit", "mesh:2x4", "torus:3x3", "torus:2x4:routing=none",
        "torus:3x4:latency=1us,3us:bandwidth=10GB/s,1GB/s", "hypercube:3", "fattree:2x4:taper=2", "fattree:2x2x2",
        "dragonfly:3x2x1", "boxes:2x3", "star:4:multicast", "mesh:3x3:overhead=0:latency=0",
    };
    struct pccl__random random = {99};
    uint32_t num_made = 0;
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pccl_topology *topology = open_topology(texts[i]);
        check_topology(topology, &random, &num_made);
        pccl_topology_free(topology);
    }
    for (int round = 0; round < 40; round++) {
        uint32_t num_devices = 3 + pccl__random_below(&random, 5), num_switches = pccl__random_below(&random, 3);
        struct pccl_topology *topology = random_graph(&random, num_devices, num_switches, round % 4 == 0);
        check_topology(topology, &random, &num_made);
        pccl_topology_free(topology);
    }
    print_message("%u schedules\n", num_made);
    assert_true(num_made > 3500);
}

/* Textbook schedules, on links that are all the same. */
static void test_never_above_a_sample(void **state)
{
    (void)state;
    for (uint32_t num_ranks = 2; num_ranks <= 9; num_ranks++) {
        struct pccl_topology *topology = sample_topology(num_ranks);
        for (int kind = 0; kind < SAMPLE_NUM_KINDS; kind++) {
            for (int64_t bytes = 1; bytes <= 1000000; bytes *= 1000) {
                struct pccl_schedule *schedule = sample_schedule(topology, (enum sample_kind)kind, num_ranks, num_ranks,
                                                                 bytes, false, false);
                if (schedule == NULL) {
                    continue;
                }
                struct pccl_request request = {.collective = schedule->demand->collective,
                                               .num_ranks = num_ranks,
                                               .devices = schedule->demand->devices,
                                               .root = schedule->demand->root,
                                               .bytes = bytes};
                struct pccl_simulation simulation = {0};
                assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
                assert_true(bound_of(topology, &request).bound_ps <= simulation.makespan_ps);
                pccl_schedule_free(schedule);
            }
        }
        pccl_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_by_hand),   cmocka_unit_test(test_latency_by_hand),
        cmocka_unit_test(test_groups_by_hand),  cmocka_unit_test(test_shared_capacity),
        cmocka_unit_test(test_bus),
        cmocka_unit_test(test_unequal_blocks),  cmocka_unit_test(test_custom),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_tightest_cut),
        cmocka_unit_test(test_never_above_a_sample), cmocka_unit_test(test_never_above_a_schedule),
    };
    for (uint32_t d = 0; d < sizeof everyone / sizeof everyone[0]; d++) {
        everyone[d] = d;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
