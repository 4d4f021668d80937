/* Every row of the portfolio, on many group sizes and topologies, with every root: replayed on numbers, by the
 * verifier, and as programs of all ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/portfolio.h"
#include "algorithms/tree.h"
#include "replay.h"
#include "sanitized.h"

static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};

struct setting {
    const struct pccl_topology *topology;
    struct pccl_request request;
    uint32_t devices[64];
    uint32_t row, pieces;
};

static void fail_setting(const struct setting *setting, const char *what)
{
    fail_msg("%s, %s, %s, %u ranks, root %u, %u pieces%s: %s", setting->topology->name, pccl__rows[setting->row].method,
             pccl_collective_name(setting->request.collective), setting->request.num_ranks, setting->request.root,
             setting->pieces,
             setting->request.reproducible ? ", reproducible" : setting->request.ordered ? ", ordered" : "", what);
}

static void check_programs(const struct setting *setting, const struct pccl_schedule *schedule)
{
    struct pccl_program *programs[64] = {NULL};
    struct pccl_error error;
    int status = 0;
    for (uint32_t rank = 0; rank < setting->request.num_ranks && status == 0; rank++) {
        status = pccl_program_create(schedule, rank, &programs[rank], &error);
    }
    if (status == 0) {
        status = pccl_verify_programs(schedule->demand, (const struct pccl_program *const *)programs, &error);
    }
    for (uint32_t rank = 0; rank < setting->request.num_ranks; rank++) {
        pccl_program_free(programs[rank]);
    }
    if (status != 0) {
        fail_setting(setting, error.message);
    }
}

/* true if the row serves the setting. */
static bool check_setting(const struct setting *setting, struct pccl__problem *problem)
{
    struct pccl_schedule *schedule;
    struct pccl_error error;
    int status = pccl__row_make(problem, setting->row, setting->pieces, &schedule, &error);
    if (status == PCCL_ERR_UNSUPPORTED) {
        return false;
    }
    if (status == 0) {
        const char *wrong = replay(schedule, setting->topology->num_devices);
        if (wrong != NULL) {
            fail_setting(setting, wrong);
        }
        status = pccl_verify_schedule(setting->topology, schedule, false, &error);
    }
    struct pccl_simulation simulation = {0};
    if (status == 0) {
        status = pccl_simulate(setting->topology, schedule, &simulation, &error);
    }
    if (status != 0) {
        fail_setting(setting, error.message);
    }
    assert_string_equal(schedule->method, pccl__rows[setting->row].method);
    if (pccl__row_estimate(problem, setting->row, setting->pieces) < 0) {
        fail_setting(setting, "made, though the forecast says that it cannot serve");
    }
    check_programs(setting, schedule);
    pccl_schedule_free(schedule);
    return true;
}

/* Returns how many rows serve the request. */
static uint32_t check_rows(struct setting *setting)
{
    struct pccl__problem problem;
    struct pccl_error error;
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    uint32_t served = 0;
    if (pccl__problem_open(&problem, setting->topology, &setting->request, &options, &error) != 0) {
        fail_setting(setting, error.message);
    }
    for (setting->row = 0; setting->row < pccl__num_rows; setting->row++) {
        uint32_t most = pccl__rows[setting->row].cut == PCCL__WHOLE ? 1 : 4;
        bool serves = false;
        for (setting->pieces = 1; setting->pieces <= most; setting->pieces *= 2) {
            serves = check_setting(setting, &problem) || serves;
        }
        served += serves;
    }
    pccl__problem_close(&problem);
    return served;
}

/* All roots (under a sanitizer every second one), commutative and not, and by the fixed tree. */
static void check_collective(struct setting *setting, enum pccl_collective collective)
{
    setting->request.collective = collective;
    uint32_t roots = pccl_collective_is_rooted(collective) ? setting->request.num_ranks : 1;
    for (uint32_t root = 0; root < roots; root += is_sanitized ? 2 : 1) {
        setting->request.root = root;
        for (int order = 0; order <= 2 * pccl_collective_is_reduction(collective); order++) {
            setting->request.ordered = order == 1;
            setting->request.reproducible = order == 2;
            if (check_rows(setting) == 0) {
                setting->row = 0;
                fail_setting(setting, "no row serves it");
            }
        }
    }
    setting->request.root = 0;
    setting->request.reproducible = false;
}

