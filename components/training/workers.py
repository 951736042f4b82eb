"""Training on several processes: the ranks of one `torch.distributed` process group, one per GPU.

`accelerate launch` starts the processes. Rank 0, the main process, runs the stage: it reads tables, drives browsers,
asks judges and writes checkpoints. The other ranks hold the same model and wait for jobs. A job is a function that all
ranks run together on the same samples in the same order: each rank computes its share of the micro-batches, the
gradients are summed over the ranks, and every rank takes the same optimiser step, so the weights stay equal without
being sent. What a process keeps between two jobs is a `Replicas` object of a known type.

Jobs and Python objects travel by a group of their own, with the backend gloo. A rank that waits in gloo sleeps; one
that waits in NCCL, which gradients use on GPUs, keeps its GPU and a CPU core busy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import torch
import torch.distributed
from accelerate import Accelerator, InitProcessGroupKwargs
from torch.distributed import ProcessGroup

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

JOB_TIMEOUT = timedelta(days=7)
"""How long a rank waits for its next job: the main process may roll out for hours between two jobs."""
COLLECTIVE_TIMEOUT = timedelta(minutes=30)
"""How long a rank waits for the others within a job. A rank that hangs, such as one whose GPU has a fault, then ends
the stage, which can be continued from its checkpoint."""


@dataclass
class Workers:
    """The processes that train together, as one of them sees them. `Workers()` is a single process."""

    size: int = 1
    rank: int = 0
    lockstep: bool = False
    """All ranks must run the same number of passes, and gradients arrive averaged already (`sharding`)."""
    _group: ProcessGroup | None = field(default=None, repr=False)
    """Sends jobs and Python objects; None in a single process."""
    _replicas: list[object] = field(default_factory=list, repr=False)
    """This process's objects of each `Replicas`."""
    _running: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """Held by the main process from the sending of a job to its end: threads may run jobs, one after another."""

    @classmethod
    def join(cls, cpu: bool) -> Workers:
        """Join the process group that this process was launched into; a single process if there is none."""
        accelerator = Accelerator(cpu=cpu, kwargs_handlers=[InitProcessGroupKwargs(timeout=COLLECTIVE_TIMEOUT)])
        size, rank = accelerator.num_processes, accelerator.process_index
        if size == 1:
            return cls()
        return cls(size, rank, _group=torch.distributed.new_group(backend="gloo", timeout=JOB_TIMEOUT))

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0, which runs the stage."""
        return self.rank == 0

    def run(self, job: Callable[..., T], *args: Any, **main_only: Any) -> T:
        """Run a job on every rank and return the main process's result. Only the main process calls this, from any of
        its threads; a job that runs in another thread ends first.

        Args:
            job: a function of a module; it gets the workers first, then `args`.
            args: sent to the other ranks with pickle.
            main_only: keyword arguments that only the main process's call gets, such as a callback that cannot be
                pickled; the job needs a default for each.
        """
        with self._running:
            self._broadcast((job, args))
            return job(self, *args, **main_only)

    def serve_jobs(self) -> None:
        """Run the jobs of the main process until it calls `shut_down`. Every other rank calls this."""
        while (order := self._receive()) is not None:
            job, args = order
            job(self, *args)

    def shut_down(self) -> None:
        """End `serve_jobs` on the other ranks, once a job that runs in another thread has ended."""
        with self._running:
            self._broadcast(None)

    def replicate(self, make: Callable[Concatenate[Workers, P], T], *args: P.args, **kwargs: P.kwargs) -> Replicas[T]:
        """Make one object per rank with the same call, and keep it between jobs. Only the main process calls this.

        Args:
            make: a function of a module; it gets the workers first.
        """
        index = len(self._replicas)
        return Replicas(self, index, self.run(_make_replica, make, args, kwargs))

    def split(self, items: Sequence[T]) -> list[tuple[T, bool]]:
        """This rank's part of the items, and for each whether it counts.

        In lockstep every rank gets the same number: a rank with fewer repeats the first item, which does not count.
        """
        part = [(item, True) for item in items[self.rank :: self.size]]
        largest = -(-len(items) // self.size)
        return part + [(items[0], False)] * (largest - len(part)) if self.lockstep and items else part

    @property
    def loss_scale(self) -> int:
        """Factor of a rank's part of a loss: it undoes the averaging of gradients, so that they are summed."""
        return self.size if self.lockstep else 1

    def gather(self, items: list[T]) -> list[T]:
        """The items of all ranks, in the order of the ranks. All ranks call this."""
        if self.size == 1:
            return items
        parts: list[list[T]] = [[] for _ in range(self.size)]
        torch.distributed.all_gather_object(parts, items, group=self._group)
        return list(chain.from_iterable(parts))

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over the ranks. All ranks call this."""
        if self.size == 1 or self.lockstep:
            return
        for parameter in parameters:
            if parameter.grad is None:  # this rank had no micro-batch
                parameter.grad = torch.zeros_like(parameter)
            torch.distributed.all_reduce(parameter.grad)

    def _broadcast(self, order: tuple[Callable[..., Any], tuple[Any, ...]] | None) -> None:
        if self.size > 1:
            torch.distributed.broadcast_object_list([order], src=0, group=self._group)

    def _receive(self) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        received: list[Any] = [None]
        torch.distributed.broadcast_object_list(received, src=0, group=self._group)
        return received[0]


@dataclass(frozen=True)
class Replicas(Generic[T]):
    """One object per rank, such as a model in training. `Workers.replicate` makes them; the main process holds this."""

    workers: Workers
    _index: int
    local: T
    """The main process's own object."""

    def run(self, method: Callable[Concatenate[T, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a method on the object of every rank; the main process's result.

        Args:
            method: a method of the object's class, such as `Learner.update`.
        """
        return self.workers.run(_call_replica, self._index, method, args, kwargs)


SINGLE_PROCESS = Workers()
"""No process group: this process alone."""


def _make_replica(workers: Workers, make: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """Job."""
    replica = make(workers, *args, **kwargs)
    workers._replicas.append(replica)
    return replica


def _call_replica(
    workers: Workers, index: int, method: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> R:
    """Job."""
    return method(workers._replicas[index], *args, **kwargs)
