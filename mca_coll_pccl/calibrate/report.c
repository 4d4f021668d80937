#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"

#define PS 1e12
#define DOUBTFUL 3.0 /* on an idle machine the model is within a factor of two, where a cache or a protocol changes */

static bool is_measured(const struct pccl_class *costs)
{
    return costs->latency_origin == PCCL_ORIGIN_MEASURED && costs->bandwidth_origin == PCCL_ORIGIN_MEASURED;
}

/* A time in picoseconds, in microseconds; negative: not given. */
static void print_time(int64_t ps)
{
    if (ps >= 0) {
        printf(" %10.2f", (double)ps / 1e6);
    } else {
        printf(" %10s", "-");
    }
}

static void print_costs(const char *name, const struct pccl_class *costs)
{
    printf("%-20s", name);
    print_time(costs->latency_ps);
    printf(" %12.1f", costs->ps_per_mib > 0 ? (1 << 20) * PS / (double)costs->ps_per_mib / 1e6 : 0.0);
    print_time(costs->send_overhead_ps);
    print_time(costs->receive_overhead_ps);
    if (costs->eager_bytes >= 0) {
        printf(" %10lld", (long long)costs->eager_bytes);
    } else {
        printf(" %10s", "-");
    }
    print_time(costs->eager_bytes >= 0 ? costs->rendezvous_ps : -1);
    puts(is_measured(costs) ? "  measured" : "  as before");
}

/* Which classes keep the numbers they had, and what would measure them. */
static void print_unmeasured(const struct pccl_topology *fabric)
{
    const char *before = "\nNo two ranks of this job are joined by links of class ";
    bool any = false;
    for (uint32_t c = 0; c < fabric->num_classes; c++) {
        if (!is_measured(&fabric->classes[c])) {
            printf("%s\"%s\"", before, fabric->classes[c].name);
            before = ", ";
            any = true;
        }
    }
    if (any) {
        puts(".\nThese keep the numbers they had. Ranks on more hosts, one on each (--map-by node), measure them.");
    }
}

static void print_kind_name(FILE *stream, const struct calibrate_kind *kind, const struct pccl_topology *fabric)
{
    if (!kind->across) {
        fprintf(stream, "inside: %s", pccl_level_name(kind->level));
        return;
    }
    const char *comma = "";
    for (uint32_t c = 0; c < fabric->num_classes; c++) {
        if (kind->crossed[c] > 0) {
            fprintf(stream, "%s%u x %s", comma, kind->crossed[c], fabric->classes[c].name);
            comma = ", ";
        }
    }
}

/* Time of a message by the model, on an idle network. */
static double predict(const struct calibrate_kind *kind, const struct pccl_topology *fabric, size_t bytes)
{
    int64_t latency = 0, per_mib = 0, send = 0, receive = 0, handshake = 0;
    for (uint32_t c = 0; c < (kind->across ? fabric->num_classes : 1); c++) {
        const struct pccl_class *costs = kind->across ? &fabric->classes[c] : &fabric->inside[kind->level];
        uint32_t times = kind->across ? kind->crossed[c] : 1;
        if (times == 0) {
            continue;
        }
        latency += times * costs->latency_ps;
        per_mib = costs->ps_per_mib > per_mib ? costs->ps_per_mib : per_mib;
        send = costs->send_overhead_ps > send ? costs->send_overhead_ps : send;
        receive = costs->receive_overhead_ps > receive ? costs->receive_overhead_ps : receive;
        bool waits = costs->eager_bytes >= 0 && (int64_t)bytes > costs->eager_bytes;
        handshake = waits && costs->rendezvous_ps > handshake ? costs->rendezvous_ps : handshake;
    }
    if (!kind->across && fabric->inside[PCCL_LEVEL_RANK].ps_per_mib > per_mib) {
        per_mib = fabric->inside[PCCL_LEVEL_RANK].ps_per_mib;
    }
    return (double)(latency + send + receive + handshake + pccl_transfer_ps((int64_t)bytes, per_mib)) / PS;
}

static void print_kind(const struct calibrate_kind *kind, const struct calibrate_result *result,
                       const struct pccl_topology *fabric)
{
    printf("\n");
    print_kind_name(stdout, kind, fabric);
    printf(" (%d pair%s at once)\n%12s %14s %14s\n", kind->num_pairs, kind->num_pairs == 1 ? "" : "s", "bytes",
           "measured us", "predicted us");
    for (int i = 0; i < result->num_sizes; i += i + 2 < result->num_sizes || i + 1 == result->num_sizes ? 2 : 1) {
        printf("%12zu %14.2f %14.2f\n", result->sizes[i], result->times[i] * 1e6,
               predict(kind, fabric, result->sizes[i]) * 1e6);
    }
}

void calibrate_report(const struct calibrate_plan *plan, const struct calibrate_result *results,
                      const struct pccl_topology *fabric, const struct calibrate_rank *ranks)
{
    (void)ranks;
    printf("%-20s %10s %12s %10s %10s %10s %10s  %s\n", "class", "latency us", "MB/s", "send us", "receive us",
           "eager B", "handshake", "numbers");
    for (uint32_t c = 0; c < fabric->num_classes; c++) {
        print_costs(fabric->classes[c].name, &fabric->classes[c]);
    }
    for (int i = 0; i < plan->num_kinds; i++) {
        if (!plan->kinds[i].across) {
            print_costs(pccl_level_name(plan->kinds[i].level), &fabric->inside[plan->kinds[i].level]);
        }
    }
    print_unmeasured(fabric);
    puts("\nTwo ranks send to each other at once:");
    for (int i = 0; i < plan->num_kinds; i++) {
        print_kind(&plan->kinds[i], &results[i], fabric);
    }
}

/* By which factor two times differ. */
static double factor(double a, double b)
{
    return a > b ? a / b : b / a;
}

void calibrate_warn(const struct calibrate_plan *plan, const struct calibrate_result *results,
                    const struct pccl_topology *fabric)
{
    const struct calibrate_kind *worst = NULL;
    size_t bytes = 0;
    double measured = 0, predicted = 0, largest = DOUBTFUL;
    for (int i = 0; i < plan->num_kinds; i++) {
        for (int j = 0; j < results[i].num_sizes; j++) {
            double time = predict(&plan->kinds[i], fabric, results[i].sizes[j]);
            if (factor(results[i].times[j], time) > largest) {
                largest = factor(results[i].times[j], time);
                worst = &plan->kinds[i];
                bytes = results[i].sizes[j];
                measured = results[i].times[j];
                predicted = time;
            }
        }
    }
    if (worst) {
        fflush(stdout);
        fprintf(stderr, "pccl-calibrate: warning: the numbers do not explain what was measured, ");
        print_kind_name(stderr, worst, fabric);
        fprintf(stderr, ": %zu bytes took %.2f us, predicted %.2f us. Were machine or network busy? Run it again.\n",
                bytes, measured * 1e6, predicted * 1e6);
    }
}
