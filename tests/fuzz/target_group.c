#include <stdlib.h>
#include <string.h>

#include "../../synth/cli/cli.h"
#include "targets.h"

static void parse_group(const char *generator, const char *text)
{
    struct pccl_topology *topology;
    struct pccl_error error;
    struct cli_group group;
    if (pccl_topology_create(generator, &topology, &error)) {
        abort();
    }
    if (cli_group_parse(topology, text, &group, &error) == PCCL_SUCCESS) {
        for (uint32_t i = 0; i < group.num_devices; i++) {
            if (group.devices[i] >= topology->num_devices) {
                abort();
            }
        }
        if (group.num_groups == 0 || group.first[group.num_groups] != group.num_devices) {
            abort();
        }
        cli_group_free(&group);
    }
    pccl_topology_free(topology);
}

int fuzz_group(const uint8_t *data, size_t size)
{
    char text[400];
    int64_t bytes;
    struct pccl_error error;
    if (size >= sizeof(text)) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    parse_group("mesh:3x4x2", text);
    parse_group("star:9", text);
    if (cli_bytes_parse(text, &bytes, &error) == PCCL_SUCCESS && bytes < 0) {
        abort();
    }
    return 0;
}
