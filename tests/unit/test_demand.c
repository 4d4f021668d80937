/* Demands: chunks, holders, sizes and slots of every collective against the rules of demand.h, written out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "samples.h"

enum { RANKS = 5, PIECES = 3, ROOT = RANKS / 3 };

/* What demand.h says about a chunk. */
struct rule {
    bool source[RANKS], target[RANKS];
    uint32_t input[RANKS], output[RANKS], aliased[RANKS]; /* slots; aliased: under the output slot */
};

static struct rule rule_of(enum pccl_collective collective, uint32_t block, uint32_t piece)
{
    struct rule rule = {0};
    for (uint32_t r = 0; r < RANKS; r++) {
        rule.input[r] = rule.output[r] = rule.aliased[r] = PCCL_NONE;
        uint32_t from = block / RANKS, to = block % RANKS;
        bool root = r == ROOT;
        switch (collective) {
        case PCCL_ALLGATHER:
        case PCCL_GATHER:
            rule.source[r] = block == r;
            rule.target[r] = collective == PCCL_ALLGATHER || root;
            rule.input[r] = rule.source[r] ? piece : PCCL_NONE;
            rule.output[r] = rule.target[r] ? block * PIECES + piece : PCCL_NONE;
            rule.aliased[r] = rule.source[r] && rule.target[r] ? piece : PCCL_NONE;
            break;
        case PCCL_ALLTOALL:
            rule.source[r] = from == r;
            rule.target[r] = to == r;
            rule.input[r] = rule.source[r] ? to * PIECES + piece : PCCL_NONE;
            rule.output[r] = rule.target[r] ? from * PIECES + piece : PCCL_NONE;
            break;
        case PCCL_SCATTER:
            rule.source[r] = root;
            rule.target[r] = block == r;
            rule.input[r] = root ? block * PIECES + piece : PCCL_NONE;
            rule.output[r] = rule.target[r] ? piece : PCCL_NONE;
            rule.aliased[r] = root && rule.target[r] ? block * PIECES + piece : PCCL_NONE;
            break;
        case PCCL_BROADCAST:
            rule.source[r] = root;
            rule.target[r] = true;
            rule.input[r] = root ? piece : PCCL_NONE;
            rule.output[r] = piece;
            rule.aliased[r] = root ? piece : PCCL_NONE;
            break;
        case PCCL_REDUCE:
        case PCCL_ALLREDUCE:
            rule.source[r] = true;
            rule.target[r] = collective == PCCL_ALLREDUCE || root;
            rule.input[r] = piece;
            rule.output[r] = rule.target[r] ? piece : PCCL_NONE;
            rule.aliased[r] = rule.output[r];
            break;
        case PCCL_REDUCE_SCATTER:
            rule.source[r] = true;
            rule.target[r] = block == r;
            rule.input[r] = block * PIECES + piece;
            rule.output[r] = rule.target[r] ? piece : PCCL_NONE;
            break;
        case PCCL_SCAN:
        case PCCL_EXSCAN:
            rule.source[r] = collective == PCCL_SCAN || r < RANKS - 1;
            rule.target[r] = collective == PCCL_SCAN || r > 0;
            rule.input[r] = rule.source[r] ? piece : PCCL_NONE;
            rule.output[r] = rule.target[r] ? piece : PCCL_NONE;
            rule.aliased[r] = collective == PCCL_SCAN ? piece : PCCL_NONE;
            break;
        default: /* barrier */
            rule.source[r] = block == r;
            rule.target[r] = true;
        }
    }
    return rule;
}

static bool holds(const struct pccl_demand *demand, uint32_t first, uint32_t count, uint32_t rank)
{
    for (uint32_t i = first; i < first + count; i++) {
        if (demand->holders[i] == rank) {
            return true;
        }
    }
    return false;
}

