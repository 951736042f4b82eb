"""Training on several processes: `accelerate launch` starts them, one leads, the others do what it tells them.

The leader is the stage as it always is: it reads tables, runs browsers, asks judges, writes checkpoints. The others
hold the same model and wait. What trains is a job that all of them run together, on the same samples in the same order:
each computes its share of the micro-batches, the gradients are added up, and everybody takes the same step, so that the
weights stay the same on all without being sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.utils import broadcast_object_list, gather_object

T = TypeVar("T")

PATIENCE = timedelta(days=7)
"""How long the others wait for the leader, which may be rolling out."""


@dataclass
class Team:
    """The processes of a run. `held` is what a process keeps from one job to the next."""

    size: int = 1
    rank: int = 0
    lockstep: bool = False
    """All must run as many passes, and gradients come out averaged already (`sharding`)."""
    held: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def join(cls, cpu: bool) -> Team:
        """The team that this process was launched into; a team of one if it was started by itself."""
        accelerator = Accelerator(cpu=cpu, kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)])
        return cls(accelerator.num_processes, accelerator.process_index)

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def run(self, job: Callable[..., T], *args: Any) -> T:
        """Run a job, a function of a module that takes the team first, on every process; the leader's result."""
        self._tell((job, args))
        return job(self, *args)

    def follow(self) -> None:
        """Run jobs until the leader dismisses this process."""
        while (order := self._hear()) is not None:
            job, args = order
            job(self, *args)

    def dismiss(self) -> None:
        """Let the others go."""
        self._tell(None)

    def share(self, items: Sequence[T]) -> list[tuple[T, bool]]:
        """This process's part of what all have, and whether it counts: in lockstep, who has less does some again."""
        mine = [(item, True) for item in items[self.rank :: self.size]]
        most = -(-len(items) // self.size)
        return mine + [(items[0], False)] * (most - len(mine)) if self.lockstep else mine

    @property
    def loss_scale(self) -> int:
        """What a process's part of a loss is multiplied by, so that gradients add up."""
        return self.size if self.lockstep else 1

    def gather(self, items: list[T]) -> list[T]:
        """The parts of all processes, one after the other."""
        return items if self.size == 1 else gather_object(items)

    def add_up(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by the sum of it over the processes."""
        if self.size == 1 or self.lockstep:
            return
        for parameter in parameters:
            if parameter.grad is None:  # this process had no micro-batch
                parameter.grad = torch.zeros_like(parameter)
            torch.distributed.all_reduce(parameter.grad)

    def _tell(self, order: tuple[Callable[..., Any], tuple[Any, ...]] | None) -> None:
        if self.size > 1:
            broadcast_object_list([order])

    def _hear(self) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        heard: list[Any] = [None]
        broadcast_object_list(heard)
        return heard[0]


ALONE = Team()
"""A team of one."""
