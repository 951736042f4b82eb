"""Which stage goes first where not all can run at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from flows.graph import Stage

PATIENCE_S = 30.0
"""How long a free place is kept for a stage that should go first and does not come."""


class Places:
    """So many stages at once. Of those that are ready, the one goes first that has most stages, one after the other,
    behind it: what is on the longest way decides when all is done.

    Args:
        count: stages at once.
        stages: all of them.
        due: names of those that run; the others are done.
    """

    def __init__(self, count: int, stages: dict[str, Stage], due: set[str]) -> None:
        self._free = count
        self._behind = _behind(stages)
        self._needs = {name: set(stages[name].needs) for name in due}
        self._done = set(stages) - due
        self._came: set[str] = set()
        self._open = False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def place(self, name: str) -> Iterator[None]:
        """A place for a stage that is ready; waits for it."""
        with self._changed:
            while not (self._open or (self._free and self._is_first(name))):
                if not self._changed.wait(PATIENCE_S) and self._free:
                    break
            self._came.add(name)
            self._free -= 1
            self._changed.notify_all()
        done = False
        try:
            yield
            done = True
        finally:
            with self._changed:
                self._free += 1
                self._done |= {name} if done else set()
                self._changed.notify_all()

    def let_all_in(self) -> None:
        """Nobody waits any more: the run is being stopped, which each stage finds out at once."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def _is_first(self, name: str) -> bool:
        """Whether no other ready stage goes before it; one that comes again, after a failure, queues no more."""
        ready = [other for other, needs in self._needs.items() if other not in self._came and needs <= self._done]
        return name in self._came or all(self._order(name) <= self._order(other) for other in ready)

    def _order(self, name: str) -> tuple[int, str]:
        return (-self._behind[name], name)


def _behind(stages: dict[str, Stage]) -> dict[str, int]:
    """Per stage the length of the longest chain of stages that wait for it."""
    behind = dict.fromkeys(stages, 0)
    for stage in reversed(stages.values()):  # each comes after those it needs
        for need in stage.needs:
            behind[need] = max(behind[need], behind[stage.name] + 1)
    return behind
