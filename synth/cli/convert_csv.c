/* CSV: one line per message. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "pccl/simulate.h"

/* A field in quotes if it needs them. */
static void print_field(FILE *stream, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') {
            fputc('"', stream);
        }
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void print_message(const struct pccl_topology *topology, const struct pccl_schedule *schedule,
                          const struct pccl_simulation *simulation, uint32_t index, FILE *stream)
{
    const struct pccl_message *message = &schedule->messages[index];
    const struct pccl_path *path = &schedule->paths[message->path];
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    fprintf(stream, "%u,%u,", index, message->step);
    print_field(stream, topology->vertices[path->source].name);
    fputc(',', stream);
    print_field(stream, topology->vertices[path->target].name);
    fputc(',', stream);
    for (uint32_t i = 0; i < path->num_links; i++) {
        fprintf(stream, "%s%u", i ? ";" : "", schedule->path_links[path->first_link + i]);
    }
    fputc(',', stream);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stream, "%s%u", i ? ";" : "", chunks[i]);
    }
    fprintf(stream, ",%lld,%u,%lld,%lld\n", (long long)cli_message_bytes(schedule, message), (unsigned)message->reduce,
            (long long)simulation->start_ps[index], (long long)simulation->finish_ps[index]);
}

int convert_csv(const struct pccl_topology *topology, const struct pccl_schedule *schedule, FILE *stream,
                struct pccl_error *error)
{
    struct pccl_simulation simulation = {0};
    simulation.start_ps = calloc((size_t)schedule->num_messages + 1, sizeof(int64_t));
    simulation.finish_ps = calloc((size_t)schedule->num_messages + 1, sizeof(int64_t));
    int status = simulation.start_ps && simulation.finish_ps ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        status = pccl_simulate(topology, schedule, &simulation, error);
    }
    if (!status) {
        fprintf(stream, "message,step,source,target,links,chunks,bytes,reduce,start_ps,finish_ps\n");
        for (uint32_t m = 0; m < schedule->num_messages; m++) {
            print_message(topology, schedule, &simulation, m, stream);
        }
    }
    free(simulation.finish_ps);
    free(simulation.start_ps);
    return status;
}
