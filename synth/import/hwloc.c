/* hwloc's XML of hosts: the distances between NUMA nodes that firmware tells become costs inside hosts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>

#include "base/error.h"
#include "import/fabric.h"
#include "import/text.h"
#include "topology/private.h"

/* What one file says. */
struct machine {
    char name[PCCL__IMPORT_MAX_NAME + 1];
    int packages, nodes, caches, processors;
    struct pccl_class inside[PCCL_NUM_LEVELS];
};

static int load(const char *path, hwloc_topology_t *topology, struct pccl_error *error)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL || fgetc(stream) == EOF) {
        int status = stream == NULL   ? pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno))
                     : ferror(stream) ? pccl__fail(error, PCCL_ERR_IO, "%.200s: cannot read: %s", path, strerror(errno))
                                      : pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: empty; expected hwloc's XML", path);
        if (stream != NULL) {
            fclose(stream);
        }
        return status;
    }
    fclose(stream);
    if (hwloc_topology_init(topology) != 0) {
        return pccl__fail_memory(error);
    }
    if (hwloc_topology_set_xml(*topology, path) != 0 || hwloc_topology_load(*topology) != 0) {
        hwloc_topology_destroy(*topology);
        return pccl__fail(error, PCCL_ERR_FORMAT, "%.200s: hwloc cannot read it; expected XML as lstopo writes it",
                          path);
    }
    return 0;
}

/* The level at which two NUMA nodes meet. */
static enum pccl_level find_meeting(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t package = NULL;
    while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != NULL) {
        if (hwloc_bitmap_isincluded(a->cpuset, package->cpuset) &&
            hwloc_bitmap_isincluded(b->cpuset, package->cpuset)) {
            return PCCL_LEVEL_PACKAGE;
        }
    }
    return PCCL_LEVEL_HOST;
}

/* A level is as far beyond a NUMA node as the farthest two nodes that meet there are farther than a node from
 * itself. */
static void stretch(struct machine *machine, enum pccl_level level, uint64_t local, uint64_t remote)
{
    struct pccl_class *costs = &machine->inside[level];
    __int128 latency_ps = (__int128)machine->inside[PCCL_LEVEL_NUMA].latency_ps * remote / (local > 0 ? local : 1);
    if (local == 0 || remote < local || latency_ps > PCCL__MAX_LATENCY_PS) {
        return;
    }
    bool first = costs->latency_origin == PCCL_ORIGIN_DEFAULT;
    costs->latency_ps = first || latency_ps > costs->latency_ps ? (int64_t)latency_ps : costs->latency_ps;
    costs->latency_origin = PCCL_ORIGIN_DECLARED;
}

/* From a matrix of relative latencies, which most firmware has. */
static void use_distances(hwloc_topology_t topology, struct machine *machine)
{
    struct hwloc_distances_s *matrix;
    unsigned count = 1;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix, HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                    0) != 0 ||
        count == 0) {
        return;
    }
    for (unsigned a = 0; a < matrix->nbobjs; a++) {
        for (unsigned b = 0; b < matrix->nbobjs; b++) {
            hwloc_obj_t from = matrix->objs[a], to = matrix->objs[b];
            if (a != b && from != NULL && to != NULL && !hwloc_bitmap_iszero(from->cpuset) &&
                !hwloc_bitmap_iszero(to->cpuset)) {
                stretch(machine, find_meeting(topology, from, to), matrix->values[a * matrix->nbobjs + a],
                        matrix->values[a * matrix->nbobjs + b]);
            }
        }
    }
    hwloc_distances_release(topology, matrix);
}

/* One number of the memory of `to` as the processors of `from` see it; 0 if the file does not tell it. */
static uint64_t memory_value(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t to, hwloc_obj_t from)
{
    struct hwloc_location place = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = from->cpuset};
    hwloc_uint64_t value = 0;
    return hwloc_memattr_get_value(topology, attribute, to, &place, 0, &value) == 0 ? value : 0;
}

/* From numbers in nanoseconds and MiB/s, which firmware with an HMAT has. */
static void use_attributes(hwloc_topology_t topology, struct machine *machine)
{
    hwloc_obj_t from = NULL, to;
    while ((from = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, from)) != NULL) {
        for (to = NULL; (to = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, to)) != NULL;) {
            if (from == to || hwloc_bitmap_iszero(from->cpuset) || hwloc_bitmap_iszero(to->cpuset)) {
                continue;
            }
            enum pccl_level level = find_meeting(topology, from, to);
            uint64_t mib_per_second = memory_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, to, from);
            struct pccl_class *costs = &machine->inside[level];
            stretch(machine, level, memory_value(topology, HWLOC_MEMATTR_ID_LATENCY, from, from),
                    memory_value(topology, HWLOC_MEMATTR_ID_LATENCY, to, from));
            if (mib_per_second > 0 && mib_per_second < UINT64_C(1000000000000)) {
                int64_t ps_per_mib = (int64_t)(UINT64_C(1000000000000) / mib_per_second);
                bool first = costs->bandwidth_origin == PCCL_ORIGIN_DEFAULT;
                costs->ps_per_mib = first || ps_per_mib > costs->ps_per_mib ? ps_per_mib : costs->ps_per_mib;
                costs->bandwidth_origin = PCCL_ORIGIN_DECLARED;
            }
        }
    }
}

