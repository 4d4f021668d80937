/* Devices by the names of hosts. */
#include <string.h>
#include <strings.h>

#include "pccl/topology.h"

/* How well a device's name fits a host's: 0 not at all, 1 in short, 2 but for case. */
static int compare_hosts(const char *device, const char *host)
{
    if (strcasecmp(device, host) == 0) {
        return 2;
    }
    size_t short_device = strcspn(device, "."), short_host = strcspn(host, ".");
    bool one_is_short = device[short_device] == '\0' || host[short_host] == '\0';
    return one_is_short && short_device == short_host && strncasecmp(device, host, short_host) == 0;
}

uint32_t pccl_topology_find_host(const struct pccl_topology *topology, const char *host, bool *ambiguous)
{
    uint32_t found = pccl_topology_find(topology, host);
    int best = found < topology->num_devices ? 3 : 0;
    bool several = false;
    for (uint32_t d = 0; d < topology->num_devices && best < 3; d++) {
        int fit = compare_hosts(topology->vertices[d].name, host);
        if (fit > best) {
            best = fit;
            found = d;
            several = false;
        } else if (fit > 0 && fit == best) {
            several = true;
        }
    }
    if (ambiguous != NULL) {
        *ambiguous = several;
    }
    return best > 0 && !several ? found : PCCL_NONE;
}
