/* What if: the messages of a schedule on another topology, which may have other links or other numbers. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct move {
    const struct pccl_topology *from, *to;
    uint32_t *vertex; /* [from->num_vertices] the vertex of `to` with the same name, or PCCL_NONE */
    uint32_t *links;  /* [max_links] way being built */
    uint32_t *queue, *last_link; /* [to->num_vertices] of a search: vertices met, the link that led to each */
    uint32_t max_links;
    struct cli_reroute *summary;
    struct pccl_error *error;
};

/* The fastest link between two vertices, PCCL_NONE if there is none. */
static uint32_t find_link(const struct pccl_topology *topology, uint32_t source, uint32_t target)
{
    uint32_t best = PCCL_NONE;
    for (uint32_t i = topology->first_out[source]; i < topology->first_out[source + 1]; i++) {
        uint32_t link = topology->out_links[i];
        if (topology->links[link].target == target &&
            (best == PCCL_NONE || topology->links[link].ps_per_mib < topology->links[best].ps_per_mib)) {
            best = link;
        }
    }
    return best;
}

/* Several links may join two vertices: the one of the same number is taken where it still joins them. */
static uint32_t find_same_link(const struct move *move, uint32_t link, uint32_t source, uint32_t target)
{
    const struct pccl_topology *to = move->to;
    bool same = link < to->num_links && to->links[link].source == source && to->links[link].target == target;
    return same ? link : find_link(to, source, target);
}

static int keep_way(const struct move *move, const struct pccl_schedule *schedule, const struct pccl_path *path,
                    uint32_t *num_links)
{
    for (uint32_t i = 0; i < path->num_links; i++) {
        uint32_t old = schedule->path_links[path->first_link + i];
        uint32_t source = move->vertex[move->from->links[old].source];
        uint32_t target = move->vertex[move->from->links[old].target];
        uint32_t link =
            source == PCCL_NONE || target == PCCL_NONE ? PCCL_NONE : find_same_link(move, old, source, target);
        if (link == PCCL_NONE) {
            return PCCL_ERR_UNREACHABLE;
        }
        move->links[i] = link;
    }
    *num_links = path->num_links;
    return PCCL_SUCCESS;
}

/* Visits what lies one link beyond queue[head]; returns the new end of the queue. */
static uint32_t visit_neighbours(const struct move *move, uint32_t head, uint32_t tail)
{
    const struct pccl_topology *to = move->to;
    uint32_t vertex = move->queue[head];
    for (uint32_t i = to->first_out[vertex]; i < to->first_out[vertex + 1]; i++) {
        uint32_t link = to->out_links[i], target = to->links[link].target;
        if (target != move->queue[0] && move->last_link[target] == PCCL_NONE) {
            move->last_link[target] = link;
            move->queue[tail++] = target;
        }
    }
    return tail;
}

/* The fewest links through vertices of any kind, for networks whose devices forward but whose rule does not avoid a
 * missing link. Returns their number or PCCL_ERR_UNREACHABLE. */
static int find_detour(const struct move *move, uint32_t source, uint32_t target)
{
    if (!pccl_topology_devices_forward(move->to)) {
        return PCCL_ERR_UNREACHABLE;
    }
    for (uint32_t v = 0; v < move->to->num_vertices; v++) {
        move->last_link[v] = PCCL_NONE;
    }
    move->queue[0] = source;
    for (uint32_t head = 0, tail = 1; head < tail && move->last_link[target] == PCCL_NONE; head++) {
        tail = visit_neighbours(move, head, tail);
    }
    if (move->last_link[target] == PCCL_NONE) {
        return PCCL_ERR_UNREACHABLE;
    }
    int count = 0;
    for (uint32_t v = target; v != source; v = move->to->links[move->last_link[v]].source) {
        count++;
    }
    int place = count;
    for (uint32_t v = target; v != source; v = move->to->links[move->last_link[v]].source) {
        move->links[--place] = move->last_link[v];
    }
    return count;
}

static int find_way(const struct move *move, const struct pccl_schedule *schedule, const struct pccl_path *path,
                    uint32_t *num_links)
{
    if (keep_way(move, schedule, path, num_links) == PCCL_SUCCESS) {
        return PCCL_SUCCESS;
    }
    const char *source_name = move->from->vertices[path->source].name;
    const char *target_name = move->from->vertices[path->target].name;
    uint32_t source = move->vertex[path->source], target = move->vertex[path->target];
    if (source == PCCL_NONE || target == PCCL_NONE) {
        snprintf(move->error->message, sizeof(move->error->message),
                 "topology '%s' has no device named '%s', which the schedule uses", move->to->name,
                 source == PCCL_NONE ? source_name : target_name);
        return PCCL_ERR_UNREACHABLE;
    }
    int count = pccl_topology_route(move->to, source, target, move->links, move->max_links);
    if (count < 0) {
        count = find_detour(move, source, target);
    }
    if (count < 0) {
        snprintf(move->error->message, sizeof(move->error->message),
                 "the schedule sends from '%s' to '%s', but topology '%s' has no way between them; "
                 "'pccl synth' can make a schedule for it",
                 source_name, target_name, move->to->name);
        return PCCL_ERR_UNREACHABLE;
    }
    *num_links = (uint32_t)count;
    move->summary->num_rerouted++;
    return PCCL_SUCCESS;
}

