/* The contest between plans and the component below: fair turns, meetings at counts that all ranks share, the right
 * winner, an end in bounded time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/random.h"
#include "mca_coll_pccl/contest.h"

#define OCTAVE 10

/* Takes turns until somebody wins: sides take their mean time (the frugal plan takes part if it has one), plus up to
 * `noise_percent`, plus now and then an outlier. Returns the winner and how many calls it took. */
static enum coll_pccl_server run_all(const uint64_t means_ns[COLL_PCCL_NUM_SERVERS], uint32_t noise_percent,
                                     uint64_t seed, uint32_t *calls, uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    struct coll_pccl_contest contest;
    struct pccl__random random = {seed};
    coll_pccl_contest_begin(&contest, OCTAVE);
    for (;;) {
        uint64_t mean_ns = means_ns[coll_pccl_contest_turn(&contest)];
        uint64_t time_ns = mean_ns + mean_ns * pccl__random_below(&random, noise_percent + 1) / 100;
        time_ns *= pccl__random_below(&random, 12) == 0 && noise_percent > 0 ? 20 : 1;
        time_ns *= coll_pccl_contest_counts(&contest) ? 1 : 1000; /* a first call says nothing */
        if (coll_pccl_contest_note(&contest, time_ns, OCTAVE)) {
            enum coll_pccl_server winner = coll_pccl_contest_judge(&contest, medians_ns);
            if (winner != COLL_PCCL_UNDECIDED) {
                *calls = contest.calls;
                return winner;
            }
        }
        if (contest.calls == 1 && means_ns[COLL_PCCL_FRUGAL] > 0) {
            coll_pccl_contest_admit(&contest);
        }
        assert_true(coll_pccl_contest_num_samples(&contest) < COLL_PCCL_CONTEST_SAMPLES);
    }
}

static enum coll_pccl_server run(uint64_t planned_ns, uint64_t previous_ns, uint32_t noise_percent, uint64_t seed,
                                 uint32_t *calls, uint64_t medians_ns[COLL_PCCL_NUM_SERVERS])
{
    const uint64_t means_ns[COLL_PCCL_NUM_SERVERS] = {planned_ns, 0, previous_ns};
    return run_all(means_ns, noise_percent, seed, calls, medians_ns);
}

static void test_the_faster_wins(void **state)
{
    (void)state;
    static const uint64_t times_ns[] = {5000, 30000, 100000, 2000000, 30000000, 900000000};
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls;
    for (uint32_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        for (uint32_t percent = 105; percent < 500; percent += percent / 10) {
            uint64_t slow_ns = times_ns[i] * percent / 100;
            assert_int_equal(run(times_ns[i], slow_ns, 0, 1, &calls, medians_ns), COLL_PCCL_PLANNED);
            assert_true(medians_ns[COLL_PCCL_PLANNED] == times_ns[i] && medians_ns[COLL_PCCL_PREVIOUS] == slow_ns);
            assert_int_equal(run(slow_ns, times_ns[i], 0, 1, &calls, medians_ns), COLL_PCCL_PREVIOUS);
        }
    }
}

/* A tie, or almost one, leaves things as they are. */
static void test_ties(void **state)
{
    (void)state;
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls;
    assert_int_equal(run(1000, 1000, 0, 1, &calls, medians_ns), COLL_PCCL_PREVIOUS);
    assert_int_equal(run(1000000, 1010000, 0, 1, &calls, medians_ns), COLL_PCCL_PREVIOUS);
    assert_int_equal(run(300, 390, 0, 1, &calls, medians_ns), COLL_PCCL_PREVIOUS);
    assert_int_equal(run(300, 420, 0, 1, &calls, medians_ns), COLL_PCCL_PLANNED);
    assert_int_equal(run(0, 0, 0, 1, &calls, medians_ns), COLL_PCCL_PREVIOUS);
}

/* 15 % noise on every call, each twelfth twenty times as long: medians of 32 still tell 12 % apart. */
static void test_noise(void **state)
{
    (void)state;
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls, wrong = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        wrong += run(2000, 2240, 15, seed, &calls, medians_ns) != COLL_PCCL_PLANNED;
        wrong += run(2240, 2000, 15, seed, &calls, medians_ns) != COLL_PCCL_PREVIOUS;
    }
    assert_int_equal(wrong, 0);
}

static void test_bounded(void **state)
{
    (void)state;
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls;
    run(1000, 1005, 0, 1, &calls, medians_ns);
    assert_int_equal(calls, 66);
    run(1000, 3000, 0, 1, &calls, medians_ns); /* clear */
    assert_int_equal(calls, 10);
    run(1500000, 1505000, 0, 1, &calls, medians_ns); /* 20 ms are enough */
    assert_int_equal(calls, 18);
    run(10000000, 10005000, 0, 1, &calls, medians_ns);
    assert_int_equal(calls, 10);
    run(100000000, 100005000, 0, 1, &calls, medians_ns); /* 200 ms are plenty */
    assert_int_equal(calls, 6);
}

