/* What was measured beside what is required, for people and as comma-separated columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define CASE_WIDTH 40
#define AVERAGE_SECTION "TE-CCL"
#define AVERAGE_RATIO 1.04
#define LEAST_MIB 0.25 /* less is pages, not arrays */

static double ratio_of(const struct bench_measure *measure)
{
    return measure->makespan_ps > 0 ? (double)measure->reference_ps / (double)measure->makespan_ps : 0;
}

/* A reference that no schedule can reach in the model, by more than its last digit. */
static bool is_below_bound(const struct bench_measure *measure)
{
    return measure->reference_ps > 0 && measure->reference_ps < measure->bound_ps - measure->bound_ps / 1000000;
}

/* Names what is missed, "" if nothing is. Ratios count to a millionth, the last digit of published times. */
static void judge(const struct bench_case *which, const struct bench_measure *measure, char *missed, size_t size)
{
    bool slow = which->cpu_seconds > 0 && measure->cpu_seconds > which->cpu_seconds;
    bool large = which->mib > 0 && measure->mib > which->mib;
    bool far = which->gap > 0 && measure->gap > which->gap + 1e-9;
    bool behind = which->ratio > 0 && ratio_of(measure) < which->ratio - 1e-6;
    if (is_below_bound(measure) && which->replay_us > 0) {
        behind = (double)measure->makespan_ps > which->replay_us * 1e6;
    }
    snprintf(missed, size, "%s%s%s%s%s", slow ? " time" : "", large ? " memory" : "", far ? " gap" : "",
             behind ? " reference" : "", measure->status == 0 && !measure->verified ? " WRONG" : "");
}

/* A value and after it what is required, in columns of a fixed width. */
static void print_pair(const char *format, double value, double required, const char *relation)
{
    char text[24], limit[24] = "";
    snprintf(text, sizeof text, format, value);
    if (required > 0) {
        snprintf(limit, sizeof limit, "%s %g", relation, required);
    }
    printf(" %9s %-8s", text, limit);
}

void bench_print_heading(const struct bench_case *which)
{
    printf("\n%-*s %9s %-8s %9s %-8s %9s %-8s %12s %9s %-8s  method\n", CASE_WIDTH, which->section, "CPU s", "",
           "MiB", "", "gap", "", "finish us", "ratio", "");
}

int bench_print(const struct bench_case *which, const struct bench_measure *measure)
{
    char missed[64];
    printf("%-*s", CASE_WIDTH, which->name);
    if (measure->status != 0) {
        printf(" FAILED: %s: %s\n", pccl_status_text(measure->status), measure->error);
        return 1;
    }
    judge(which, measure, missed, sizeof missed);
    print_pair("%.4f", measure->cpu_seconds, which->cpu_seconds, "<=");
    print_pair("%.1f", measure->mib, which->mib, "<=");
    print_pair("%.4f", measure->gap, which->gap, "<=");
    printf(" %12.3f", (double)measure->makespan_ps / 1e6);
    if (measure->reference_ps > 0) {
        print_pair("%.4f", ratio_of(measure), which->ratio, ">=");
    } else {
        print_pair("", 0, 0, "");
    }
    bool required = which->cpu_seconds > 0 || which->mib > 0 || which->gap > 0 || which->ratio > 0;
    bool replayed = is_below_bound(measure) && which->replay_us > 0;
    printf("  %s/%" PRIu32 "  %s%s%s%s\n", measure->method, measure->pieces,
           missed[0] != '\0' ? "MISSED:" : required ? "ok" : "", missed,
           measure->twice_gather ? " (gap: over twice the all-gather's bound)" : "",
           replayed ? " (reference below the bound, compared with its replay)" : "");
    return missed[0] != '\0';
}

/* --- over several cases ------------------------------------------------------------------------------------------- */

