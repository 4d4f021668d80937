/* The JSON object that describes a demand: a file of its own, or part of a schedule's. */
#ifndef PCCL__IO_DEMAND_H
#define PCCL__IO_DEMAND_H

#include "io/json.h"
#include "pccl/demand.h"

/* top: where the object stands; whole_file: it may also have the keys "format" and "version". */
int pccl__demand_from_json(const struct pccl__json_place *top, const cJSON *object, bool whole_file,
                           const struct pccl_topology *topology, struct pccl_demand **demand, struct pccl_error *error);

/* Writes the object, without a line's end after it. Returns 0 or PCCL_ERR_MEMORY. */
int pccl__demand_to_json(FILE *stream, const struct pccl_demand *demand);

/* "format" and "version", where they are given, must be these. */
int pccl__json_check_format(const struct pccl__json_place *top, const cJSON *root, const char *format,
                            struct pccl_error *error);

#endif