/* Of three the fastest, whatever their order; if it is hardly faster, the plan before the frugal one, and what was there
 * before either. */
static void test_three(void **state)
{
    (void)state;
    static const struct {
        uint64_t means_ns[COLL_PCCL_NUM_SERVERS];
        enum coll_pccl_server winner;
    } cases[] = {
        {{5000, 4000, 6000}, COLL_PCCL_FRUGAL},    {{4000, 5000, 6000}, COLL_PCCL_PLANNED},
        {{6000, 5000, 4000}, COLL_PCCL_PREVIOUS},  {{6000, 4000, 5000}, COLL_PCCL_FRUGAL},
        {{900, 30000, 2000}, COLL_PCCL_PLANNED},   {{30000, 900, 2000}, COLL_PCCL_FRUGAL},
        {{30000, 40000, 900}, COLL_PCCL_PREVIOUS}, {{100000, 99000, 200000}, COLL_PCCL_PLANNED},
        {{200000, 99000, 100000}, COLL_PCCL_PREVIOUS}, {{7000000, 1000000, 1100000}, COLL_PCCL_FRUGAL},
    };
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t noise = 0; noise <= 2; noise += 2) {
            assert_int_equal(run_all(cases[i].means_ns, noise, i + 1, &calls, medians_ns), cases[i].winner);
        }
        run_all(cases[i].means_ns, 0, 1, &calls, medians_ns);
        assert_memory_equal(medians_ns, cases[i].means_ns, sizeof medians_ns);
    }
}

/* Whoever has no chance is not called again; the others go on by themselves. */
static void test_who_stays(void **state)
{
    (void)state;
    static const uint64_t means_ns[][COLL_PCCL_NUM_SERVERS] = {
        {1000, 9000, 1005}, {9000, 1005, 1000}, {1000, 1005, 9000}, {1000, 1005, 1010}, {1000, 5000, 9000}};
    static const uint32_t calls_needed[] = {3 + 12 + 2 * 28, 3 + 12 + 2 * 28, 3 + 12 + 2 * 28, 3 + 96, 3 + 12};
    uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
    uint32_t calls;
    for (size_t i = 0; i < sizeof calls_needed / sizeof *calls_needed; i++) {
        run_all(means_ns[i], 0, 1, &calls, medians_ns);
        assert_int_equal(calls, calls_needed[i]);
    }
}

/* Each side meets every place of an application's cycle about as often as the others. */
static void test_fair_turns(void **state)
{
    (void)state;
    for (uint32_t num_sides = 2; num_sides <= 3; num_sides++) {
        for (uint32_t period = 1; period <= 4; period++) {
            int unfair = 5; /* calls */
            struct coll_pccl_contest contest;
            int counts[4][COLL_PCCL_NUM_SERVERS] = {{0}};
            uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
            coll_pccl_contest_begin(&contest, OCTAVE);
            if (num_sides == 3) {
                coll_pccl_contest_admit(&contest);
            }
            for (uint32_t call = 0; call < num_sides * (1 + COLL_PCCL_CONTEST_LAST_MEETING); call++) {
                counts[call % period][coll_pccl_contest_turn(&contest)]++;
                if (coll_pccl_contest_note(&contest, 1, OCTAVE)) {
                    coll_pccl_contest_judge(&contest, medians_ns);
                }
            }
            for (uint32_t place = 0; place < period; place++) {
                for (uint32_t side = 1; side < num_sides; side++) {
                    int difference = counts[place][contest.sides[side]] - counts[place][contest.sides[0]];
                    assert_in_range(difference + unfair, 0, 2 * unfair);
                }
            }
        }
    }
}

/* Only calls of the size in question count, unless there are hardly any. */
static void test_mixed_sizes(void **state)
{
    (void)state;
    for (uint32_t every = 4; every <= 64; every *= 2) {
        struct coll_pccl_contest contest;
        uint64_t medians_ns[COLL_PCCL_NUM_SERVERS];
        coll_pccl_contest_begin(&contest, OCTAVE);
        enum coll_pccl_server winner = COLL_PCCL_UNDECIDED;
        while (winner == COLL_PCCL_UNDECIDED) {
            bool is_planned = coll_pccl_contest_turn(&contest) == COLL_PCCL_PLANNED;
            bool is_large = contest.calls % every >= every - 2; /* a pair, so that both sides meet some */
            uint64_t time_ns = is_large ? (is_planned ? 5000 : 9000) : (is_planned ? 200 : 100);
            if (coll_pccl_contest_note(&contest, time_ns, is_large ? OCTAVE : 3)) {
                winner = coll_pccl_contest_judge(&contest, medians_ns);
            }
        }
        assert_int_equal(winner, every < 64 ? COLL_PCCL_PLANNED : COLL_PCCL_PREVIOUS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_faster_wins), cmocka_unit_test(test_ties),        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_bounded),         cmocka_unit_test(test_three),      cmocka_unit_test(test_who_stays),
        cmocka_unit_test(test_fair_turns),      cmocka_unit_test(test_mixed_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
