/* The topology of the job, from the parameters and what the ranks told each other. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

struct coll_pccl_world coll_pccl_world;

int coll_pccl_fabric_create(struct pccl_topology **fabric, struct pccl_error *error)
{
    *fabric = NULL;
    const char *text = coll_pccl_parameters.topology;
    return text && text[0] ? pccl_topology_create(text, fabric, error) : PCCL_SUCCESS;
}

/* Numbers the hosts in the order in which ranks name them; returns how many there are. */
static uint32_t number_hosts(const struct coll_pccl_record *records, uint32_t num_ranks, uint32_t *hosts)
{
    uint32_t num_hosts = 0;
    for (uint32_t i = 0; i < num_ranks; i++) {
        uint32_t same = 0;
        while (same < i && strcmp(records[same].host, records[i].host) != 0) {
            same++;
        }
        hosts[i] = same < i ? hosts[same] : num_hosts++;
    }
    return num_hosts;
}

/* Whether every host of the job is a device of the fabric; then devices are those. Else *missing is a rank whose host
 * is none, and *ambiguous says whether its name fits several. */
static bool match_hosts(const struct pccl_topology *fabric, const struct coll_pccl_record *records, uint32_t num_ranks,
                        uint32_t *devices, uint32_t *missing, bool *ambiguous)
{
    for (uint32_t i = 0; i < num_ranks; i++) {
        bool same = i > 0 && strcmp(records[i].host, records[i - 1].host) == 0;
        devices[i] = same ? devices[i - 1] : pccl_topology_find_host(fabric, records[i].host, ambiguous);
        if (devices[i] == PCCL_NONE) {
            *missing = i;
            return false;
        }
    }
    return true;
}

/* Whether the devices have other names than generators give them ("d0", "d1.2"), so that hosts should be among them. */
static bool has_own_names(const struct pccl_topology *fabric)
{
    bool own = false;
    for (uint32_t i = 0; i < fabric->num_devices && !own; i++) {
        const char *name = fabric->vertices[i].name;
        const char *number = name[0] == 'd' ? name + 1 : name;
        own = number[strspn(number, "0123456789.")] != '\0';
    }
    return own;
}

/* The device of the fabric that each rank belongs to; several ranks may share one. *unplaced: see
 * coll_pccl_world_create; then devices are not set. */
static int find_devices(const struct pccl_topology *fabric, const struct coll_pccl_record *records, uint32_t num_ranks,
                        uint32_t *devices, uint32_t *unplaced, struct pccl_error *error)
{
    const char *placement = coll_pccl_parameters.placement;
    if (placement && placement[0]) {
        return coll_pccl_placement_parse(placement, fabric, num_ranks, devices, error);
    }
    uint32_t missing = 0;
    bool ambiguous = false;
    if (match_hosts(fabric, records, num_ranks, devices, &missing, &ambiguous)) {
        return PCCL_SUCCESS;
    }
    if (!ambiguous && has_own_names(fabric)) {
        *unplaced = missing;
        return PCCL_SUCCESS;
    }
    if (ambiguous || fabric->num_devices < num_ranks) {
        snprintf(error->message, sizeof error->message,
                 "topology %.100s has %u devices for %u ranks, and the host %.100s %s; name all hosts in the topology "
                 "or set coll_pccl_placement",
                 fabric->name, fabric->num_devices, num_ranks, records[missing].host,
                 ambiguous ? "fits several of them" : "is not among them");
        return PCCL_ERR_INVALID;
    }
    for (uint32_t i = 0; i < num_ranks; i++) {
        devices[i] = i;
    }
    return PCCL_SUCCESS;
}

/* What there is without a fabric: the hosts of the job on one switch. */
static int put_on_switch(const struct coll_pccl_record *records, uint32_t num_ranks, uint32_t *devices,
                         struct pccl_topology **star, struct pccl_error *error)
{
    char text[24];
    snprintf(text, sizeof text, "star:%u", number_hosts(records, num_ranks, devices));
    return pccl_topology_create(text, star, error);
}

static int join(const struct pccl_topology *fabric, const struct coll_pccl_record *records, const uint32_t *devices,
                uint32_t num_ranks, struct pccl_error *error)
{
    struct pccl_place *places = malloc(num_ranks * sizeof *places);
    if (!places) {
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < num_ranks; i++) {
        places[i] = records[i].place;
        places[i].host = devices[i];
    }
    int status = coll_pccl_processors_share(records, num_ranks, places);
    if (status == PCCL_SUCCESS) {
        status =
            pccl_topology_place(fabric, places, num_ranks, &coll_pccl_world.topology, &coll_pccl_world.devices, error);
    }
    free(places);
    return status;
}

int coll_pccl_world_create(const struct pccl_topology *fabric, const struct coll_pccl_record *records,
                           uint32_t num_ranks, uint32_t *unplaced, struct pccl_error *error)
{
    *unplaced = PCCL_NONE;
    struct pccl_topology *star = NULL;
    uint32_t *devices = malloc(num_ranks * sizeof *devices);
    int status = devices ? PCCL_SUCCESS : PCCL_ERR_MEMORY;
    if (devices && fabric) {
        status = find_devices(fabric, records, num_ranks, devices, unplaced, error);
    }
    if (status == PCCL_SUCCESS && (!fabric || *unplaced != PCCL_NONE)) {
        status = put_on_switch(records, num_ranks, devices, &star, error);
        fabric = star;
    }
    if (status == PCCL_SUCCESS) {
        status = join(fabric, records, devices, num_ranks, error);
    }
    if (status == PCCL_SUCCESS) {
        coll_pccl_world.num_ranks = num_ranks;
        coll_pccl_world.network_message = coll_pccl_network_message(records, num_ranks);
    }
    pccl_topology_free(star);
    free(devices);
    return status;
}

void coll_pccl_world_free(void)
{
    pccl_topology_free(coll_pccl_world.topology);
    free(coll_pccl_world.devices);
    memset(&coll_pccl_world, 0, sizeof coll_pccl_world);
}
