#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_AFTER_SECONDS 1.0

struct bench_report {
    const struct bench_options *options;
    bool has_pccl;
    bool on_terminal;
    double start; /* MPI_Wtime */
    int num_rows, rows_done, rows_declined;
    double sum_log_ratio;
    int num_ratios;
    double worst_ratio;
    char worst[64]; /* which row that was */
    long long wrong;
    FILE *csv;
};

/* mpirun gives a rank a pipe or a terminal of its own, whatever mpirun's own output is; what a person sees is where the
 * process that started the rank writes to. False also where that cannot be told. */
static bool writes_to_terminal(void)
{
    char link[64], target[64];
    ssize_t length;

    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return isatty(STDOUT_FILENO);
    snprintf(link, sizeof(link), "/proc/%ld/fd/1", (long)getppid());
    length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

static void format_size(char *text, size_t text_size, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;

    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, text_size, "%zu %s", bytes, units[unit]);
}

/* A time with three or four significant digits. */
static void format_us(char *text, size_t text_size, double us)
{
    snprintf(text, text_size, us < 100 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
}

static void erase_progress(const struct bench_report *report)
{
    if (report->on_terminal)
        fputs("\r\033[K", stdout);
}

static void print_header(const struct bench_report *report, const struct bench_sides *sides)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, num_ranks;

    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    MPI_Comm_size(sides->comm[BENCH_DEFAULT], &num_ranks);
    printf("# pccl-bench " PCCL_VERSION ", %d ranks, %s\n", num_ranks, library);
    printf("# time of a %s call in microseconds on the slowest rank, median of %d rounds\n",
           bench_form_names[report->options->form], report->options->rounds);
    if (report->options->outstanding > 1)
        printf("# %d operations at a time, their times together\n", report->options->outstanding);
    if (report->has_pccl)
        printf("# ratio = pccl / default, median of the rounds' ratios; below 1 pccl is faster\n"
               "# who serves on pccl's side (--select): %s\n",
               report->options->select);
    if (!report->has_pccl)
        printf("# ONLY THE DEFAULT IS TIMED: %s\n", sides->notice);
}

struct bench_report *bench_report_open(const struct bench_options *options, const struct bench_sides *sides,
                                       int num_rows)
{
    struct bench_report *report = calloc(1, sizeof(*report));

    if (!report) {
        fputs("pccl-bench: out of memory\n", stderr);
        return NULL;
    }
    *report = (struct bench_report){.options = options, .has_pccl = sides->has_pccl, .num_rows = num_rows};
    if (options->csv) {
        report->csv = fopen(options->csv, "w");
        if (!report->csv) {
            fprintf(stderr, "pccl-bench: '%s' cannot be written: %s\n", options->csv, strerror(errno));
            free(report);
            return NULL;
        }
        fputs("collective,bytes,ranks,default_us,pccl_us,ratio,ratio_min,ratio_max,rounds,calls_per_round,"
              "wrong_elements,declined,form,outstanding\n",
              report->csv);
    }
    report->on_terminal = writes_to_terminal();
    report->start = MPI_Wtime();
    print_header(report, sides);
    return report;
}

void bench_report_title(struct bench_report *report, const struct bench_collective *collective)
{
    erase_progress(report);
    printf("\n%s\n%12s %12s", collective->name, "size", "default");
    if (report->has_pccl)
        printf(" %12s %8s", "pccl", "ratio");
    if (report->options->verbose)
        printf(" %8s", "calls");
    if (report->options->verbose && report->has_pccl)
        printf(" %17s", "ratio min .. max");
    putchar('\n');
    fflush(stdout);
}

void bench_report_progress(struct bench_report *report, const struct bench_collective *collective, size_t bytes)
{
    double elapsed = MPI_Wtime() - report->start;
    char size[32];

    if (!report->on_terminal || elapsed < PROGRESS_AFTER_SECONDS || report->rows_done == 0)
        return;
    format_size(size, sizeof(size), bytes);
    printf("\r\033[K[%d of %d] %s %s, about %.0f s left", report->rows_done + 1, report->num_rows, collective->name,
           size, elapsed / report->rows_done * (report->num_rows - report->rows_done));
    fflush(stdout);
}