/* Every third device and so on, so that ranks and places differ. */
static void check_topology(const char *pattern, const uint32_t *counts, size_t num_counts)
{
    for (size_t i = 0; i < num_counts; i++) {
        char name[64];
        snprintf(name, sizeof name, pattern, counts[i]);
        struct pccl_topology *topology;
        struct pccl_error error;
        if (pccl_topology_create(name, &topology, &error) != 0) {
            fail_msg("%s: %s", name, error.message);
        }
        struct setting setting = {.topology = topology, .request = {.num_ranks = counts[i], .bytes = 4103}};
        uint32_t stride = counts[i] % 3 == 0 ? counts[i] - 1 : 3;
        for (uint32_t rank = 0; rank < counts[i]; rank++) {
            setting.devices[rank] = (uint32_t)((uint64_t)rank * stride % topology->num_devices);
        }
        if (topology->num_devices != counts[i]) {
            for (uint32_t rank = 0; rank < counts[i]; rank++) {
                setting.devices[rank] = topology->num_devices - 1 - rank;
            }
        }
        setting.request.devices = setting.devices;
        for (int collective = 0; collective < PCCL_CUSTOM; collective++) {
            check_collective(&setting, (enum pccl_collective)collective);
        }
        pccl_topology_free(topology);
    }
}

static void test_star(void **state)
{
    (void)state;
    check_topology("star:%u", sizes, sizeof sizes / sizeof sizes[0]);
}

static void test_mesh(void **state)
{
    (void)state;
    const uint32_t some[] = {2, 5, 8, 9, 12};
    check_topology("mesh:3x4", some, sizeof some / sizeof some[0]);
    check_topology("mesh:%ux2", some, 2);
}

static void test_torus(void **state)
{
    (void)state;
    const uint32_t some[] = {6, 16, 13};
    check_topology("torus:4x4", some, sizeof some / sizeof some[0]);
}

static void test_fat_tree(void **state)
{
    (void)state;
    const uint32_t some[] = {7, 12};
    check_topology("fattree:3x4:taper=2", some, sizeof some / sizeof some[0]);
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

/* Subtrees are intervals next to their parents, nearest served last, whatever the root. */
static void check_intervals(const struct pccl__tree *tree)
{
    for (uint32_t rank = 0; rank < tree->num_ranks; rank++) {
        uint32_t below = rank, above = rank;
        for (uint32_t c = tree->first_child[rank + 1]; c-- > tree->first_child[rank];) {
            uint32_t child = tree->children[c], low = child, high = child, at = 0;
            while (tree->preorder[at] != child) {
                at++;
            }
            for (uint32_t i = at; i < at + tree->size[child]; i++) {
                low = tree->preorder[i] < low ? tree->preorder[i] : low;
                high = tree->preorder[i] > high ? tree->preorder[i] : high;
            }
            assert_int_equal(high - low + 1, tree->size[child]);
            assert_true(high + 1 == below || low == above + 1);
            below = high + 1 == below ? low : below;
            above = low == above + 1 ? high : above;
        }
    }
}

static void test_ordered_trees(void **state)
{
    (void)state;
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_create("star:17", &topology, NULL), 0);
    uint32_t devices[17];
    for (uint32_t i = 0; i < 17; i++) {
        devices[i] = i;
    }
    for (uint32_t n = 2; n <= 17; n++) {
        struct pccl_request request = {.collective = PCCL_REDUCE, .num_ranks = n, .devices = devices, .bytes = 8,
                                       .ordered = true};
        struct pccl__problem problem;
        assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, NULL), 0);
        for (uint32_t root = 0; root < n; root++) {
            for (int shape = PCCL__FLAT; shape <= PCCL__CHAIN; shape++) {
                struct pccl__tree tree;
                assert_int_equal(pccl__tree_make(&tree, &problem, (enum pccl__shape)shape, root, NULL, NULL), 0);
                assert_int_equal(tree.size[root], n);
                check_intervals(&tree);
                pccl__tree_free(&tree);
            }
        }
        pccl__problem_close(&problem);
    }
    pccl_topology_free(topology);
}

