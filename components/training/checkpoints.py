"""The checkpoints of one phase of RL on disk: which are kept, what they cost, and how a phase goes back to one.

A checkpoint is one file per iteration: trained weights, optimiser, and the loop's state (`rl.RLState`). Files appear by
rename, so each is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from components.journal import Journal
from components.records import Record
from components.store import publish

FOLDER = "checkpoints"
"""In the state directory of a phase."""


class Written(Record):
    """What writing a checkpoint took: wall time, and its size in bytes."""

    iteration: int
    seconds: float
    size: int


class NoCheckpoint(RuntimeError):
    """There is no checkpoint of this iteration. The message names those that there are."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a phase with this state directory."""

    state_dir: Path

    def path(self, iteration: int) -> Path:
        """The file of an iteration, which need not exist."""
        return self.state_dir / FOLDER / f"{iteration:04d}.pt"

    @property
    def iterations(self) -> list[int]:
        """The iterations that have a checkpoint, in order."""
        return sorted(int(path.stem) for path in (self.state_dir / FOLDER).glob("[0-9]*.pt"))

    @property
    def newest(self) -> Path | None:
        """The checkpoint from which the phase goes on; None at the beginning."""
        iterations = self.iterations
        return self.path(iterations[-1]) if iterations else None

    def write(self, iteration: int, save: Callable[[Path], None]) -> None:
        """Let `save` write the checkpoint of an iteration, and log what it took."""
        path = self.path(iteration)
        path.parent.mkdir(exist_ok=True)
        began = monotonic()
        save(path)
        self._log(iteration, monotonic() - began)

    def prune(self, keep: int, protected: Collection[int]) -> None:
        """Delete all checkpoints but the `keep` newest and the protected ones."""
        for iteration in self.iterations[:-keep]:
            if iteration not in protected:
                self.path(iteration).unlink()

    def roll_back(self, to: int, by_hand: bool) -> int:
        """Replace the newest checkpoint by the weights and the optimiser of an earlier one; returns its iteration.

        The number of finished iterations, the sampler and the figures stay. The last figures get `rolled_back_to`, and
        the state remembers the rollback, so that later draws differ from those before it. Weights for stale rollouts
        are dropped: the next rollouts use the restored ones. The tallies of training rollouts since the last
        validation are of the policy that is left, and are dropped, too. By hand, a phase that ended early goes on.

        Raises:
            NoCheckpoint: there is none of iteration `to`, or it is the newest.
        """
        known = self.iterations
        if to not in known[:-1]:
            there = ", ".join(map(str, known[:-1])) or "none"
            raise NoCheckpoint(
                f"there is no earlier checkpoint of iteration {to}; there are those of: {there}. Raise "
                "rl.checkpoints.keep to keep more from now on; the phase goes on with the new value"
            )
        newest = self.path(known[-1])
        old, loop = self._mapped(to), self._mapped(known[-1])["state"]
        loop["rollbacks"] = [*loop["rollbacks"], {"iteration": known[-1], "to": to, "by_hand": by_hand}]
        loop["tallies"] = {}
        if by_hand:
            loop["ended"] = None
        if loop["figures"]:
            loop["figures"][-1]["rolled_back_to"] = float(to)
        began, partial = monotonic(), newest.with_name(f".{newest.name}.part")
        torch.save({**old, "behind": [], "state": loop}, partial)
        publish(partial, newest)
        self._log(known[-1], monotonic() - began)
        return known[-1]

    def table(self) -> list[dict[str, float]]:
        """A row per checkpoint that was written: iteration, seconds, megabytes, and whether it is still there."""
        kept = {*self.iterations}
        return [
            {
                "iteration": row.iteration,
                "seconds": round(row.seconds, 3),
                "megabytes": round(row.size / 1e6, 3),
                "kept": float(row.iteration in kept),
            }
            for row in self._written()
        ]

    def _mapped(self, iteration: int) -> dict[str, Any]:
        """A checkpoint whose tensors stay on disk until they are used."""
        return torch.load(self.path(iteration), map_location="cpu", mmap=True, weights_only=True)

    def _log(self, iteration: int, seconds: float) -> None:
        with Journal(self.state_dir / "checkpoints.jsonl", Written) as journal:
            size = self.path(iteration).stat().st_size
            journal.append(Written(iteration=iteration, seconds=seconds, size=size))

    def _written(self) -> list[Written]:
        path = self.state_dir / "checkpoints.jsonl"
        if not path.exists():
            return []
        with Journal(path, Written) as journal:
            return list(journal.records)
