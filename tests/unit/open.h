/* A topology from text, or the test fails. */
#ifndef PCCL_TEST_OPEN_H
#define PCCL_TEST_OPEN_H

#include "pccl/topology.h"

static inline struct pccl_topology *open_topology(const char *text)
{
    struct pccl_topology *topology = NULL;
    struct pccl_error error = {""};
    if (pccl_topology_create(text, &topology, &error) != 0) {
        fail_msg("%s: %s", text, error.message);
    }
    return topology;
}

#endif