/* No rank but the root has children in both, and none more than two. */
static void test_twins(void **state)
{
    (void)state;
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_create("star:40", &topology, NULL), 0);
    uint32_t devices[40];
    for (uint32_t i = 0; i < 40; i++) {
        devices[i] = i;
    }
    for (uint32_t n = 2; n <= 40; n++) {
        struct pccl_request request = {.collective = PCCL_BROADCAST, .num_ranks = n, .devices = devices, .bytes = 8};
        struct pccl__problem problem;
        struct pccl__tree twins[2];
        assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, NULL), 0);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(pccl__tree_make(&twins[t], &problem, PCCL__TWINS + t, n / 2, NULL, NULL), 0);
            assert_int_equal(twins[t].size[n / 2], n);
        }
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t children[2];
            for (int t = 0; t < 2; t++) {
                children[t] = twins[t].first_child[rank + 1] - twins[t].first_child[rank];
            }
            assert_true(rank == n / 2 ? children[0] == 1 && children[1] == 1 : children[0] == 0 || children[1] == 0);
            assert_true(children[0] <= 2 && children[1] <= 2);
        }
        pccl__tree_free(&twins[1]);
        pccl__tree_free(&twins[0]);
        pccl__problem_close(&problem);
    }
    pccl_topology_free(topology);
}

/* Edges of a tree between ranks below different switches, six to a switch. */
static uint32_t count_crossing(const struct pccl__tree *tree)
{
    uint32_t crossing = 0;
    for (uint32_t rank = 0; rank < tree->num_ranks; rank++) {
        crossing += rank != tree->root && rank / 6 != tree->parent[rank] / 6;
    }
    return crossing;
}

/* On a network that looks alike from everywhere a tree does so from every root. */
static void test_roots(void **state)
{
    (void)state;
    uint32_t devices[24];
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_create("fattree:4x6:taper=2", &topology, NULL), 0);
    for (uint32_t d = 0; d < 24; d++) {
        devices[d] = d;
    }
    struct pccl_request request = {.collective = PCCL_BROADCAST, .num_ranks = 24, .devices = devices, .bytes = 8};
    struct pccl__problem problem;
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, NULL), 0);
    for (int shape = PCCL__BINOMIAL; shape <= PCCL__SECOND_TWIN; shape++) {
        uint32_t from_first = 0;
        for (uint32_t root = 0; root < 24 && shape != PCCL__SPANNING; root++) {
            struct pccl__tree tree;
            assert_int_equal(pccl__tree_make(&tree, &problem, (enum pccl__shape)shape, root, NULL, NULL), 0);
            assert_int_equal(tree.size[root], 24);
            from_first = root == 0 ? count_crossing(&tree) : from_first;
            assert_int_equal(count_crossing(&tree), from_first);
            pccl__tree_free(&tree);
        }
    }
    pccl__problem_close(&problem);
    pccl_topology_free(topology);
}

/* --- tours -------------------------------------------------------------------------------------------------------- */

static uint32_t tour_links(const char *name, uint32_t num_ranks)
{
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_create(name, &topology, NULL), 0);
    uint32_t devices[64], order[64], sum = 0;
    bool seen[64] = {false};
    for (uint32_t rank = 0; rank < num_ranks; rank++) {
        devices[rank] = rank * 7 % num_ranks;
    }
    struct pccl_request request = {.collective = PCCL_ALLGATHER, .num_ranks = num_ranks, .devices = devices,
                                   .bytes = 8};
    struct pccl__problem problem;
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, NULL), 0);
    assert_int_equal(pccl__order_make(&problem, PCCL__BY_PLACE, order, NULL), 0);
    for (uint32_t i = 0; i < num_ranks; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        sum += pccl__route(&problem, order[i], order[(i + 1) % num_ranks])->num_links;
    }
    pccl__problem_close(&problem);
    pccl_topology_free(topology);
    return sum;
}

/* Hamiltonian where one exists; through a fat tree every leaf is entered once. */
static void test_tours(void **state)
{
    (void)state;
    assert_int_equal(tour_links("mesh:4x5", 20), 20);
    assert_int_equal(tour_links("mesh:5x4", 20), 20);
    assert_int_equal(tour_links("mesh:3x2x5", 30), 30);
    assert_int_equal(tour_links("torus:4x4x4", 64), 64);
    assert_int_equal(tour_links("ring:11", 11), 11);
    assert_int_equal(tour_links("hypercube:5", 32), 32);
    assert_int_equal(tour_links("star:9", 9), 18);
    assert_int_equal(tour_links("fattree:4x5", 20), 16 * 2 + 4 * 4);
    assert_true(tour_links("mesh:3x3", 9) <= 12);
    assert_true(tour_links("mesh:6x6", 33) <= 44);
}

