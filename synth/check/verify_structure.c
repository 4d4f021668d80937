/* First pass over a schedule: that it is one, so that later passes may follow its numbers. */
#include "base/error.h"
#include "check/structure.h"
#include "schedule/chunks.h"

static int check_end(const struct pccl__structure *structure, uint32_t path, uint32_t vertex)
{
    const struct pccl_topology *topology = structure->topology;
    if (vertex < topology->num_devices) {
        if (structure->rank[vertex] != PCCL_NONE || structure->relays) {
            return 0;
        }
        return pccl__fail(structure->error, PCCL_ERR_VERIFY,
                          "path %u ends at device %u (%s), which is outside the process group; relays are not allowed",
                          path, vertex, topology->vertices[vertex].name);
    }
    if (topology->vertices[vertex].multicast) {
        return 0;
    }
    return pccl__fail(structure->error, PCCL_ERR_VERIFY, "path %u ends at switch %u (%s), which can only forward", path,
                      vertex, topology->vertices[vertex].name);
}

static int check_path(const struct pccl__structure *structure, uint32_t number)
{
    const struct pccl_topology *topology = structure->topology;
    const struct pccl_schedule *schedule = structure->schedule;
    const struct pccl_path *path = &schedule->paths[number];
    if (path->num_links == 0 || (uint64_t)path->first_link + path->num_links > schedule->num_path_links) {
        return pccl__fail(structure->error, PCCL_ERR_VERIFY, "path %u has %u links from entry %u of a list of %u",
                          number, path->num_links, path->first_link, schedule->num_path_links);
    }
    uint32_t vertex = path->source;
    for (uint32_t i = 0; i < path->num_links; i++) {
        uint32_t link = schedule->path_links[path->first_link + i];
        if (link >= topology->num_links) {
            return pccl__fail(structure->error, PCCL_ERR_VERIFY, "path %u uses link %u; the topology has %u links",
                              number, link, topology->num_links);
        }
        if (topology->links[link].source != vertex) {
            return pccl__fail(structure->error, PCCL_ERR_VERIFY, "path %u is broken: link %u leaves vertex %u, not %u",
                              number, link, topology->links[link].source, vertex);
        }
        if (i > 0 && vertex < topology->num_devices && !pccl_topology_devices_forward(topology)) {
            return pccl__fail(structure->error, PCCL_ERR_VERIFY,
                              "path %u runs through device %u (%s), which does not forward", number, vertex,
                              topology->vertices[vertex].name);
        }
        vertex = topology->links[link].target;
    }
    if (vertex != path->target || path->source == path->target) {
        return pccl__fail(structure->error, PCCL_ERR_VERIFY,
                          "path %u should lead from vertex %u to another, %u, but ends at %u", number, path->source,
                          path->target, vertex);
    }
    int status = check_end(structure, number, path->source);
    return status != 0 ? status : check_end(structure, number, path->target);
}

static bool list_exists(const struct pccl_schedule *schedule, uint32_t number)
{
    return number < schedule->num_lists && schedule->lists[number].count > 0 &&
           (uint64_t)schedule->lists[number].first + schedule->lists[number].count <= schedule->num_list_chunks;
}

static int check_message(const struct pccl__structure *structure, uint32_t number)
{
    const struct pccl_schedule *schedule = structure->schedule;
    const struct pccl_message *message = &schedule->messages[number];
    struct pccl_error *error = structure->error;
    if (number > 0 && message->step < schedule->messages[number - 1].step) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u has step %u after step %u; messages are sorted by step",
                          number, message->step, schedule->messages[number - 1].step);
    }
    if (message->path >= schedule->num_paths) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u uses path %u of %u", number, message->path,
                          schedule->num_paths);
    }
    if (message->reduce && !schedule->demand->reduces) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u combines, but nothing is to be reduced", number);
    }
    if (message->reduce && schedule->paths[message->path].target >= structure->topology->num_devices) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u combines at a switch", number);
    }
    if (message->list && !list_exists(schedule, message->payload)) {
        return pccl__fail(error, PCCL_ERR_VERIFY, "message %u has chunk list %u, which does not exist or is empty",
                          number, message->payload);
    }
    uint32_t count;
    const uint32_t *chunks = pccl__message_chunks(schedule, message, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (chunks[i] >= schedule->demand->num_chunks || (i > 0 && chunks[i] <= chunks[i - 1])) {
            return pccl__fail(error, PCCL_ERR_VERIFY,
                              "message %u carries chunk %u at position %u; different chunks below %u in "
                              "ascending order are expected",
                              number, chunks[i], i, schedule->demand->num_chunks);
        }
    }
    return 0;
}

int pccl__structure_check(const struct pccl__structure *structure)
{
    const struct pccl_schedule *schedule = structure->schedule;
    int status = 0;
    for (uint32_t i = 0; i < schedule->num_paths && status == 0; i++) {
        status = check_path(structure, i);
    }
    for (uint32_t i = 0; i < schedule->num_messages && status == 0; i++) {
        status = check_message(structure, i);
    }
    return status;
}
