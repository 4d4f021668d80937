/* From the costs of ways to those of classes: latencies add up along a way, of
 * the times per byte the largest counts. */
#include <math.h>
#include <stdlib.h>

#include "calibrate.h"

#define PS 1e12
#define SWEEPS 200

static int64_t to_ps(double seconds)
{
    return seconds > 0 ? (int64_t)(seconds * PS + 0.5) : 0;
}

static int64_t to_ps_per_mib(double seconds_per_byte)
{
    return to_ps(seconds_per_byte * (1 << 20));
}

/* Latencies of the classes, none negative, for which those of the ways come out
 * best (least squares, coordinate by coordinate, which is enough for a handful
 * of unknowns). */
static void fit_latencies(const struct calibrate_plan *plan, const struct calibrate_result *results,
                          uint32_t num_classes, double *latencies)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (uint32_t c = 0; c < num_classes; c++) {
            double wanted = 0, weight = 0;
            for (int i = 0; i < plan->num_kinds; i++) {
                const uint32_t *crossed = plan->kinds[i].crossed;
                if (!plan->kinds[i].across || crossed[c] == 0) {
                    continue;
                }
                double rest = results[i].latency;
                for (uint32_t other = 0; other < num_classes; other++) {
                    rest -= other != c ? crossed[other] * latencies[other] : 0;
                }
                wanted += crossed[c] * rest;
                weight += (double)crossed[c] * crossed[c];
            }
            latencies[c] = weight > 0 ? fmax(wanted / weight, 0) : 0;
        }
    }
}

static void set_overheads(struct pccl_class *costs, const struct calibrate_result *result)
{
    costs->send_overhead_ps = to_ps(result->send);
    costs->receive_overhead_ps = to_ps(result->receive);
    costs->overhead_origin = PCCL_ORIGIN_MEASURED;
    costs->eager_bytes = result->eager_bytes > 0 ? (int64_t)result->eager_bytes : -1;
    costs->rendezvous_ps = to_ps(result->rendezvous);
    costs->eager_origin = PCCL_ORIGIN_MEASURED;
}

static void set_bandwidth(struct pccl_class *costs, double seconds_per_byte)
{
    costs->ps_per_mib = to_ps_per_mib(seconds_per_byte);
    costs->bandwidth_origin = PCCL_ORIGIN_MEASURED;
}

/* Of all ways with the class the shortest tells overheads; the fastest is at
 * least as slow as each of its links. */
static void fit_class(const struct calibrate_plan *plan, const struct calibrate_result *results, uint32_t link_class,
                      double latency, struct pccl_class *costs)
{
    int shortest = -1;
    double fastest = INFINITY;
    for (int i = 0; i < plan->num_kinds; i++) {
        if (plan->kinds[i].across && plan->kinds[i].crossed[link_class] > 0) {
            shortest = shortest < 0 || plan->kinds[i].num_links < plan->kinds[shortest].num_links ? i : shortest;
            fastest = fmin(fastest, results[i].seconds_per_byte);
        }
    }
    if (shortest < 0) {
        return; /* no two hosts of this job are joined by such a link */
    }
    for (int i = 0; i < plan->num_bundles; i++) {
        if (plan->bundles[i].across && plan->bundles[i].which == link_class) {
            double shared = calibrate_share(&plan->bundles[i], fastest);
            fastest = shared > 0 ? fmin(fastest, shared) : fastest;
        }
    }
    costs->latency_ps = to_ps(latency);
    costs->latency_origin = PCCL_ORIGIN_MEASURED;
    set_bandwidth(costs, fastest);
    set_overheads(costs, &results[shortest]);
}

static void fit_inside(const struct calibrate_plan *plan, const struct calibrate_result *results,
                       struct pccl_class *inside)
{
    double own = INFINITY;
    for (int i = 0; i < plan->num_kinds; i++) {
        if (plan->kinds[i].across) {
            continue;
        }
        struct pccl_class *costs = &inside[plan->kinds[i].level];
        double alone = results[i].seconds_per_byte, shared = alone;
        for (int b = 0; b < plan->num_bundles; b++) {
            if (!plan->bundles[b].across && plan->bundles[b].which == plan->kinds[i].level) {
                double together = calibrate_share(&plan->bundles[b], alone);
                shared = together > 0 ? fmin(shared, together) : shared;
            }
        }
        costs->latency_ps = to_ps(results[i].latency);
        costs->latency_origin = PCCL_ORIGIN_MEASURED;
        set_bandwidth(costs, shared);
        set_overheads(costs, &results[i]);
        own = fmin(own, alone);
    }
    if (own < INFINITY) {
        set_bandwidth(&inside[PCCL_LEVEL_RANK], own);
    }
}

void calibrate_fit(const struct calibrate_plan *plan, const struct calibrate_result *results, uint32_t num_classes,
                   struct pccl_class *classes, struct pccl_class *inside)
{
    double *latencies = calloc((size_t)num_classes + 1, sizeof *latencies);
    if (!latencies) {
        return;
    }
    fit_latencies(plan, results, num_classes, latencies);
    for (uint32_t c = 0; c < num_classes; c++) {
        fit_class(plan, results, c, latencies[c], &classes[c]);
    }
    fit_inside(plan, results, inside);
    free(latencies);
}