/* The host's name, or else the file's without its folder and its end. */
static void find_name(hwloc_topology_t topology, const char *path, char *name, size_t room)
{
    const char *told = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName");
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path, *dot = strrchr(base, '.');
    if (told != NULL && told[0] != '\0') {
        snprintf(name, room, "%s", told);
    } else {
        snprintf(name, room, "%.*s", (int)(dot != NULL && dot > base ? dot - base : (long)strlen(base)), base);
    }
}

static int read_machine(const char *path, struct machine *machine, struct pccl_error *error)
{
    hwloc_topology_t topology;
    int status = load(path, &topology, error);
    if (status != 0) {
        return status;
    }
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        machine->inside[level] = pccl__inside_default((enum pccl_level)level);
    }
    find_name(topology, path, machine->name, sizeof machine->name);
    machine->packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    machine->nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    machine->caches = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE);
    machine->processors = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    use_distances(topology, machine);
    use_attributes(topology, machine);
    hwloc_topology_destroy(topology);
    return 0;
}

/* Costs inside hosts are the same for all of a fabric. */
static void note_machine(struct pccl__text *text, const struct machine *machine, const struct machine *first)
{
    bool alike = machine->packages == first->packages && machine->nodes == first->nodes &&
                 machine->caches == first->caches && machine->processors == first->processors;
    for (int level = 0; level < PCCL_NUM_LEVELS; level++) {
        alike = alike && machine->inside[level].latency_ps == first->inside[level].latency_ps &&
                machine->inside[level].ps_per_mib == first->inside[level].ps_per_mib;
    }
    bool told = machine->inside[PCCL_LEVEL_HOST].latency_origin != PCCL_ORIGIN_DEFAULT ||
                machine->inside[PCCL_LEVEL_PACKAGE].latency_origin != PCCL_ORIGIN_DEFAULT;
    if (machine == first && !told) {
        pccl__text_note(text, 0, "tells no distances between NUMA nodes; costs inside hosts are defaults");
    }
    if (!alike) {
        pccl__text_note(text, 0, "%.60s differs from %.60s, whose costs inside hosts stand for all", machine->name,
                        first->name);
    }
}

static int add_host(struct pccl__fabric *fabric, const struct pccl__text *text, const struct machine *machine,
                    struct pccl_error *error)
{
    const struct pccl_class costs = pccl__fabric_costs(0);
    uint32_t host, link_class, hub = 0;
    int status = fabric->names.num_names == 0 ? pccl__fabric_add(fabric, "switch", true, &hub) : 0;
    if (status == 0 && pccl__names_find(&fabric->names, machine->name) != PCCL_NONE) {
        return pccl__text_fail(text, 0, error, "host \"%.60s\" was given before", machine->name);
    }
    status = status != 0 ? status : pccl__fabric_add(fabric, machine->name, false, &host);
    status = status != 0 ? status : pccl__fabric_class(fabric, "hosts", &costs, &link_class);
    return status != 0 ? status : pccl__fabric_join(fabric, host, hub, link_class);
}

int pccl_import_hwloc(const char *const *paths, uint32_t num_paths, const struct pccl_topology *fabric,
                      const struct pccl_import_options *options, struct pccl_topology **topology,
                      struct pccl_error *error)
{
    struct pccl__text text = {.path = num_paths > 0 ? paths[0] : "", .options = options};
    struct pccl_error met = {""};
    struct pccl__fabric hosts = {0};
    struct pccl_topology *plain = NULL;
    struct machine first, machine;
    int status = num_paths > 0 ? 0 : pccl__fail(&met, PCCL_ERR_INVALID, "no file; expected hwloc's XML of a host");
    for (uint32_t i = 0; i < num_paths && status == 0; i++) {
        text.path = paths[i];
        status = read_machine(paths[i], i == 0 ? &first : &machine, &met);
        if (status == 0) {
            note_machine(&text, i == 0 ? &first : &machine, &first);
            status = add_host(&hosts, &text, i == 0 ? &first : &machine, &met);
        }
    }
    text.path = num_paths > 0 ? paths[0] : "";
    if (status == 0 && fabric == NULL) {
        status = pccl__fabric_finish(&hosts, paths[0], &plain, &met);
    }
    if (status == 0) {
        status = pccl_topology_set_costs(fabric != NULL ? fabric : plain, NULL, first.inside, topology, &met);
    }
    status = pccl__fabric_fail(&text, status, &met, error);
    pccl_topology_free(plain);
    pccl__fabric_free(&hosts);
    pccl__text_close(&text);
    return status;
}
