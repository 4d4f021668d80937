#include "pccl/import.h"
#include "targets.h"

int fuzz_ibnetdiscover(const uint8_t *data, size_t size)
{
    return fuzz_import(pccl_import_ibnetdiscover, data, size);
}
