/* Synthesis as a user asks for it: relays only where they help, and a plain word on what cannot be done. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* --- relays ---------------------------------------------------------------------------------------------- */

/* The methods are heuristics: more devices to choose from can lead them astray. */
static int synthesize_both(const struct pccl_topology *topology, const struct pccl_request *request,
                           const struct pccl_options *options, struct pccl_result **result, struct pccl_error *error)
{
    struct pccl_request alone = *request;
    struct pccl_result *without = NULL;
    int status = pccl_synthesize(topology, request, options, result, error);
    if (!request->relays || (status && status != PCCL_ERR_UNSUPPORTED)) {
        return status;
    }
    alone.relays = false;
    int alone_status = pccl_synthesize(topology, &alone, options, &without, NULL);
    if (alone_status == PCCL_SUCCESS && (status || without->makespan_ps < (*result)->makespan_ps)) {
        if (!status) {
            pccl_result_free(*result);
        }
        *result = without;
        return PCCL_SUCCESS;
    }
    if (alone_status == PCCL_SUCCESS) {
        pccl_result_free(without);
    }
    return alone_status == PCCL_ERR_MEMORY ? alone_status : status;
}

/* --- ways between the members ---------------------------------------------------------------------------- */

struct walk {
    const struct pccl_topology *topology;
    uint32_t *unmet; /* [num_unmet] devices of the group, or all where relays are allowed, that were not reached yet */
    uint32_t num_unmet;
    uint32_t *queue; /* [tail] devices reached */
    uint32_t tail;
    uint32_t *links; /* [max_links] of one route */
    uint32_t max_links;
};

/* Everything that `first` can send to (forward) or hear from, device by device. */
static void reach(struct walk *walk, uint32_t first, bool forward)
{
    walk->queue[0] = first;
    walk->tail = 1;
    for (uint32_t head = 0; head < walk->tail; head++) {
        uint32_t here = walk->queue[head], kept = 0;
        for (uint32_t i = 0; i < walk->num_unmet; i++) {
            uint32_t there = walk->unmet[i];
            if (there == first) {
                continue;
            }
            int count = pccl_topology_route(walk->topology, forward ? here : there, forward ? there : here,
                                            walk->links, walk->max_links);
            if (count > 0) {
                walk->queue[walk->tail++] = there;
            } else {
                walk->unmet[kept++] = there;
            }
        }
        walk->num_unmet = kept;
    }
}

static void list_unmet(struct walk *walk, const struct pccl_request *request)
{
    walk->num_unmet = request->relays ? walk->topology->num_devices : request->num_ranks;
    for (uint32_t i = 0; i < walk->num_unmet; i++) {
        walk->unmet[i] = request->relays ? i : request->devices[i];
    }
}

/* A rank that the first rank cannot send to (or hear from), as its device; PCCL_NONE if there is none. */
static uint32_t find_cut_off(struct walk *walk, const struct pccl_request *request, bool forward)
{
    list_unmet(walk, request);
    reach(walk, request->devices[0], forward);
    for (uint32_t i = 0; i < walk->num_unmet; i++) {
        for (uint32_t rank = 1; rank < request->num_ranks; rank++) {
            if (walk->unmet[i] == request->devices[rank]) {
                return walk->unmet[i];
            }
        }
    }
    return PCCL_NONE;
}

/* Says which two devices cannot talk, if that is why nothing was found. */
static int explain_unreachable(const struct pccl_topology *topology, const struct pccl_request *request, int status,
                               struct pccl_error *error)
{
    struct walk walk = {.topology = topology, .max_links = pccl_topology_route_limit(topology)};
    walk.unmet = malloc((size_t)topology->num_devices * sizeof(*walk.unmet));
    walk.queue = malloc(((size_t)topology->num_devices + 1) * sizeof(*walk.queue));
    walk.links = malloc(((size_t)walk.max_links + 1) * sizeof(*walk.links));
    if (walk.unmet && walk.queue && walk.links) {
        uint32_t first = request->devices[0], to = find_cut_off(&walk, request, true);
        uint32_t from = to == PCCL_NONE ? find_cut_off(&walk, request, false) : first;
        to = to == PCCL_NONE ? first : to;
        if (from != PCCL_NONE) {
            snprintf(error->message, sizeof(error->message),
                     "'%.80s' has no way from '%.80s' to '%.80s'%s; expected a network that joins all devices of the "
                     "group",
                     topology->name, topology->vertices[from].name, topology->vertices[to].name,
                     request->relays || request->num_ranks == topology->num_devices
                         ? ""
                         : " within the group (--relays lets others pass data on)");
            status = PCCL_ERR_UNREACHABLE;
        }
    }
    free(walk.links);
    free(walk.queue);
    free(walk.unmet);
    return status;
}

