/* Which ranks of a host take turns on a processor, from the processors that each of them may run on and the time that
 * it may use there. */
#include <stdlib.h>
#include <string.h>

#include "quota.h"
#include "world.h"

/* A rank with what decides on which processor it counts. */
struct tenant {
    uint32_t device, rank;
    uint32_t num_processors; /* that it may run on */
    uint32_t processor;      /* that it is on */
    const struct coll_pccl_record *record;
};

/* All or none: of a set that has no room nobody knows how many there are. */
static void note_usable(hwloc_topology_t topology, hwloc_const_bitmap_t usable, uint64_t *processors)
{
    for (hwloc_obj_t unit = NULL; (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != NULL;) {
        if (!hwloc_bitmap_isset(usable, unit->os_index)) {
            continue;
        }
        if (unit->logical_index >= COLL_PCCL_PROCESSORS) {
            memset(processors, 0, COLL_PCCL_PROCESSOR_WORDS * sizeof *processors);
            return;
        }
        processors[unit->logical_index / 64] |= UINT64_C(1) << unit->logical_index % 64;
    }
}

static void note_first(uint32_t count, uint64_t *processors)
{
    for (uint32_t p = 0; p < count && p < COLL_PCCL_PROCESSORS; p++) {
        processors[p / 64] |= UINT64_C(1) << p % 64;
    }
}

static bool has_any(const uint64_t *processors)
{
    bool any = false;
    for (uint32_t word = 0; word < COLL_PCCL_PROCESSOR_WORDS; word++) {
        any |= processors[word] != 0;
    }
    return any;
}

static void find_quota(struct coll_pccl_record *record)
{
    struct coll_pccl_quota quota;
    coll_pccl_quota_find("", &quota);
    record->quota = quota.processors;
    record->quota_group = quota.group;
    if (coll_pccl_parameters.verbose < 5 || opal_process_info.my_local_rank != 0) {
        return;
    }
    if (quota.processors > 0) {
        opal_output(coll_pccl_output, "%s leaves the ranks on %s the time of %u processor%s", quota.path, record->host,
                    quota.processors, quota.processors == 1 ? "" : "s");
    }
    if (quota.problem[0]) {
        opal_output(coll_pccl_output, "limits of processor time on %s are not known: %s", record->host, quota.problem);
    }
}

void coll_pccl_processors_find(hwloc_topology_t topology, hwloc_const_bitmap_t bound, struct coll_pccl_record *record)
{
    memset(record->processors, 0, sizeof record->processors);
    record->quota = record->quota_group = 0;
    if (coll_pccl_parameters.processors > 0) {
        note_first((uint32_t)coll_pccl_parameters.processors, record->processors);
        return;
    }
    hwloc_bitmap_t usable = topology && bound ? hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)) : NULL;
    if (usable) {
        hwloc_bitmap_and(usable, usable, bound);
        note_usable(topology, usable, record->processors);
    }
    hwloc_bitmap_free(usable);
    find_quota(record);
    if (!has_any(record->processors)) {
        note_first((uint32_t)record->quota, record->processors);
    }
}

static bool may_use(const struct tenant *tenant, uint32_t processor)
{
    return tenant->record->processors[processor / 64] >> processor % 64 & 1;
}

/* By host; those first that may run on few processors; then those together that may run on the same ones. */
static int compare_tenants(const void *left, const void *right)
{
    const struct tenant *a = left, *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->num_processors != b->num_processors) {
        return a->num_processors < b->num_processors ? -1 : 1;
    }
    int order = memcmp(a->record->processors, b->record->processors, sizeof a->record->processors);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static bool have_equal_choice(const struct tenant *a, const struct tenant *b)
{
    return a->device == b->device &&
           memcmp(a->record->processors, b->record->processors, sizeof a->record->processors) == 0;
}

