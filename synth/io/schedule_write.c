#include <inttypes.h>

#include "base/error.h"
#include "io/demand.h"
#include "io/label.h"
#include "pccl/io.h"

static void put_paths(FILE *stream, const struct pccl_schedule *schedule)
{
    fprintf(stream, " \"paths\": [");
    for (uint32_t i = 0; i < schedule->num_paths; i++) {
        const struct pccl_path *path = &schedule->paths[i];
        fprintf(stream, "%s\n  \"", i > 0 ? "," : "");
        for (uint32_t j = 0; j < path->num_links; j++) {
            fprintf(stream, "%s%" PRIu32, j > 0 ? " " : "", schedule->path_links[path->first_link + j]);
        }
        fputc('"', stream);
    }
    fprintf(stream, "\n ],\n");
}

/* PATH:CHUNKS, or PATH+CHUNKS if the receiver combines; runs of chunks are shortened to FIRST-LAST. */
static void put_message(FILE *stream, const struct pccl_schedule *schedule, const struct pccl_message *message)
{
    uint32_t count;
    const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
    fprintf(stream, "%" PRIu32 "%c", message->path, message->reduce ? '+' : ':');
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chunks[end] == chunks[end - 1] + 1; end++) {
        }
        fprintf(stream, "%s%" PRIu32, i > 0 ? "," : "", chunks[i]);
        if (end - i > 1) {
            fprintf(stream, "-%" PRIu32, chunks[end - 1]);
        }
    }
}

static void put_steps(FILE *stream, const struct pccl_schedule *schedule)
{
    fprintf(stream, " \"steps\": [");
    for (uint32_t i = 0; i < schedule->num_messages; i++) {
        const struct pccl_message *message = &schedule->messages[i];
        if (i == 0 || message->step != message[-1].step) {
            fprintf(stream, "%s\n  {\"step\": %" PRIu32 ", \"messages\": \"", i > 0 ? "\"}," : "", message->step);
        } else {
            fputc(' ', stream);
        }
        put_message(stream, schedule, message);
    }
    fprintf(stream, "%s\n ]\n}\n", schedule->num_messages > 0 ? "\"}" : "");
}

int pccl__schedule_write(const struct pccl_schedule *schedule, const struct pccl_topology *topology,
                         const struct pccl__label *label, const char *path, struct pccl_error *error)
{
    struct pccl__json_file file;
    if (schedule->topology_digest != topology->digest) {
        return pccl__fail(error, PCCL_ERR_INVALID, "the schedule was made for another topology than \"%s\"",
                          topology->name);
    }
    int status = pccl__json_open(&file, path, error);
    if (status != 0) {
        return status;
    }
    fprintf(file.stream, "{\n \"format\": \"pccl-schedule\",\n \"version\": 1,\n");
    if (label != NULL) {
        pccl__label_put(file.stream, label);
    }
    fprintf(file.stream, " \"topology\": ");
    pccl__json_put_text(file.stream, topology->name);
    fprintf(file.stream, ",\n \"topology_digest\": \"%016" PRIx64 "\",\n \"method\": ", topology->digest);
    pccl__json_put_text(file.stream, schedule->method);
    if (schedule->pace > 0) {
        fprintf(file.stream, ",\n \"pace\": %" PRIu32, schedule->pace);
    }
    fprintf(file.stream, ",\n \"digest\": \"%016" PRIx64 "\",\n \"demand\": ", pccl_schedule_digest(schedule));
    status = pccl__demand_to_json(file.stream, schedule->demand);
    fprintf(file.stream, ",\n");
    put_paths(file.stream, schedule);
    put_steps(file.stream, schedule);
    if (status != 0) {
        pccl__fail_memory(error);
    }
    return pccl__json_close(&file, status, error);
}

int pccl_schedule_write(const struct pccl_schedule *schedule, const struct pccl_topology *topology, const char *path,
                        struct pccl_error *error)
{
    return pccl__schedule_write(schedule, topology, NULL, path, error);
}
