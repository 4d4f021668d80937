"""Collectives through mpi4py on plain Python data: objects, arrays, operators written in Python."""
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def show(name, value):
    """One line from every rank, in rank order."""
    for line in world.gather(f"{name} at {rank}: {value}", root=0) or []:
        print(line, flush=True)


def objects():
    """Pickled objects: sizes differ from rank to rank."""
    mine = {"rank": rank, "text": "x" * (rank * 7), "list": list(range(rank))}
    show("bcast", world.bcast(mine if rank == size - 1 else None, root=size - 1))
    show("allgather", world.allgather(mine))
    show("scatter", world.scatter([(rank, i) for i in range(size)] if rank == 0 else None, root=0))
    show("alltoall", world.alltoall([(rank, i) for i in range(size)]))
    show("allreduce", world.allreduce(rank + 1, op=MPI.PROD))
    show("reduce of strings", world.reduce(f"<{rank}>", op=lambda a, b: a + b, root=0))
    show("scan", world.scan(rank))


def arrays():
    """Typed buffers, in place and with counts."""
    numbers = array("d", [rank + i / 8 for i in range(1000)])
    total = array("d", bytes(8 * 1000))
    world.Allreduce(numbers, total, op=MPI.SUM)
    show("Allreduce", (total[0], total[999], sum(total)))
    world.Allreduce(MPI.IN_PLACE, numbers, op=MPI.MAX)
    show("Allreduce in place", sum(numbers))
    counts = [3 * i + 1 for i in range(size)]
    places = [sum(counts[:i]) + i for i in range(size)]
    mine = array("i", [rank] * counts[rank])
    everything = array("i", [-1] * (places[-1] + counts[-1] + 1))
    world.Allgatherv(mine, [everything, counts, places, MPI.INT])
    show("Allgatherv", everything.tolist())
    part = array("i", [0] * 2)
    world.Reduce_scatter_block(array("i", range(2 * size)), part, op=MPI.SUM)
    show("Reduce_scatter_block", part.tolist())
    world.Reduce_scatter(array("i", range(sum(counts))), mine, recvcounts=counts, op=MPI.SUM)
    show("Reduce_scatter", mine.tolist())
    transposed = array("i", [0] * size)
    world.Alltoall(array("i", [rank * 100 + i for i in range(size)]), transposed)
    show("Alltoall", transposed.tolist())


def operators():
    """An operator written in Python that does not commute: ranks must come in order."""

    def join(left, right, datatype):
        del datatype
        a, b = array("q", bytes(left)), array("q", bytes(right))
        for i in range(0, len(a), 2):
            b[i], b[i + 1] = (a[i] * b[i + 1] + b[i]) % 1000003, a[i + 1] * b[i + 1] % 1000003
        right[:] = b.tobytes()

    operator = MPI.Op.Create(join, commute=False)
    pair = MPI.INT64_T.Create_contiguous(2).Commit()
    mine = array("q", [rank + 1, 31] * 50)
    result = array("q", bytes(8 * 100))
    world.Allreduce([mine, 50, pair], [result, 50, pair], op=operator)
    show("ordered operator", result[:4].tolist())
    pair.Free()
    operator.Free()


def groups():
    """Parts of the world, and a grid."""
    part = world.Split(color=rank % 2, key=-rank)
    show("part", part.allgather(rank))
    grid = world.Create_cart(MPI.Compute_dims(size, 2), periods=[True, False])
    row = grid.Sub([False, True])
    show("row", row.allreduce(rank))
    row.Free()
    grid.Free()
    part.Free()


objects()
arrays()
operators()
groups()
world.Barrier()