static void write_csv(struct bench_report *report, const struct bench_case *c, const struct bench_result *result)
{
    fprintf(report->csv, "%s,%zu,%d,%.3f,", c->collective->name, c->bytes, c->num_ranks,
            result->time_us[BENCH_DEFAULT]);
    if (report->has_pccl)
        fprintf(report->csv, "%.3f,%.4f,%.4f,%.4f", result->time_us[BENCH_PCCL], result->ratio, result->ratio_min,
                result->ratio_max);
    else
        fputs(",,,", report->csv);
    fprintf(report->csv, ",%d,%d,%lld,%d,%s,%d\n", report->options->rounds, result->calls,
            result->wrong[BENCH_DEFAULT] + result->wrong[BENCH_PCCL], result->declined, bench_form_names[c->form],
            c->outstanding);
}

static void note_ratio(struct bench_report *report, const struct bench_case *c, const char *size, double ratio)
{
    if (ratio <= 0)
        return;
    report->sum_log_ratio += log(ratio);
    report->num_ratios++;
    if (ratio > report->worst_ratio) {
        report->worst_ratio = ratio;
        snprintf(report->worst, sizeof(report->worst), "%s, %s", c->collective->name, size);
    }
}

static void print_wrong(struct bench_report *report, const struct bench_result *result)
{
    static const char *const names[BENCH_NUM_SIDES] = {"the default", "pccl"};

    for (int side = 0; side < BENCH_NUM_SIDES; side++) {
        if (result->wrong[side])
            printf("  WRONG DATA over %s: %lld elements", names[side], result->wrong[side]);
        report->wrong += result->wrong[side];
    }
}

void bench_report_row(struct bench_report *report, const struct bench_case *c, const struct bench_result *result)
{
    char size[32], time[BENCH_NUM_SIDES][32];

    if (c->collective->pattern == BENCH_NOTHING)
        snprintf(size, sizeof(size), "-");
    else
        format_size(size, sizeof(size), c->bytes);
    for (int side = 0; side < BENCH_NUM_SIDES; side++)
        format_us(time[side], sizeof(time[side]), result->time_us[side]);
    erase_progress(report);
    printf("%12s %12s", size, time[BENCH_DEFAULT]);
    if (report->has_pccl)
        printf(" %12s %8.2f", time[BENCH_PCCL], result->ratio);
    if (report->options->verbose)
        printf(" %8d", result->calls);
    if (report->options->verbose && report->has_pccl)
        printf(" %8.2f .. %5.2f", result->ratio_min, result->ratio_max);
    if (result->declined)
        printf("  pccl declined: both are the default");
    print_wrong(report, result);
    putchar('\n');
    fflush(stdout);
    if (result->declined)
        report->rows_declined++;
    else
        note_ratio(report, c, size, result->ratio);
    if (report->csv)
        write_csv(report, c, result);
    report->rows_done++;
}

void bench_report_skip(struct bench_report *report, size_t bytes, const char *why)
{
    char size[32];

    format_size(size, sizeof(size), bytes);
    erase_progress(report);
    printf("%12s  left out: %s\n", size, why);
    fflush(stdout);
    report->rows_done++;
}

int bench_report_close(struct bench_report *report)
{
    int status = report->wrong ? -1 : 0;

    erase_progress(report);
    putchar('\n');
    if (report->num_ratios)
        printf("# pccl / default over %d rows: geometric mean %.2f, worst %.2f (%s)\n", report->num_ratios,
               exp(report->sum_log_ratio / report->num_ratios), report->worst_ratio, report->worst);
    if (report->rows_declined)
        printf("# PCCL DECLINED %d rows; --mca coll_pccl_verbose 1 tells why\n", report->rows_declined);
    if (report->wrong)
        printf("# DATA WERE WRONG: %lld elements\n", report->wrong);
    else
        puts("# all data were right");
    if (report->csv && (ferror(report->csv) | fclose(report->csv))) {
        fprintf(stderr, "pccl-bench: '%s' could not be written completely\n", report->options->csv);
        status = -1;
    }
    free(report);
    return status;
}
