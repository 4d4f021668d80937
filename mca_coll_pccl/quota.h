/* Limits of processor time: how much of it the control groups (cgroups) of this process leave it. */
#ifndef COLL_PCCL_QUOTA_H
#define COLL_PCCL_QUOTA_H

#include <stdint.h>

struct coll_pccl_quota {
    uint32_t processors; /* whose whole time it is, rounded up; 0: no limit, or it cannot be told */
    uint64_t group;      /* number (inode) of the cgroup that has the limit: all processes in and below it share it */
    char path[256];      /* of that cgroup, shortened if it is long */
    char problem[256];   /* empty, or what could not be read and why */
};

/* Looks at the cgroup of this process and all above it: cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of
 * version 1, whichever are mounted. The least counts, and of equal ones the uppermost. What is missing or is not
 * understood is no limit. root: what all paths begin with; "" but in tests. */
void coll_pccl_quota_find(const char *root, struct coll_pccl_quota *quota);

/* Moves ranks of a host that share a limit to fewer processors. processors: [count] of each rank, ascending. squeezed:
 * [count] the same, but at most `quota` different ones, neighbours together and as many ranks on each. */
void coll_pccl_quota_squeeze(const uint32_t *processors, uint32_t count, uint32_t quota, uint32_t *squeezed);

#endif