static void match_vertices(struct move *move)
{
    for (uint32_t v = 0; v < move->from->num_vertices; v++) {
        uint32_t match = pccl_topology_find(move->to, move->from->vertices[v].name);
        if (match != PCCL_NONE && (v < move->from->num_devices) != (match < move->to->num_devices)) {
            match = PCCL_NONE;
        }
        move->vertex[v] = match;
    }
}

/* The demand of the schedule with its ranks on the devices of the new topology. */
static int copy_demand(const struct move *move, const struct pccl_schedule *schedule, struct pccl_demand **demand)
{
    struct cli_request recovered;
    int status = cli_request_recover(move->from, schedule, &recovered);
    uint32_t *devices = malloc((size_t)schedule->demand->num_ranks * sizeof(*devices));
    if (!status && !devices) {
        status = PCCL_ERR_MEMORY;
    }
    for (uint32_t rank = 0; !status && rank < schedule->demand->num_ranks; rank++) {
        devices[rank] = move->vertex[schedule->demand->devices[rank]];
        if (devices[rank] == PCCL_NONE) {
            snprintf(move->error->message, sizeof(move->error->message),
                     "topology '%s' has no device named '%s', where rank %u is", move->to->name,
                     move->from->vertices[schedule->demand->devices[rank]].name, rank);
            status = PCCL_ERR_UNREACHABLE;
        }
    }
    recovered.request.devices = devices;
    if (!status) {
        status = pccl_demand_create(&recovered.request, schedule->demand->pieces, demand, move->error);
    }
    free(devices);
    cli_request_free(&recovered);
    return status;
}

static int copy_messages(const struct move *move, const struct pccl_schedule *schedule, struct pccl_schedule *result)
{
    uint32_t *path_of = malloc(((size_t)schedule->num_paths + 1) * sizeof(*path_of));
    int status = path_of ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    for (uint32_t p = 0; !status && p < schedule->num_paths; p++) {
        uint32_t num_links;
        status = find_way(move, schedule, &schedule->paths[p], &num_links);
        if (status) {
            break;
        }
        path_of[p] = pccl_schedule_path(result, move->to, move->links, num_links);
        if (path_of[p] == PCCL_NONE) {
            status = PCCL_ERR_MEMORY;
        }
    }
    for (uint32_t m = 0; !status && m < schedule->num_messages; m++) {
        const struct pccl_message *message = &schedule->messages[m];
        uint32_t count;
        const uint32_t *chunks = pccl_message_chunks(schedule, message, &count);
        status = pccl_schedule_add(result, message->step, path_of[message->path], message->reduce, chunks, count);
    }
    free(path_of);
    return status ? status : pccl_schedule_seal(result);
}

int cli_schedule_reroute(const struct pccl_schedule *schedule, const struct pccl_topology *from,
                         const struct pccl_topology *to, struct pccl_schedule **rerouted, struct cli_reroute *summary,
                         struct pccl_error *error)
{
    struct move move = {.from = from, .to = to, .summary = summary, .error = error};
    struct pccl_demand *demand = NULL;
    struct pccl_schedule *result = NULL;
    *summary = (struct cli_reroute){0};
    move.max_links = pccl_topology_route_limit(to);
    if (move.max_links < to->num_vertices) {
        move.max_links = to->num_vertices;
    }
    for (uint32_t p = 0; p < schedule->num_paths; p++) {
        if (schedule->paths[p].num_links > move.max_links) {
            move.max_links = schedule->paths[p].num_links;
        }
    }
    move.vertex = malloc((size_t)from->num_vertices * sizeof(*move.vertex));
    move.links = malloc(((size_t)move.max_links + 1) * sizeof(*move.links));
    move.queue = malloc((size_t)to->num_vertices * sizeof(*move.queue));
    move.last_link = malloc((size_t)to->num_vertices * sizeof(*move.last_link));
    int status = move.vertex && move.links && move.queue && move.last_link ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (!status) {
        match_vertices(&move);
        status = copy_demand(&move, schedule, &demand);
    }
    if (!status) {
        status = pccl_schedule_create(demand, to, schedule->method, &result, error);
    }
    if (!status) {
        status = copy_messages(&move, schedule, result);
    }
    if (status) {
        pccl_schedule_free(result);
        result = NULL;
    }
    *rerouted = result;
    free(move.last_link);
    free(move.queue);
    free(move.links);
    free(move.vertex);
    return status;
}