/* --- dimension by dimension --------------------------------------------------------------------------------------- */

/* Makespan of an all-gather in blocks on one link, times 4; 0 if the row refuses the group. */
static int64_t quarter_blocks(const char *name, const char *method, const uint32_t *devices, uint32_t num_ranks)
{
    const int64_t bytes = 60 << 20;
    struct pccl_topology *topology;
    assert_int_equal(pccl_topology_create(name, &topology, NULL), 0);
    struct pccl_request request = {.collective = PCCL_ALLGATHER, .num_ranks = num_ranks, .devices = devices,
                                   .bytes = bytes};
    struct pccl__problem problem;
    struct pccl_schedule *schedule = NULL;
    struct pccl_simulation simulation = {0};
    uint32_t row = 0;
    while (strcmp(pccl__rows[row].method, method) != 0) {
        row++;
    }
    assert_int_equal(pccl__problem_open(&problem, topology, &request, NULL, NULL), 0);
    int status = pccl__row_make(&problem, row, 1, &schedule, NULL);
    if (status == 0) {
        assert_int_equal(pccl_verify_schedule(topology, schedule, false, NULL), 0);
        assert_int_equal(pccl_simulate(topology, schedule, &simulation, NULL), 0);
        assert_true(pccl__row_estimate(&problem, row, 1) <= simulation.makespan_ps + simulation.makespan_ps / 64);
    } else {
        assert_int_equal(status, PCCL_ERR_UNSUPPORTED);
    }
    int64_t block_ps = pccl_transfer_ps(bytes, topology->links[0].ps_per_mib);
    pccl_schedule_free(schedule);
    pccl__problem_close(&problem);
    pccl_topology_free(topology);
    return 4 * simulation.makespan_ps / block_ps;
}

/* Lines one dimension after the other; split, all links of a device work all the time: n - 1 blocks over as many links
 * as the corner of a mesh, or any device of a torus, has. */
static void test_dimensions(void **state)
{
    (void)state;
    uint32_t devices[64];
    for (uint32_t i = 0; i < 64; i++) {
        devices[i] = i;
    }
    assert_int_equal(quarter_blocks("mesh:4x4:unit", "dimensions", devices, 16), 4 * (3 + 12));
    assert_int_equal(quarter_blocks("mesh:4x4:unit", "dimensions:split", devices, 16), 4 * 15 / 2);
    assert_int_equal(quarter_blocks("torus:5x5:unit", "dimensions", devices, 25), 4 * (2 + 10));
    assert_int_equal(quarter_blocks("torus:5x5:unit", "dimensions:split", devices, 25), 4 * 24 / 4);
    assert_int_equal(quarter_blocks("hypercube:4:unit", "dimensions:split", devices, 16), 15);
    assert_int_equal(quarter_blocks("torus:3x3x3:unit", "dimensions:split", devices, 27), 4 * 26 / 6);
    /* A plane of a torus; two rows of a mesh, far apart; not a box. */
    assert_int_equal(quarter_blocks("torus:2x5x5:unit", "dimensions:split", devices, 25), 4 * 24 / 4);
    assert_int_equal(quarter_blocks("mesh:3x2:unit", "dimensions", (const uint32_t[]){0, 1, 4, 5}, 4), 4 * 3);
    assert_int_equal(quarter_blocks("mesh:3x3:unit", "dimensions", (const uint32_t[]){0, 1, 3}, 3), 0);
    assert_int_equal(quarter_blocks("star:9:unit", "dimensions", devices, 9), 0);
    assert_int_equal(quarter_blocks("ring:9:unit", "dimensions:split", devices, 9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_star), cmocka_unit_test(test_mesh), cmocka_unit_test(test_torus),
        cmocka_unit_test(test_fat_tree), cmocka_unit_test(test_ordered_trees), cmocka_unit_test(test_twins),
        cmocka_unit_test(test_roots), cmocka_unit_test(test_tours), cmocka_unit_test(test_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
