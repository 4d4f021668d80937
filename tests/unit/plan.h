/* One method of the portfolio on its own, its schedule checked by the verifier and, unless it is large, on numbers. */
#ifndef PCCL_TEST_PLAN_H
#define PCCL_TEST_PLAN_H

#include <stdio.h>
#include <string.h>

#include "algorithms/portfolio.h"
#include "open.h"
#include "replay.h"

static uint32_t plan_devices[1024]; /* rank = device */

static inline struct pccl_request plan_request(enum pccl_collective collective, uint32_t num_ranks, int64_t bytes)
{
    for (uint32_t i = 0; i < 1024; i++) {
        plan_devices[i] = i;
    }
    return (struct pccl_request){.collective = collective, .num_ranks = num_ranks, .devices = plan_devices,
                                 .bytes = bytes};
}

/* The schedule, or NULL with the reason in *error if the method does not serve the request. */
static inline struct pccl_schedule *plan(const struct pccl_topology *topology, const struct pccl_request *request,
                                         const char *method, uint32_t pieces, struct pccl_error *error)
{
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    struct pccl__problem problem;
    struct pccl_schedule *schedule = NULL;
    uint32_t row = 0;
    while (row < pccl__num_rows && strcmp(pccl__rows[row].method, method) != 0) {
        row++;
    }
    assert_true(row < pccl__num_rows);
    int status = pccl__problem_open(&problem, topology, request, &options, error);
    status = status == 0 ? pccl__row_make(&problem, row, pieces, &schedule, error) : status;
    pccl__problem_close(&problem);
    if (status == PCCL_ERR_UNSUPPORTED) {
        return NULL;
    }
    const char *wrong = NULL;
    if (status == 0) {
        status = pccl_verify_schedule(topology, schedule, request->relays, error);
        bool small = (uint64_t)schedule->demand->num_chunks * topology->num_devices < 1 << 20;
        wrong = small ? replay(schedule, topology->num_devices) : NULL;
    }
    if (status != 0 || wrong != NULL) {
        fail_msg("%s: %s, %s, %u ranks, %u pieces: %s", method, topology->name,
                 pccl_collective_name(request->collective), request->num_ranks, pieces,
                 wrong != NULL ? wrong : error->message);
    }
    return schedule;
}

/* The makespan of what must be served, in blocks on a link of a `unit` topology (a MiB a block), rounded up. */
static inline int64_t plan_slots(const char *text, enum pccl_collective collective, const char *method, uint32_t pieces)
{
    struct pccl_topology *topology = open_topology(text);
    struct pccl_request request = plan_request(collective, topology->num_devices, INT64_C(1) << 20);
    struct pccl_error error = {""};
    struct pccl_schedule *schedule = plan(topology, &request, method, pieces, &error);
    if (schedule == NULL) {
        fail_msg("%s: %s: %s", text, method, error.message);
    }
    struct pccl_simulation simulation = {0};
    assert_int_equal(pccl_simulate(topology, schedule, &simulation, &error), 0);
    int64_t block_ps = pccl_transfer_ps(INT64_C(1) << 20, topology->links[0].ps_per_mib);
    pccl_schedule_free(schedule);
    pccl_topology_free(topology);
    return (simulation.makespan_ps + block_ps - 1) / block_ps;
}

#endif