int cli_synthesize(const struct pccl_topology *topology, const struct pccl_request *request,
                   const struct pccl_options *options, struct pccl_result **result, struct pccl_error *error)
{
    int status = synthesize_both(topology, request, options, result, error);
    bool failed = status == PCCL_ERR_UNSUPPORTED || status == PCCL_ERR_UNREACHABLE;
    /* A pattern may leave islands alone; which of its chunks failed, the library says. */
    if (failed && request->collective != PCCL_CUSTOM) {
        status = explain_unreachable(topology, request, status, error);
    }
    return status;
}

/* --- methods --------------------------------------------------------------------------------------------- */

/* A small problem whose candidates are all methods of a collective. */
static int synthesize_sample(enum pccl_collective collective, struct pccl_result **result)
{
    static const uint32_t devices[] = {0, 1, 2, 3};
    static const uint32_t holders[] = {0, 1};
    static const struct pccl_chunk chunk = {64, 0, 1, 1, 1};
    static const struct pccl_demand pattern = {.collective = PCCL_CUSTOM,
                                               .num_ranks = 4,
                                               .pieces = 1,
                                               .num_chunks = 1,
                                               .chunks = &chunk,
                                               .num_holders = 2,
                                               .holders = holders};
    struct pccl_request request = {.collective = collective, .num_ranks = 4, .devices = devices, .bytes = 64};
    struct pccl_options options = {.effort = PCCL_EFFORT_THOROUGH};
    struct pccl_topology *topology;
    request.custom = collective == PCCL_CUSTOM ? &pattern : NULL;
    int status = pccl_topology_create("torus:2x2", &topology, NULL);
    if (!status) {
        status = pccl_synthesize(topology, &request, &options, result, NULL);
        pccl_topology_free(topology);
    }
    return status;
}

static size_t family_length(const char *method)
{
    return strcspn(method, ":");
}

static bool is_first_of_family(const struct pccl_result *result, uint32_t index)
{
    const char *method = result->candidates[index].method;
    size_t length = family_length(method);
    for (uint32_t i = 0; i < index; i++) {
        const char *other = result->candidates[i].method;
        if (family_length(other) == length && strncmp(other, method, length) == 0) {
            return false;
        }
    }
    return true;
}

static void report_method(const struct pccl_result *result, enum pccl_collective collective, const char *method)
{
    char known[1024] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < result->num_candidates; i++) {
        const char *name = result->candidates[i].method;
        if (is_first_of_family(result, i) && length + sizeof(result->candidates[i].method) + 2 < sizeof(known)) {
            length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%.*s", length ? ", " : "",
                                       (int)family_length(name), name);
        }
    }
    cli_error("--method: no method of %s begins with '%.60s'; known are %s", pccl_collective_name(collective), method,
              known);
}

int cli_method_check(enum pccl_collective collective, const char *method)
{
    struct pccl_result *result;
    int status = synthesize_sample(collective, &result);
    if (status) {
        return cli_fail(status, NULL, NULL);
    }
    bool found = false;
    for (uint32_t i = 0; !found && i < result->num_candidates; i++) {
        found = strncmp(result->candidates[i].method, method, strlen(method)) == 0;
    }
    if (!found) {
        report_method(result, collective, method);
    }
    pccl_result_free(result);
    return found ? CLI_OK : CLI_USAGE;
}
