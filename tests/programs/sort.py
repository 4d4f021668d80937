"""Sorting by sampling: gather, broadcast and an all-to-all of unequal blocks. Checked at the end."""
import bisect
import random
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()

random.seed(rank)
mine = array("i", sorted(random.randrange(10**6) for _ in range(3000 + 500 * rank)))

samples = world.gather(mine[:: len(mine) // 8][:8].tolist(), root=0)
limits = None
if rank == 0:
    samples = sorted(sum(samples, []))
    limits = [samples[(i + 1) * len(samples) // size] for i in range(size - 1)]
limits = world.bcast(limits, root=0)

cuts = [0] + [bisect.bisect_left(mine, limit) for limit in limits] + [len(mine)]
send_counts = array("i", [b - a for a, b in zip(cuts, cuts[1:])])
receive_counts = array("i", [0] * size)
world.Alltoall(send_counts, receive_counts)
sorted_part = array("i", [0] * sum(receive_counts))
world.Alltoallv(
    [mine, send_counts.tolist(), cuts[:-1], MPI.INT],
    [sorted_part, receive_counts.tolist(), [sum(receive_counts[:i]) for i in range(size)], MPI.INT],
)
sorted_part = array("i", sorted(sorted_part))

ends = world.allgather((sorted_part[0], sorted_part[-1], len(sorted_part)))
in_order = all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))
checksum = world.allreduce(sum((i + 1) * value for i, value in enumerate(sorted_part)))
number = world.reduce(len(sorted_part), root=0)
if rank == 0:
    print(f"in order: {in_order}; {number} numbers, parts {ends}, checksum {checksum}", flush=True)
