/* Where this process runs: its host, and the part of the host that it is bound to. */
#include <stdio.h>

#include "world.h"

void coll_pccl_place_find(struct coll_pccl_record *record)
{
    snprintf(record->host, sizeof record->host, "%s",
             opal_process_info.nodename ? opal_process_info.nodename : "localhost");
    record->place = (struct pccl_place){.host = 0, .package = -1, .numa = -1, .l3 = -1, .core = -1};
    bool known = opal_hwloc_base_get_topology() == OPAL_SUCCESS && opal_hwloc_topology;
    hwloc_bitmap_t bound = known ? hwloc_bitmap_alloc() : NULL;
    if (bound && hwloc_get_cpubind(opal_hwloc_topology, bound, HWLOC_CPUBIND_PROCESS) != 0) {
        hwloc_bitmap_free(bound);
        bound = NULL;
    }
    if (bound) {
        pccl_place_find(opal_hwloc_topology, bound, &record->place);
    }
    coll_pccl_processors_find(known ? opal_hwloc_topology : NULL, bound, record);
    hwloc_bitmap_free(bound);
}
