/* What the project promises, case by case. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define A2A PCCL_ALLTOALL
#define AG PCCL_ALLGATHER
#define AR PCCL_ALLREDUCE
#define MIB BENCH_MIB
#define BOXES "boxes:64x8:bandwidth=200GB/s,50GB/s"
#define STAR "star:16:bandwidth=12.5GB/s:latency=50ns:overhead=500ns"
#define SEARCH "unicast:farthest" /* what any topology gets that has no structure to use */
#define ROW "unicast:farthest-detours"
#define ROWS "unicast:shuffled-detours"

/* unit: all links alike, no latency, no overhead. */
static const struct bench_case cases[] = {
    /* section, name, topology, collective, ranks, relays, bytes, method, what is required */
    {"all-to-all", "mesh 32x16", "mesh:32x16:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 1, .mib = 100, .gap = 1.01},
    {"all-to-all", "torus 32x16", "torus:32x16:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 1, .mib = 100, .gap = 1.01},
    {"all-to-all", "torus 8x8x8", "torus:8x8x8:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 1, .mib = 100, .gap = 1.01},
    {"all-to-all", "hypercube 2^9", "hypercube:9:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 1, .mib = 100, .gap = 1.01},
    {"all-to-all", "fat tree 32x16, 16 spines", "fattree:32x16:spines=16:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 1, .mib = 100, .gap = 1.01},
    {"all-to-all", "mesh 32x32", "mesh:32x32:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 6, .mib = 400, .gap = 1.005},
    {"all-to-all", "mesh 64x64", "mesh:64x64:unit", A2A, 0, false, MIB, BENCH_THOROUGH,
     .pieces = 1, .cpu_seconds = 60, .mib = 2048, .gap = 1.05},
    {"all-to-all", "dragonfly 33x8x4", "dragonfly:33x8x4:unit", A2A, 0, false, MIB, "circuits:folded",
     .pieces = 1, .cpu_seconds = 4, .gap = 1.05},
    {"all-to-all", "torus 16x16x16, one rank", "torus:16x16x16:unit", A2A, 0, false, MIB, BENCH_ONE_RANK,
     .pieces = 1, .cpu_seconds = 0.3, .gap = 1},
    {"all-to-all", "hypercube 2^12, one rank", "hypercube:12:unit", A2A, 0, false, MIB, BENCH_ONE_RANK,
     .pieces = 1, .cpu_seconds = 0.3, .gap = 1},
    {"all-to-all", "mesh 32x16, search alone", "mesh:32x16:unit", A2A, 0, false, MIB, SEARCH, .pieces = 1},
    {"all-to-all", "torus 32x16, search alone", "torus:32x16:unit", A2A, 0, false, MIB, SEARCH, .pieces = 1},
    {"all-to-all", "torus 8x8x8, search alone", "torus:8x8x8:unit", A2A, 0, false, MIB, SEARCH, .pieces = 1},
    {"all-to-all", "hypercube 2^9, search alone", "hypercube:9:unit", A2A, 0, false, MIB, SEARCH, .pieces = 1},
    {"all-to-all", "mesh 32x32, search alone", "mesh:32x32:unit", A2A, 0, false, MIB, SEARCH, .pieces = 1},
    {"all-to-all", "64 boxes of 8", BOXES, A2A, 0, false, MIB, "unicast:shuffled",
     .pieces = 1, .cpu_seconds = 2, .gap = 1.02},
    {"all-gather", "64 boxes of 8", BOXES, AG, 0, false, 16 * MIB, "matching:filling",
     .pieces = 2, .cpu_seconds = 2, .gap = 1.02},
    {"all-gather", "mesh 32x16", "mesh:32x16:unit", AG, 0, false, MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.05, .gap = 1.01},
    {"all-gather", "torus 32x16", "torus:32x16:unit", AG, 0, false, MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.05, .gap = 1.01},
    {"all-gather", "torus 8x8x8", "torus:8x8x8:unit", AG, 0, false, MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.05, .gap = 1.01},
    {"all-gather", "mesh 8x8x8", "mesh:8x8x8:unit", AG, 0, false, MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.05, .gap = 1.01},
    {"all-gather", "torus 16x16x16", "torus:16x16x16:unit", AG, 0, false, MIB, "matching",
     .pieces = 1, .cpu_seconds = 4, .mib = 256, .gap = 1.005},
    {"all-reduce", "mesh 32x16", "mesh:32x16:unit", AR, 0, false, 512 * MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.1, .gap = 1.01},
    {"all-reduce", "torus 32x16", "torus:32x16:unit", AR, 0, false, 512 * MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.1, .gap = 1.01},
    {"all-reduce", "torus 8x8x8", "torus:8x8x8:unit", AR, 0, false, 512 * MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.1, .gap = 1.01},
    {"all-reduce", "mesh 8x8x8", "mesh:8x8x8:unit", AR, 0, false, 512 * MIB, "matching",
     .pieces = 1, .cpu_seconds = 0.1, .gap = 1.01},
    {"groups with relays", "16 in a row of 32x16", "mesh:32x16:unit", A2A, 16, true, MIB, BENCH_THOROUGH,
     .pieces = 1, .reference_slots = 22, .ratio = 1},
    {"groups with relays", "2 edge rows of 16x32", "mesh:16x32:unit", A2A, 64, true, MIB, ROWS,
     .pieces = 1, .reference_slots = 127, .ratio = 1},
    {"groups with relays", "4 edge rows of 16x32", "mesh:16x32:unit", A2A, 128, true, MIB, ROWS,
     .pieces = 1, .reference_slots = 345, .ratio = 1},
    {"groups with relays", "8 edge rows of 16x32", "mesh:16x32:unit", A2A, 256, true, MIB, ROWS,
     .pieces = 1, .reference_slots = 1087, .ratio = 1},
    {"groups with relays", "plane of torus 8x8x8", "torus:8x8x8:unit", A2A, 64, true, MIB, ROW,
     .pieces = 1, .reference_slots = 27, .ratio = 1},
    {"one switch", "star 16, all-gather 8 B", STAR, AG, 0, false, 8, BENCH_THOROUGH,
     .pieces = 1, .reference_us = 4.41, .ratio = 1},
    {"one switch", "star 16, all-gather 64 KiB", STAR, AG, 0, false, 65536, BENCH_THOROUGH,
     .pieces = 1, .reference_us = 79.744, .ratio = 1},
};

/* Sizes of one growth stand together; an exponent is fitted to each. */
static const struct bench_case growths[] = {
    {"growth: all-gather, torus", "8x8", "torus:8x8:unit", AG, 0, false, MIB, "matching", .pieces = 1},
    {"growth: all-gather, torus", "16x16", "torus:16x16:unit", AG, 0, false, MIB, "matching", .pieces = 1},
    {"growth: all-gather, torus", "32x32", "torus:32x32:unit", AG, 0, false, MIB, "matching", .pieces = 1},
    {"growth: all-gather, torus", "64x64", "torus:64x64:unit", AG, 0, false, MIB, "matching", .pieces = 1},
    {"growth: all-to-all, mesh, unicast", "8x8", "mesh:8x8:unit", A2A, 0, false, MIB, "unicast:farthest",
     .pieces = 1},
    {"growth: all-to-all, mesh, unicast", "16x16", "mesh:16x16:unit", A2A, 0, false, MIB, "unicast:farthest",
     .pieces = 1},
    {"growth: all-to-all, mesh, unicast", "32x32", "mesh:32x32:unit", A2A, 0, false, MIB, "unicast:farthest",
     .pieces = 1},
    {"growth: all-to-all, mesh, lines", "8x8", "mesh:8x8:unit", A2A, 0, false, MIB, "lines",
     .pieces = 1},
    {"growth: all-to-all, mesh, lines", "16x16", "mesh:16x16:unit", A2A, 0, false, MIB, "lines",
     .pieces = 1},
    {"growth: all-to-all, mesh, lines", "32x32", "mesh:32x32:unit", A2A, 0, false, MIB, "lines",
     .pieces = 1},
    {"growth: all-to-all, mesh, lines", "64x64", "mesh:64x64:unit", A2A, 0, false, MIB, "lines",
     .pieces = 1},
    {"growth: all-to-all, one rank of a torus", "4x4x4", "torus:4x4x4:unit", A2A, 0, false, MIB, BENCH_ONE_RANK,
     .pieces = 1},
    {"growth: all-to-all, one rank of a torus", "8x8x8", "torus:8x8x8:unit", A2A, 0, false, MIB, BENCH_ONE_RANK,
     .pieces = 1},
    {"growth: all-to-all, one rank of a torus", "16x16x16", "torus:16x16x16:unit", A2A, 0, false, MIB, BENCH_ONE_RANK,
     .pieces = 1},
};

bool bench_add(struct bench_list *list, const struct bench_case *which)
{
    if (list->num_cases == list->room) {
        uint32_t room = 2 * list->room + 64;
        struct bench_case *more = realloc(list->cases, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        list->cases = more;
        list->room = room;
    }
    list->cases[list->num_cases++] = *which;
    return true;
}

static bool add_all(struct bench_list *list, const struct bench_case *some, size_t count)
{
    bool added = true;
    for (size_t i = 0; i < count && added; i++) {
        added = bench_add(list, &some[i]);
    }
    return added;
}

/* Every collective as an application's first call makes it, with short, middle and long messages. */
static bool add_first_uses(struct bench_list *list)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } sizes[] = {{"1 KiB", 1024}, {"64 KiB", 65536}, {"1 MiB", MIB}};
    bool added = true;
    for (size_t i = 0; i < 3 * (size_t)PCCL_CUSTOM && added; i++) {
        struct bench_case first = {.section = "first use",
                                   .topology = "mesh:8x8",
                                   .collective = (enum pccl_collective)(i / 3),
                                   .bytes = sizes[i % 3].bytes,
                                   .method = BENCH_FIRST_USE,
                                   .pieces = 1,
                                   .cpu_seconds = i / 3 == A2A ? 0.004 : 0.001,
                                   .mib = 3};
        snprintf(first.name, sizeof first.name, "mesh 8x8, %s %s", pccl_collective_name(first.collective),
                 sizes[i % 3].name);
        added = bench_add(list, &first);
    }
    return added;
}

bool bench_add_table(struct bench_list *list)
{
    return add_all(list, cases, sizeof cases / sizeof cases[0]) && add_first_uses(list) &&
           add_all(list, growths, sizeof growths / sizeof growths[0]);
}
