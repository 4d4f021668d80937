/* A topology that a JSON object gives vertex by vertex and link by link. */
#ifndef PCCL__GRAPH_H
#define PCCL__GRAPH_H

#include "io/json.h"
#include "pccl/topology.h"

/* The keys "format" and "version" of the outermost object. */
int pccl__graph_check_format(const struct pccl__json_place *top, const cJSON *root, struct pccl_error *error);
/* path: of the file, for errors. */
int pccl__graph_read(const char *path, const cJSON *root, struct pccl_topology **topology, struct pccl_error *error);

#endif
