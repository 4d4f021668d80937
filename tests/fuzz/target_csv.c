#include <string.h>

#include "pccl/io.h"
#include "targets.h"

int fuzz_csv(const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct pccl_topology *topology = NULL;
    struct pccl_error error;
    char filter[80] = "";
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    size_t length = newline ? (size_t)(newline - data) : 0;
    if (!newline || length >= sizeof(filter)) {
        return 0;
    }
    memcpy(filter, data, length);
    filter[length] = '\0';
    fuzz_file_open(&file, newline + 1, size - length - 1);
    if (pccl_topology_read_csv(file.path, filter[0] ? filter : NULL, length % 2, &topology, &error) == PCCL_SUCCESS) {
        pccl_topology_free(topology);
    }
    fuzz_file_close(&file);
    return 0;
}