static uint32_t find_least_loaded(const struct tenant *tenant, const uint32_t *load)
{
    uint32_t least = PCCL_NONE;
    for (uint32_t p = 0; p < COLL_PCCL_PROCESSORS; p++) {
        if (may_use(tenant, p) && (least == PCCL_NONE || load[p] < load[least])) {
            least = p;
        }
    }
    return least;
}

/* Spreads tenants with an equal choice evenly, neighbours together. load, added: ranks on each processor. */
static void settle(const struct tenant *tenants, uint32_t count, uint32_t *load, struct pccl_place *places)
{
    uint32_t added[COLL_PCCL_PROCESSORS] = {0}, next = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t processor = find_least_loaded(&tenants[i], load);
        load[processor]++;
        added[processor]++;
    }
    for (uint32_t p = 0; p < COLL_PCCL_PROCESSORS; p++) {
        for (; added[p] > 0; added[p]--) {
            places[tenants[next++].rank].processor = p + 1;
        }
    }
}

/* By the limit that they share, in order of processors. */
static int compare_limits(const void *left, const void *right)
{
    const struct tenant *a = left, *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->record->quota_group != b->record->quota_group) {
        return a->record->quota_group < b->record->quota_group ? -1 : 1;
    }
    if (a->record->quota != b->record->quota) {
        return a->record->quota < b->record->quota ? -1 : 1;
    }
    if (a->processor != b->processor) {
        return a->processor < b->processor ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool share_limit(const struct tenant *a, const struct tenant *b)
{
    return a->device == b->device && a->record->quota_group == b->record->quota_group &&
           a->record->quota == b->record->quota;
}

/* Ranks that have the time of fewer processors than they are on take turns on as many as that. scratch:
 * [2 * num_ranks]. */
static void apply_limits(struct tenant *tenants, uint32_t num_ranks, uint32_t *scratch, struct pccl_place *places)
{
    for (uint32_t i = 0; i < num_ranks; i++) {
        tenants[i].processor = places[tenants[i].rank].processor;
    }
    qsort(tenants, num_ranks, sizeof *tenants, compare_limits);
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        for (end = i; end < num_ranks && share_limit(&tenants[i], &tenants[end]); end++) {
            scratch[end - i] = tenants[end].processor;
        }
        coll_pccl_quota_squeeze(scratch, end - i, (uint32_t)tenants[i].record->quota, scratch + num_ranks);
        for (uint32_t k = i; k < end; k++) {
            places[tenants[k].rank].processor = scratch[num_ranks + k - i];
        }
    }
}

int coll_pccl_processors_share(const struct coll_pccl_record *records, uint32_t num_ranks, struct pccl_place *places)
{
    uint32_t load[COLL_PCCL_PROCESSORS];
    struct tenant *tenants = malloc(num_ranks * sizeof *tenants);
    uint32_t *scratch = malloc(2 * (size_t)num_ranks * sizeof *scratch);
    if (!tenants || !scratch) {
        free(tenants);
        free(scratch);
        return PCCL_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < num_ranks; i++) {
        tenants[i] = (struct tenant){.device = places[i].host, .rank = i, .record = &records[i]};
        for (uint32_t word = 0; word < COLL_PCCL_PROCESSOR_WORDS; word++) {
            tenants[i].num_processors += (uint32_t)__builtin_popcountll(records[i].processors[word]);
        }
    }
    qsort(tenants, num_ranks, sizeof *tenants, compare_tenants);
    for (uint32_t i = 0, end; i < num_ranks; i = end) {
        if (i == 0 || tenants[i].device != tenants[i - 1].device) {
            memset(load, 0, sizeof load);
        }
        for (end = i + 1; end < num_ranks && have_equal_choice(&tenants[i], &tenants[end]); end++) {
        }
        if (tenants[i].num_processors > 0) {
            settle(&tenants[i], end - i, load, places);
        }
    }
    apply_limits(tenants, num_ranks, scratch, places);
    free(tenants);
    free(scratch);
    return PCCL_SUCCESS;
}