static void check_chunk(const struct pccl_demand *demand, uint32_t number)
{
    uint32_t pieces = demand->pieces;
    struct rule rule = rule_of(demand->collective, number / pieces, number % pieces);
    const struct pccl_chunk *chunk = &demand->chunks[number];
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(holds(demand, chunk->first_source, chunk->num_sources, r), rule.source[r]);
        assert_int_equal(holds(demand, chunk->first_target, chunk->num_targets, r), rule.target[r]);
        assert_int_equal(pccl_demand_input_slot(demand, number, r), rule.input[r]);
        assert_int_equal(pccl_demand_output_slot(demand, number, r), rule.output[r]);
        if (rule.input[r] != PCCL_NONE) {
            assert_true(rule.input[r] < pccl_demand_num_input_slots(demand, r));
        }
        if (rule.output[r] != PCCL_NONE) {
            assert_true(rule.output[r] < pccl_demand_num_output_slots(demand, r));
            assert_int_equal(pccl_demand_aliased_input_slot(demand, rule.output[r], r), rule.aliased[r]);
        }
    }
}

static void test_standard(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < PCCL_CUSTOM; c++) {
        enum pccl_collective collective = (enum pccl_collective)c;
        struct pccl_demand *demand = sample_demand(collective, RANKS, PIECES, 100, false, false);
        uint32_t num_inputs[RANKS] = {0}, num_outputs[RANKS] = {0};
        for (uint32_t i = 0; i < demand->num_chunks; i++) {
            check_chunk(demand, i);
            for (uint32_t r = 0; r < RANKS; r++) {
                num_inputs[r] += pccl_demand_input_slot(demand, i, r) != PCCL_NONE;
                num_outputs[r] += pccl_demand_output_slot(demand, i, r) != PCCL_NONE;
            }
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            assert_int_equal(pccl_demand_num_input_slots(demand, r), num_inputs[r]);
            assert_int_equal(pccl_demand_num_output_slots(demand, r), num_outputs[r]);
        }
        assert_int_equal(demand->reduces, pccl_collective_is_reduction(collective));
        pccl_demand_free(demand);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 100, INT64_C(1) << 40, (INT64_MAX / RANKS) - 3};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t pieces = 1; pieces < 9; pieces++) {
            struct pccl_demand *demand = sample_demand(PCCL_ALLGATHER, RANKS, pieces, sizes[i], false, false);
            for (uint32_t c = 0; c < demand->num_chunks; c++) {
                __extension__ __int128 p = c % pieces, bytes = sizes[i];
                assert_int_equal(demand->chunks[c].bytes, (int64_t)((p + 1) * bytes / pieces - p * bytes / pieces));
            }
            pccl_demand_free(demand);
        }
    }
}

static void test_custom(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct pccl__random random = {.state = seed};
        struct pccl_demand *demand = sample_custom_demand(6, false, false, &random);
        uint32_t num_inputs[6] = {0}, num_outputs[6] = {0};
        for (uint32_t c = 0; c < demand->num_chunks; c++) {
            const struct pccl_chunk *chunk = &demand->chunks[c];
            for (uint32_t r = 0; r < 6; r++) {
                bool source = holds(demand, chunk->first_source, chunk->num_sources, r);
                bool target = holds(demand, chunk->first_target, chunk->num_targets, r);
                assert_int_equal(pccl_demand_input_slot(demand, c, r), source ? num_inputs[r]++ : PCCL_NONE);
                assert_int_equal(pccl_demand_output_slot(demand, c, r), target ? num_outputs[r]++ : PCCL_NONE);
            }
        }
        for (uint32_t r = 0; r < 6; r++) {
            assert_int_equal(pccl_demand_num_input_slots(demand, r), num_inputs[r]);
            assert_int_equal(pccl_demand_num_output_slots(demand, r), num_outputs[r]);
        }
        pccl_demand_free(demand);
    }
}

static void expect_error(struct pccl_request request, uint32_t pieces, int expected)
{
    struct pccl_demand *demand;
    struct pccl_error error = {""};
    assert_int_equal(pccl_demand_create(&request, pieces, &demand, &error), expected);
    assert_null(demand);
    assert_true(error.message[0] != '\0');
}

