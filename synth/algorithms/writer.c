/* Writes schedules: ranks to paths, phases, mirroring. */
#include "algorithms/algorithm.h"

#include <stddef.h>

#include "base/error.h"

void pccl__writer_fail(struct pccl__writer *writer, int status, const char *why)
{
    if (writer->status == 0) {
        writer->status = pccl__fail(writer->error, status, "%s", why);
    }
}

int pccl__schedule_begin(const struct pccl__problem *problem, uint32_t pieces, struct pccl_schedule **schedule,
                         struct pccl_error *error)
{
    struct pccl_demand *demand;
    int status = pccl_demand_create(problem->request, pieces, &demand, error);
    if (status != 0) {
        return status;
    }
    return pccl_schedule_create(demand, problem->topology, problem->method, schedule, error);
}

void pccl__writer_open(struct pccl__writer *writer, const struct pccl__problem *problem, uint32_t pieces,
                       uint32_t demand_pieces, struct pccl_error *error)
{
    *writer = (struct pccl__writer){.problem = problem, .error = error, .pieces = pieces};
    writer->number = pccl__problem_next_writer(problem);
    writer->status = pccl__schedule_begin(problem, demand_pieces, &writer->schedule, error);
}

/* Makes the steps of a mirrored phase run backwards. */
static void finish_phase(struct pccl__writer *writer)
{
    if (writer->phase == PCCL__FORWARD || writer->schedule == NULL) {
        return;
    }
    uint32_t last = 2 * writer->first_step + writer->num_steps - 1;
    for (uint32_t i = writer->first_message; i < writer->schedule->num_messages; i++) {
        writer->schedule->messages[i].step = last - writer->schedule->messages[i].step;
    }
}

void pccl__writer_phase(struct pccl__writer *writer, enum pccl__phase phase)
{
    finish_phase(writer);
    writer->phase = phase;
    writer->first_step += writer->num_steps;
    writer->num_steps = 0;
    writer->first_message = writer->schedule != NULL ? writer->schedule->num_messages : 0;
}

static uint32_t find_path(struct pccl__writer *writer, uint32_t from, uint32_t to)
{
    struct pccl__route *route = pccl__route(writer->problem, from, to);
    if (route == NULL) {
        pccl__writer_fail(writer, PCCL_ERR_UNSUPPORTED, "a pair of ranks that it joins has no route");
        return PCCL_NONE;
    }
    if (route->writer != writer->number) {
        route->path = pccl_schedule_path(writer->schedule, writer->problem->topology,
                                         pccl__route_links(writer->problem, route), route->num_links);
        route->writer = writer->number;
        if (route->path == PCCL_NONE) {
            pccl__writer_fail(writer, PCCL_ERR_MEMORY, "out of memory");
        }
    }
    return route->path;
}

static void add(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, bool reduce,
                const uint32_t *chunks, uint32_t num_chunks)
{
    if (writer->status != 0 || num_chunks == 0) {
        return;
    }
    uint32_t path = find_path(writer, from, to);
    if (path == PCCL_NONE) {
        return;
    }
    if (step >= writer->num_steps) {
        writer->num_steps = step + 1;
    }
    int status = pccl_schedule_add(writer->schedule, writer->first_step + step, path, reduce, chunks, num_chunks);
    if (status != 0) {
        pccl__writer_fail(writer, status, pccl_status_text(status));
    }
}

void pccl__writer_send(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, const uint32_t *chunks,
                       uint32_t num_chunks)
{
    if (writer->phase == PCCL__FORWARD) {
        add(writer, step, from, to, false, chunks, num_chunks);
    } else {
        add(writer, step, to, from, writer->phase == PCCL__MIRRORED_REDUCE, chunks, num_chunks);
    }
}

void pccl__writer_reduce(struct pccl__writer *writer, uint32_t step, uint32_t from, uint32_t to, const uint32_t *chunks,
                         uint32_t num_chunks)
{
    add(writer, step, from, to, true, chunks, num_chunks);
}

int pccl__writer_close(struct pccl__writer *writer, struct pccl_schedule **schedule)
{
    finish_phase(writer);
    if (writer->status == 0) {
        int status = pccl_schedule_seal(writer->schedule);
        if (status != 0) {
            pccl__writer_fail(writer, status, pccl_status_text(status));
        }
    }
    *schedule = NULL;
    if (writer->status != 0) {
        pccl_schedule_free(writer->schedule);
    } else {
        *schedule = writer->schedule;
    }
    writer->schedule = NULL;
    return writer->status;
}
