#include "bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, num_ranks;

/* Whether a size comes to the same whole elements as one before it. (For a barrier all do.) */
static bool is_repetition(const struct bench_options *options, const struct bench_collective *collective, int index)
{
    size_t bytes = bench_collective_bytes(collective, options->sizes[index]);

    for (int i = 0; i < index; i++)
        if (bench_collective_bytes(collective, options->sizes[i]) == bytes)
            return true;
    return false;
}

static int count_rows(const struct bench_options *options)
{
    int rows = 0;

    for (int i = 0; i < bench_num_collectives; i++)
        for (int j = 0; j < options->num_sizes; j++)
            rows += options->selected[i] && !is_repetition(options, &bench_collectives[i], j);
    return rows;
}

/* Why a case is not run, the same on every rank; NULL if it is. */
static const char *reason_to_skip(const struct bench_options *options, const struct bench_collective *collective,
                                  size_t bytes)
{
    if (bytes > (size_t)INT_MAX / (size_t)num_ranks)
        return "all blocks together exceed what MPI's int displacements reach";
    if (bench_case_memory(options, collective, bytes, num_ranks) > options->max_memory)
        return "needs more than --max-memory";
    return NULL;
}

/* report is NULL on all ranks but 0. Returns 0, or -1 on every rank if memory is short. */
static int run_case(const struct bench_options *options, const struct bench_sides *sides, struct bench_report *report,
                    const struct bench_collective *collective, size_t bytes)
{
    MPI_Comm talk = sides->comm[BENCH_DEFAULT];
    struct bench_result result;
    struct bench_case c;
    int failed, any_failed;

    failed = bench_case_create(&c, options, collective, bytes, talk) != 0;
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_LOR, talk);
    if (!any_failed)
        any_failed = bench_measure(options, sides, &c, &result) != 0;
    if (!any_failed && report)
        bench_report_row(report, &c, &result);
    bench_case_free(&c);
    return any_failed ? -1 : 0;
}

static void run_collective(const struct bench_options *options, const struct bench_sides *sides,
                           struct bench_report *report, const struct bench_collective *collective)
{
    if (report)
        bench_report_title(report, collective);
    for (int i = 0; i < options->num_sizes; i++) {
        size_t bytes = collective->pattern == BENCH_NOTHING ? 0 : options->sizes[i];
        const char *why = reason_to_skip(options, collective, bytes);

        if (is_repetition(options, collective, i))
            continue;
        if (report && !why)
            bench_report_progress(report, collective, bytes);
        if (!why && run_case(options, sides, report, collective, bytes))
            why = "out of memory";
        if (report && why)
            bench_report_skip(report, bytes, why);
    }
}

static int run_all(const struct bench_options *options)
{
    struct bench_report *report = NULL;
    struct bench_sides sides;
    int status = 0;

    bench_sides_create(&sides, options->select);
    if (rank == 0) {
        report = bench_report_open(options, &sides, count_rows(options));
        status = report ? 0 : -1;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, sides.comm[BENCH_DEFAULT]);
    if (status == 0) {
        for (int i = 0; i < bench_num_collectives; i++)
            if (options->selected[i])
                run_collective(options, &sides, report, &bench_collectives[i]);
        if (report)
            status = bench_report_close(report);
        MPI_Bcast(&status, 1, MPI_INT, 0, sides.comm[BENCH_DEFAULT]);
    }
    bench_sides_free(&sides);
    return status;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    status = bench_options_parse(&options, argc, argv, rank);
    if (status == 0 && !options.help && options.root >= num_ranks) {
        if (rank == 0)
            fprintf(stderr, "pccl-bench: --root is %d; expected a rank below %d\n", options.root, num_ranks);
        status = -1;
    }
    if (status == 0 && !options.help)
        status = run_all(&options);
    MPI_Finalize();
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