static void test_refusals(void **state)
{
    (void)state;
    uint32_t devices[] = {3, 1, 2}, twice[] = {3, 1, 3};
    int64_t negative[] = {1, -1, 1}, huge[] = {INT64_MAX, 1, 0};
    struct pccl_request good = {.collective = PCCL_ALLGATHER, .num_ranks = 3, .devices = devices, .bytes = 8},
                        bad = good;
    bad.num_ranks = 1;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad = good;
    bad.devices = twice;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad.devices = NULL;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad = good;
    bad.bytes = -1;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad.bytes = INT64_MAX / 2;
    expect_error(bad, 1, PCCL_ERR_OVERFLOW);
    bad.block_bytes = negative;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad.block_bytes = huge;
    expect_error(bad, 1, PCCL_ERR_OVERFLOW);
    bad.collective = PCCL_BROADCAST;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad = good;
    bad.collective = PCCL_GATHER;
    bad.root = 3;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad.collective = PCCL_NUM_COLLECTIVES;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    bad.collective = PCCL_CUSTOM;
    expect_error(bad, 1, PCCL_ERR_INVALID);
    expect_error(good, 0, PCCL_ERR_INVALID);
    expect_error(good, UINT32_MAX, PCCL_ERR_OVERFLOW);
}

static void test_custom_refusals(void **state)
{
    (void)state;
    uint32_t devices[] = {0, 1, 2}, holders[] = {0, 1, 2, 0, 3};
    struct pccl_chunk chunk = {8, 0, 1, 1, 2};
    struct pccl_demand pattern = {
        .num_ranks = 3, .num_chunks = 1, .chunks = &chunk, .num_holders = 5, .holders = holders};
    struct pccl_request request = {.collective = PCCL_CUSTOM, .num_ranks = 3, .devices = devices, .custom = &pattern};
    struct pccl_demand *demand;
    assert_int_equal(pccl_demand_create(&request, 1, &demand, NULL), 0);
    pccl_demand_free(demand);
    static const struct pccl_chunk bad[] = {{-1, 0, 1, 1, 2},         {8, 0, 0, 1, 2},         {8, 0, 1, 1, 0},
                                            {8, 2, 2, 1, 1},          {8, 4, 1, 1, 1},         {8, 0, 1, 5, 1},
                                            {8, 0, 1, 1, UINT32_MAX}, {8, UINT32_MAX, 2, 1, 1}};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        chunk = bad[i];
        expect_error(request, 1, PCCL_ERR_INVALID);
    }
}

static void test_names(void **state)
{
    (void)state;
    enum pccl_collective collective;
    for (uint32_t i = 0; i < PCCL_NUM_COLLECTIVES; i++) {
        assert_int_equal(pccl_collective_parse(pccl_collective_name((enum pccl_collective)i), &collective, NULL), 0);
        assert_int_equal(collective, i);
    }
    static const struct {
        const char *text;
        enum pccl_collective collective;
    } good[] = {{"AllGather", PCCL_ALLGATHER},           {"all-gather", PCCL_ALLGATHER},
                {"ALL_TO_ALL", PCCL_ALLTOALL},           {"bcast", PCCL_BROADCAST},
                {"Reduce-Scatter", PCCL_REDUCE_SCATTER}, {"reducescatter", PCCL_REDUCE_SCATTER},
                {"all reduce", PCCL_ALLREDUCE},           {"allgatherv", PCCL_ALLGATHER},
                {"AlltoAllv", PCCL_ALLTOALL},            {"Reduce_scatter_block", PCCL_REDUCE_SCATTER}};
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(pccl_collective_parse(good[i].text, &collective, NULL), 0);
        assert_int_equal(collective, good[i].collective);
    }
    static const char *const bad[] = {"", "all", "allgathervv", "allgathe", "reduce_", "-", "barrier!"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool accepted = pccl_collective_parse(bad[i], &collective, NULL) == 0;
        assert_int_equal(accepted, i == 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard), cmocka_unit_test(test_pieces),          cmocka_unit_test(test_custom),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_custom_refusals), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
