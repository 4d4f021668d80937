#include "defects.h"

static bool avoids;

void defects_avoid(bool avoid)
{
    avoids = avoid;
}

bool defect_in_place(enum collective collective, enum form form)
{
    return avoids && form != BLOCKING &&
           (collective == ALLTOALL || collective == ALLTOALLV || collective == ALLTOALLW);
}

bool defect_empty_types(void)
{
    return avoids;
}

bool defect_mixed_types(enum collective collective)
{
    return avoids && collective == ALLGATHERV;
}

bool defect_call(const struct communicator *communicator, enum collective collective, enum form form)
{
    const bool exchanges = collective >= NEIGHBOR_ALLTOALL && collective <= NEIGHBOR_ALLTOALLW;
    return avoids && ((communicator->wraps && exchanges) || (collective == GATHER && form == BLOCKING) ||
                      (collective == ALLTOALLW && communicator->size == 1));
}

bool defect_operand_bounds(void)
{
    return avoids;
}

bool defect_edge_tags(void)
{
    return avoids;
}

bool defect_communicator_free(void)
{
    return avoids;
}

bool defect_type_free(void)
{
    return avoids;
}
