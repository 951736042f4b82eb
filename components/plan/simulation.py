"""A discrete-event simulation of rollouts: episodes in browsers, whose turns are answered by servers of a policy.

It knows nothing of recipes. Episodes wait for a browser in the order of their list. Opening a page and a browser step
each need a core for some time, and wait for the page without one. A server decodes all of its sequences together, and
reads new prompts before it goes on decoding. `queue` simulates jobs of known lengths on equal workers, such as the
requests of a judge.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import simpy  # what is planned without a simulation, such as memory, needs no simpy

Process: TypeAlias = "Generator[simpy.Event, Any, None]"


class Turn(NamedTuple):
    """One turn: tokens of the prompt that must be read, tokens of the response, and the browser step after it."""

    prompt_tokens: int
    response_tokens: int
    core_s: float
    """Seconds of a core in the step."""
    wait_s: float
    """Seconds in which the step needs no core."""


class Episode(NamedTuple):
    """One episode: opening the browser on the start page, then turns."""

    core_s: float
    wait_s: float
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Facilities:
    """What episodes share.

    `servers` is 0 for a policy that answers at once, such as a script. `prefill_s` gets the tokens of a prompt, and
    `token_s` the number of sequences that are decoded together; both return seconds of one server.
    """

    browsers: int
    cores: int
    servers: int = 0
    slots: int = 64
    """Sequences that a server decodes together; further requests wait."""
    prefill_s: Callable[[int], float] = lambda tokens: 0.0
    token_s: Callable[[int], float] = lambda sequences: 0.0


@dataclass(frozen=True)
class Usage:
    """The result of a simulation: its length in seconds, and busy seconds by resource, summed over its units."""

    seconds: float = 0.0
    busy: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: Usage) -> Usage:
        """One after the other."""
        names = [*self.busy, *(name for name in other.busy if name not in self.busy)]
        busy = {name: self.busy.get(name, 0.0) + other.busy.get(name, 0.0) for name in names}
        return Usage(self.seconds + other.seconds, busy)

    def times(self, factor: float) -> Usage:
        """As often as `factor` says."""
        return Usage(factor * self.seconds, {name: factor * seconds for name, seconds in self.busy.items()})


class _Server:
    """One server. While it reads a prompt, its other sequences wait; they advance together, token by token."""

    def __init__(self, world: simpy.Environment, facilities: Facilities) -> None:
        self.busy_s = 0.0
        self._world, self._facilities = world, facilities
        self._waiting: deque[tuple[Turn, simpy.Event]] = deque()
        self._active: list[tuple[float, int, simpy.Event]] = []
        """The token count of the server at which each sequence ends, as a heap."""
        self._decoded = 0.0
        """Tokens that a sequence would have that was there from the beginning."""
        self._number = 0
        self._arrival = world.event()
        world.process(self._serve())

    @property
    def load(self) -> int:
        return len(self._waiting) + len(self._active)

    def answer(self, turn: Turn) -> simpy.Event:
        """An event that occurs when the turn's response is complete."""
        done = self._world.event()
        self._waiting.append((turn, done))
        if not self._arrival.triggered:
            self._arrival.succeed()
        return done

    def _serve(self) -> Process:
        while True:
            if self._waiting and len(self._active) < self._facilities.slots:
                turn, done = self._waiting.popleft()
                seconds = self._facilities.prefill_s(turn.prompt_tokens)
                yield self._world.timeout(seconds)
                self.busy_s += seconds
                self._number += 1
                heapq.heappush(self._active, (self._decoded + turn.response_tokens, self._number, done))
            elif self._active:
                yield from self._decode()
            else:
                self._arrival = self._world.event()
                yield self._arrival

    def _decode(self) -> Process:
        """Decode until the next sequence ends or a request arrives that has a slot."""
        began, token_s = self._world.now, self._facilities.token_s(len(self._active))
        end = self._world.timeout(max(0.0, self._active[0][0] - self._decoded) * token_s)
        self._arrival = self._world.event()
        is_full = len(self._active) >= self._facilities.slots
        yield end if is_full else end | self._arrival
        elapsed = self._world.now - began
        self.busy_s += elapsed
        self._decoded = self._active[0][0] if end.processed or token_s == 0 else self._decoded + elapsed / token_s
        while self._active and self._active[0][0] <= self._decoded + 1e-9:
            heapq.heappop(self._active)[2].succeed()


class Machines:
    """Browsers, cores and servers that episodes of one simulation share."""

    def __init__(self, world: simpy.Environment, facilities: Facilities) -> None:
        """
        Raises:
            ValueError: there is no browser or no core.
        """
        import simpy

        self.world = world
        self._browsers = simpy.Resource(world, facilities.browsers)
        self._cores = simpy.Resource(world, facilities.cores)
        self._servers = [_Server(world, facilities) for _ in range(facilities.servers)]
        self._busy = {"browsers": 0.0, "cores": 0.0}

    @property
    def busy(self) -> dict[str, float]:
        """Busy seconds so far by resource."""
        return {**self._busy, "servers": sum(server.busy_s for server in self._servers)}

    def run(self, episode: Episode) -> Process:
        """The process of an episode, which waits for a browser first."""
        with self._browsers.request() as browser:
            yield browser
            began = self.world.now
            yield from self._use(episode.core_s, episode.wait_s)
            for turn in episode.turns:
                if self._servers:
                    yield min(self._servers, key=lambda server: server.load).answer(turn)
                yield from self._use(turn.core_s, turn.wait_s)
            self._busy["browsers"] += self.world.now - began

    def _use(self, core_s: float, wait_s: float) -> Process:
        if core_s:
            with self._cores.request() as core:
                yield core
                yield self.world.timeout(core_s)
                self._busy["cores"] += core_s
        if wait_s:
            yield self.world.timeout(wait_s)


def roll_out(episodes: Sequence[Episode], facilities: Facilities) -> Usage:
    """Run all episodes, which all wait at the beginning; the end is that of the last one. Busy seconds are of
    `browsers`, `cores` and `servers`.

    Raises:
        ValueError: there is no browser or no core.
    """
    import simpy

    world = simpy.Environment()
    machines = Machines(world, facilities)
    world.run(until=world.all_of([world.process(machines.run(episode)) for episode in episodes]))
    return Usage(float(world.now), machines.busy)


def queue(jobs: Sequence[float], workers: int, resource: str) -> Usage:
    """Run jobs of known lengths in seconds, in their order, on equal workers that belong to a resource.

    Raises:
        ValueError: there is no worker.
    """
    import simpy

    world = simpy.Environment()
    pool = simpy.Resource(world, workers)

    def run(seconds: float) -> Process:
        with pool.request() as worker:
            yield worker
            yield world.timeout(seconds)

    world.run(until=world.all_of([world.process(run(seconds)) for seconds in jobs]))
    return Usage(float(world.now), {resource: sum(jobs)})
