#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define CALIBRATION_CALLS 5
#define CALIBRATION_ATTEMPTS 3
#define MIN_CALLS 5
#define ENOUGH_CALLS 50
#define MAX_CALLS 500

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Sorts the values. */
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(double), compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double time_call(const struct bench_sides *sides, const struct bench_case *c, int side)
{
    double start;

    MPI_Barrier(sides->comm[BENCH_DEFAULT]);
    start = MPI_Wtime();
    bench_case_call(c, sides, side);
    return MPI_Wtime() - start;
}

/* Calls both sides in turn, the first of them changing from call to call, because whoever runs first after a barrier
 * may find other caches than the second. seconds: [BENCH_NUM_SIDES * calls], side-major, this rank's times. */
static void time_calls(const struct bench_sides *sides, const struct bench_case *c, int calls, double *seconds)
{
    int num_sides = sides->has_pccl ? 2 : 1;

    for (int call = 0; call < calls; call++) {
        for (int turn = 0; turn < num_sides; turn++) {
            int side = (turn + call) % num_sides;

            seconds[side * calls + call] = time_call(sides, c, side);
        }
    }
}

/* Time of one call of each side with all that goes with it, on the slowest rank: the fastest of a few. */
static double fastest_turn(const struct bench_sides *sides, const struct bench_case *c)
{
    double fastest = INFINITY, slowest, seconds[BENCH_NUM_SIDES];

    for (int i = 0; i < CALIBRATION_CALLS; i++) {
        double start = MPI_Wtime();

        time_calls(sides, c, 1, seconds);
        fastest = fmin(fastest, MPI_Wtime() - start);
    }
    MPI_Allreduce(&fastest, &slowest, 1, MPI_DOUBLE, MPI_MAX, sides->comm[BENCH_DEFAULT]);
    return fmax(slowest, 1e-9);
}

/* As many calls as fill the budget, the same number on every rank. A machine with other work to do may be away for all
 * of the first few, so a low number is not believed at once. */
static int calibrate(const struct bench_options *options, const struct bench_sides *sides, const struct bench_case *c)
{
    double calls = MIN_CALLS;

    if (options->calls > 0)
        return options->calls;
    for (int attempt = 0; attempt < CALIBRATION_ATTEMPTS && calls < ENOUGH_CALLS; attempt++)
        calls = fmax(calls, options->budget_ms / 1000.0 / fastest_turn(sides, c));
    return (int)fmin(calls, MAX_CALLS);
}

/* One round: on rank 0, the median over calls of the slowest rank's time. mine, slowest: [BENCH_NUM_SIDES * calls]. */
static void run_round(const struct bench_sides *sides, const struct bench_case *c, int calls, double *mine,
                      double *slowest, double *round_us)
{
    time_calls(sides, c, calls, mine);
    MPI_Reduce(mine, slowest, BENCH_NUM_SIDES * calls, MPI_DOUBLE, MPI_MAX, 0, sides->comm[BENCH_DEFAULT]);
    for (int side = 0; side < BENCH_NUM_SIDES && c->rank == 0; side++)
        round_us[side] = median(slowest + side * calls, calls) * 1e6;
}

static void check_sides(const struct bench_sides *sides, struct bench_case *c, struct bench_result *result)
{
    for (int side = 0; side < (sides->has_pccl ? 2 : 1); side++) {
        long long mine = (long long)bench_case_check(c, sides, side), all = 0;

        MPI_Reduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, sides->comm[BENCH_DEFAULT]);
        result->wrong[side] += all;
    }
}

/* After a call of pccl's side that moves data, the count of calls served must have risen on every rank. */
static bool was_declined(const struct bench_sides *sides, const struct bench_case *c, unsigned long served_before)
{
    int mine, any;

    if (!sides->has_pccl)
        return false;
    mine = sides->counts && c->bytes + (c->collective->pattern == BENCH_NOTHING) > 0 &&
           bench_sides_served(sides) == served_before;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_LOR, sides->comm[BENCH_DEFAULT]);
    return any;
}

/* rounds: times in microseconds, [BENCH_NUM_SIDES][num_rounds]. */
static void summarize(double *rounds, int num_rounds, struct bench_result *result)
{
    double *other = rounds, *ours = rounds + num_rounds, ratios[num_rounds];

    for (int i = 0; i < num_rounds; i++)
        ratios[i] = other[i] > 0 ? ours[i] / other[i] : 0;
    result->ratio = median(ratios, num_rounds);
    result->ratio_min = ratios[0];
    result->ratio_max = ratios[num_rounds - 1];
    result->time_us[BENCH_DEFAULT] = median(other, num_rounds);
    result->time_us[BENCH_PCCL] = median(ours, num_rounds);
}

int bench_measure(const struct bench_options *options, const struct bench_sides *sides, struct bench_case *c,
                  struct bench_result *result)
{
    int num_rounds = options->rounds, calls, failed, any_failed;
    double *rounds, *samples;
    unsigned long served_before = bench_sides_served(sides);

    *result = (struct bench_result){.ratio = 0};
    bench_case_open(c, sides);
    check_sides(sides, c, result); /* the first use of the plan lies here, outside the times */
    result->declined = was_declined(sides, c, served_before);
    calls = result->calls = calibrate(options, sides, c);

    rounds = calloc((size_t)num_rounds * BENCH_NUM_SIDES, sizeof(double));
    samples = calloc((size_t)calls * BENCH_NUM_SIDES * 2, sizeof(double));
    failed = !rounds || !samples;
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_LOR, sides->comm[BENCH_DEFAULT]);
    if (any_failed)
        goto out;

    for (int i = 0; i < num_rounds; i++) {
        double round_us[BENCH_NUM_SIDES] = {0};

        run_round(sides, c, calls, samples, samples + calls * BENCH_NUM_SIDES, round_us);
        for (int side = 0; side < BENCH_NUM_SIDES; side++)
            rounds[side * num_rounds + i] = round_us[side];
    }
    check_sides(sides, c, result); /* and once more, after many calls */
    summarize(rounds, num_rounds, result);
out:
    free(samples);
    free(rounds);
    return any_failed ? -1 : 0;
}
