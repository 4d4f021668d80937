#include "topology/generators.h"

int pccl_topology_create(const char *text, struct pccl_topology **topology, struct pccl_error *error)
{
    return pccl__topology_generate(text, topology, error);
}
