"""Limits the number of concurrent stages, and decides which ready stage runs first."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import yaml

from flows.graph import Stage

RESERVED_S = 30.0
"""Seconds for which a free slot is reserved for a stage that should run first but has not asked for it."""


def default_slots(root: Path) -> int:
    """How many stages run at once on this machine by default: two, or one if they use its GPUs, which a single stage of
    such a recipe may fill (`model.device` of the recipe in use)."""
    path = root / "params.yaml"
    recipe = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
    return 1 if (recipe.get("model") or {}).get("device") == "cuda" else 2


class StageSlots:
    """Slots for concurrent stages. Of the ready stages, the one with the longest chain of stages after it runs first,
    because the longest chain decides the duration of the run.

    Args:
        count: number of slots.
        stages: all stages.
        due: names of the stages that run; the others are done.
    """

    def __init__(self, count: int, stages: dict[str, Stage], due: set[str]) -> None:
        self._free = count
        self._chain_lengths = _chain_lengths(stages)
        self._needs = {name: set(stages[name].needs) for name in due}
        self._done = set(stages) - due
        self._started: set[str] = set()
        self._unlimited = False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Wait for a slot for a ready stage, and hold it."""
        with self._changed:
            while not (self._unlimited or (self._free and self._is_first(name))):
                if not self._changed.wait(RESERVED_S) and self._free:
                    break
            self._started.add(name)
            self._free -= 1
            self._changed.notify_all()
        succeeded = False
        try:
            yield
            succeeded = True
        finally:
            with self._changed:
                self._free += 1
                self._done |= {name} if succeeded else set()
                self._changed.notify_all()

    @contextlib.contextmanager
    def elsewhere(self, name: str) -> Iterator[None]:
        """Run a ready stage on another machine: it needs no slot."""
        with self._changed:
            self._started.add(name)
            self._changed.notify_all()
        yield
        with self._changed:
            self._done.add(name)
            self._changed.notify_all()

    def release_all(self) -> None:
        """Let all stages start: the run is being stopped, which each stage notices at its start."""
        with self._changed:
            self._unlimited = True
            self._changed.notify_all()

    def _is_first(self, name: str) -> bool:
        """Whether no other ready stage runs before it; a retried stage does not queue again."""
        ready = [other for other, needs in self._needs.items() if other not in self._started and needs <= self._done]
        return name in self._started or all(self._order(name) <= self._order(other) for other in ready)

    def _order(self, name: str) -> tuple[int, str]:
        return (-self._chain_lengths[name], name)


def _chain_lengths(stages: dict[str, Stage]) -> dict[str, int]:
    """Per stage the length of the longest chain of stages that wait for it."""
    lengths = dict.fromkeys(stages, 0)
    for stage in reversed(stages.values()):  # each stage comes after those that it needs
        for need in stage.needs:
            lengths[need] = max(lengths[need], lengths[stage.name] + 1)
    return lengths
