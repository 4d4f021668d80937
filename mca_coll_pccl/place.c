/* Where this process runs: its host, and the part of the host that it is bound to. */
#include <stdio.h>

#include "world.h"

void coll_pccl_place_find(char host[COLL_PCCL_HOST_BYTES], struct pccl_place *place)
{
    snprintf(host, COLL_PCCL_HOST_BYTES, "%s", opal_process_info.nodename ? opal_process_info.nodename : "localhost");
    *place = (struct pccl_place){.host = 0, .package = -1, .numa = -1, .l3 = -1, .core = -1};
    if (opal_hwloc_base_get_topology() != OPAL_SUCCESS || !opal_hwloc_topology) {
        return;
    }
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();
    if (!bound) {
        return;
    }
    if (hwloc_get_cpubind(opal_hwloc_topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        pccl_place_find(opal_hwloc_topology, bound, place);
    }
    hwloc_bitmap_free(bound);
}
