"""A pool of workers over inter-communicators, made from the ranks of the world."""
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor


def cube(number):
    """Work of a worker."""
    return number**3


with MPICommExecutor(MPI.COMM_WORLD, root=0) as pool:
    if pool is not None:
        print(list(pool.map(cube, range(30))), flush=True)
total = MPI.COMM_WORLD.allreduce(1)
if MPI.COMM_WORLD.rank == 0:  # lines of several ranks may come out mixed
    print("sum", total, flush=True)
else:
    assert total == MPI.COMM_WORLD.size
