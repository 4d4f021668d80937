#include "pccl/import.h"
#include "targets.h"

/* One file, whose host goes on a switch. */
static int import(const char *path, const struct pccl_import_options *options, struct pccl_topology **topology,
                  struct pccl_error *error)
{
    return pccl_import_hwloc(&path, 1, NULL, options, topology, error);
}

int fuzz_hwloc(const uint8_t *data, size_t size)
{
    return fuzz_import(import, data, size);
}
