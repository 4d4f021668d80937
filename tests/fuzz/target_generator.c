#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pccl/topology.h"
#include "targets.h"

#define LARGE 20000          /* devices and more: valid, but too slow to make thousands of times a second */
#define IMPOSSIBLE (1 << 26) /* refused before anything is allocated */

/* The product of all numbers that stand before the options. */
static double estimate(const char *text)
{
    double product = 1;
    const char *end = strchr(text, ':') ? strchr(text, ':') + 1 : text;
    end += strcspn(end, ":");
    if (strncmp(text, "hypercube:", 10) == 0) {
        return atoi(text + 10) > 12 && atoi(text + 10) < 30 ? LARGE : 1;
    }
    for (; text < end; text++) {
        if (isdigit((unsigned char)*text)) {
            product *= strtod(text, NULL);
            while (isdigit((unsigned char)*text)) {
                text++;
            }
        }
    }
    return strncmp(end, ":links=", 7) == 0 ? product * 100 : product;
}

int fuzz_generator(const uint8_t *data, size_t size)
{
    struct pccl_topology *topology = NULL;
    struct pccl_error error;
    char text[1200];
    if (size >= sizeof(text)) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    /* Paths are for fuzz_topology; and no file of the machine shall be read by chance. */
    if (strchr(text, '/') && !strstr(text, "B/s")) {
        return 0;
    }
    if (strstr(text, ".json") || (estimate(text) >= LARGE && estimate(text) < IMPOSSIBLE) ||
        strncmp(text, "full:", 5) == 0) {
        return 0;
    }
    if (pccl_topology_create(text, &topology, &error) == PCCL_SUCCESS) {
        pccl_topology_free(topology);
    }
    return 0;
}
