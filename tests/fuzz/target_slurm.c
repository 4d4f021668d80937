#include "pccl/import.h"
#include "targets.h"

int fuzz_slurm(const uint8_t *data, size_t size)
{
    return fuzz_import(pccl_import_slurm, data, size);
}
