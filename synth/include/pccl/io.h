/* Files: topologies, demands and schedules as JSON (formats documented in doc/files.md), read and written back the same. */
#ifndef PCCL_IO_H
#define PCCL_IO_H

#include "pccl/schedule.h"

int pccl_topology_read(const char *path, struct pccl_topology **topology, struct pccl_error *error);
int pccl_topology_write(const struct pccl_topology *topology, const char *path, struct pccl_error *error);
/* Written to a temporary file in the same directory and renamed: readers see all of it or nothing. */
int pccl_schedule_read(const char *path, const struct pccl_topology *topology, struct pccl_schedule **schedule,
                       struct pccl_error *error);
int pccl_schedule_write(const struct pccl_schedule *schedule, const struct pccl_topology *topology, const char *path,
                        struct pccl_error *error);

#endif