static int print_average(const struct bench_list *list, const struct bench_measure *measures)
{
    double logarithms = 0;
    uint32_t count = 0, slower = 0, below = 0;
    for (uint32_t i = 0; i < list->num_cases; i++) {
        if (strcmp(list->cases[i].section, AVERAGE_SECTION) == 0 && measures[i].makespan_ps > 0) {
            logarithms += log(ratio_of(&measures[i]));
            count++;
            slower += ratio_of(&measures[i]) < 1 - 1e-6;
            below += is_below_bound(&measures[i]);
        }
    }
    if (count == 0) {
        return 0;
    }
    double mean = exp(logarithms / count);
    printf("\n%s: %" PRIu32 " cases, geometric mean of the ratios %.4f (>= %.2f)%s; slower than published: %" PRIu32
           " (published times below the certified bound: %" PRIu32 ")\n",
           AVERAGE_SECTION, count, mean, AVERAGE_RATIO, mean < AVERAGE_RATIO ? " MISSED" : " ok", slower, below);
    return mean < AVERAGE_RATIO;
}

/* Least squares on logarithms: y grows as devices ^ exponent. */
struct fit {
    double n, x, y, xx, xy;
};

static void fit_add(struct fit *fit, double devices, double value)
{
    double x = log(devices), y = log(value);
    fit->n++;
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
}

static double fit_exponent(const struct fit *fit)
{
    double spread = fit->n * fit->xx - fit->x * fit->x;
    return spread > 0 ? (fit->n * fit->xy - fit->x * fit->y) / spread : 0;
}

static void print_growths(const struct bench_list *list, const struct bench_measure *measures)
{
    uint32_t i = 0;
    while (i < list->num_cases) {
        const char *section = list->cases[i].section;
        struct fit seconds = {0}, mib = {0};
        uint32_t first = 0, last = 0;
        for (; i < list->num_cases && strcmp(list->cases[i].section, section) == 0; i++) {
            if (strncmp(section, "growth", 6) == 0 && measures[i].makespan_ps > 0 && measures[i].cpu_seconds > 0) {
                fit_add(&seconds, measures[i].num_devices, measures[i].cpu_seconds);
                if (measures[i].mib >= LEAST_MIB) {
                    fit_add(&mib, measures[i].num_devices, measures[i].mib);
                }
                first = first == 0 ? measures[i].num_devices : first;
                last = measures[i].num_devices;
            }
        }
        if (seconds.n > 1) {
            printf("%s, %" PRIu32 " to %" PRIu32 " devices n: time as n^%.2f", section, first, last,
                   fit_exponent(&seconds));
            if (mib.n > 1) {
                printf(", memory as n^%.2f", fit_exponent(&mib));
            }
            printf("\n");
        }
    }
}

int bench_print_summary(const struct bench_list *list, const struct bench_measure *measures)
{
    int num_missed = print_average(list, measures);
    print_growths(list, measures);
    return num_missed;
}

bool bench_write_csv(const char *path, const struct bench_list *list, const struct bench_measure *measures)
{
    FILE *stream = fopen(path, "w");
    if (stream == NULL) {
        return false;
    }
    fprintf(stream, "section,case,devices,method,pieces,messages,cpu_seconds,cpu_seconds_required,mib,mib_required,"
                    "makespan_ps,bound_ps,gap,gap_required,gap_over,reference_ps,ratio,ratio_required,verified,"
                    "missed\n");
    for (uint32_t i = 0; i < list->num_cases; i++) {
        const struct bench_case *which = &list->cases[i];
        const struct bench_measure *measure = &measures[i];
        char missed[64] = " failed";
        if (measure->num_devices == 0 && measure->status == 0) {
            continue;
        }
        if (measure->status == 0) {
            judge(which, measure, missed, sizeof missed);
        }
        fprintf(stream,
                "\"%s\",\"%s\",%" PRIu32 ",\"%s\",%" PRIu32 ",%" PRIu32 ",%.6f,%g,%.2f,%g,%" PRId64 ",%" PRId64
                ",%.6f,%g,%s,%" PRId64 ",%.6f,%g,%d,%s\n",
                which->section, which->name, measure->num_devices, measure->method, measure->pieces,
                measure->num_messages, measure->cpu_seconds, which->cpu_seconds, measure->mib, which->mib,
                measure->makespan_ps, measure->bound_ps, measure->gap, which->gap,
                measure->twice_gather ? "twice the all-gather's bound" : "bound", measure->reference_ps,
                ratio_of(measure), which->ratio, measure->verified, missed[0] != '\0' ? missed + 1 : "");
    }
    return fclose(stream) == 0;
}
