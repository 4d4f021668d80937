"""Runs an MSCCL XML file symbolically and checks that it does what its collective says.

A value is a multiset of (rank, chunk of its input). Thread blocks run their steps in order; a step waits for the step it
names; a send waits for nobody (the runtime buffers), so that a schedule which needs the opposite is found by the order of
receives. Usage: msccl_replay.py FILE COLLECTIVE
"""
import collections
import sys
import xml.etree.ElementTree


class Replay:
    def __init__(self, algo):
        self.memory = {}
        self.blocks = {}
        self.done = collections.defaultdict(lambda: -1)
        self.wires = collections.defaultdict(collections.deque)
        self.gpus = algo.findall("gpu")
        for gpu in self.gpus:
            rank = int(gpu.get("id"))
            for letter in "ios":
                self.memory[rank, letter] = [None] * int(gpu.get(letter + "_chunks"))
            for i in range(len(self.memory[rank, "i"])):
                self.memory[rank, "i"][i] = collections.Counter([(rank, i)])
            for tb in gpu.findall("tb"):
                self.blocks[rank, int(tb.get("id"))] = (tb, tb.findall("step"))

    def load(self, rank, letter, offset, count):
        values = self.memory[rank, letter][offset:offset + count]
        assert len(values) == count and all(values), f"rank {rank} reads nothing at {letter}[{offset}+{count}]"
        return [value.copy() for value in values]

    def store(self, rank, letter, offset, values):
        assert letter != "i", f"rank {rank} writes its input"
        assert offset + len(values) <= len(self.memory[rank, letter]), f"rank {rank} writes past {letter}"
        self.memory[rank, letter][offset:offset + len(values)] = values

    def run_step(self, rank, tb, step):
        """False if it has to wait."""
        kind, count = step.get("type"), int(step.get("cnt"))
        source, target = (step.get("srcbuf"), int(step.get("srcoff"))), (step.get("dstbuf"), int(step.get("dstoff")))
        depend = int(step.get("depid"))
        if depend >= 0 and self.done[rank, depend] < int(step.get("deps")):
            return False
        if kind == "s":
            peer = int(tb.get("send"))
            self.wires[rank, peer].append(self.load(rank, *source, count))
        elif kind == "r":
            wire = self.wires[int(tb.get("recv")), rank]
            if not wire:
                return False
            values = wire.popleft()
            assert len(values) == count, f"rank {rank} receives {len(values)} chunks instead of {count}"
            self.store(rank, *target, values)
        elif kind == "cpy":
            self.store(rank, *target, self.load(rank, *source, count))
        elif kind == "re":
            pairs = zip(self.load(rank, *target, count), self.load(rank, *source, count))
            self.store(rank, *target, [left + right for left, right in pairs])
        else:
            assert kind == "nop", f"unknown step {kind}"
        return True

    def run(self):
        pending = {key: 0 for key in self.blocks}
        moved = True
        while moved:
            moved = False
            for key, (tb, steps) in self.blocks.items():
                while pending[key] < len(steps):
                    step = steps[pending[key]]
                    assert int(step.get("s")) == pending[key], "steps out of order"
                    if not self.run_step(key[0], tb, step):
                        break
                    self.done[key] = pending[key]
                    pending[key] += 1
                    moved = True
        for key, (tb, steps) in self.blocks.items():
            assert pending[key] == len(steps), f"rank {key[0]}, thread block {key[1]} is stuck at step {pending[key]}"
        assert not any(self.wires.values()), "something was sent and never received"


def expected(collective, ranks, rank, slots):
    """What each output slot must hold, from the definition of the collective; the root is rank 0."""
    everyone = range(ranks)
    pieces = slots // ranks
    if collective in ("allgather", "gather"):
        return [{(slot // pieces, slot % pieces): 1} for slot in range(slots)]
    if collective == "alltoall":
        return [{(slot // pieces, rank * pieces + slot % pieces): 1} for slot in range(slots)]
    if collective in ("allreduce", "reduce"):
        return [{(source, slot): 1 for source in everyone} for slot in range(slots)]
    if collective == "reduce_scatter":
        return [{(source, rank * slots + slot): 1 for source in everyone} for slot in range(slots)]
    if collective == "broadcast":
        return [{(0, slot): 1} for slot in range(slots)]
    assert collective == "scatter"
    return [{(0, rank * slots + slot): 1} for slot in range(slots)]


def main():
    algo = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
    replay = Replay(algo)
    replay.run()
    ranks = len(replay.gpus)
    for rank in range(ranks):
        output = replay.memory[rank, "o"]
        if sys.argv[2] == "broadcast" and rank == 0:
            continue  # the root's buffer is its input
        wanted = expected(sys.argv[2], ranks, rank, len(output))
        for slot, (value, want) in enumerate(zip(output, wanted)):
            assert value == want, f"rank {rank}, output {slot}: {value} instead of {want}"


main()
