"""The clients behind a run's judges: one per endpoint of the recipe, whoever of them asks.

Several judges ask the same endpoint in one run: a benchmark's protocols, a model that rewards and rules that need a
reader, one model in three seats of a vote. What an endpoint takes at once, its rate and its `max_usd` are limits of all
of them together, and so is the ledger (`spent-judge-<number>.json`, by the endpoint's place in the recipe).
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from components.endpoint import Endpoint, Spent
from components.params import EndpointParams, JudgeParams


class JudgeClients:
    """An async context manager. A client connects when it is first wanted: rules that need nobody want no key."""

    def __init__(self, params: JudgeParams, state: Path, answers: Path | None = None) -> None:
        """
        Args:
            params: whose `endpoint` and `voters` may be asked; none if it names none.
            state: the run's folder, in which what was spent is counted.
            answers: the file of earlier answers, shared by whoever asks; None keeps none.
        """
        self._named: list[EndpointParams] = []
        for one in [params.endpoint, *params.voters]:
            if one is not None and one not in self._named:
                self._named.append(one)
        self._ledgers = [state / f"spent-judge-{number}.json" for number, _ in enumerate(self._named, 1)]
        self._answers = answers
        self._open: dict[int, Endpoint] = {}
        self._stack = AsyncExitStack()

    @property
    def spent(self) -> Spent:
        """By all endpoints, over all tries of the run."""
        total = Spent()
        for place, ledger in enumerate(self._ledgers):
            one = self._open[place].spent if place in self._open else Spent.read(ledger)
            total.requests += one.requests
            total.prompt_tokens += one.prompt_tokens
            total.completion_tokens += one.completion_tokens
            total.usd += one.usd
            total.cached += one.cached
        return total

    async def to(self, params: EndpointParams) -> Endpoint:
        """The client of an endpoint of the recipe, connected.

        Raises:
            EndpointError: its key is not in the environment.
            ValueError: the recipe does not name it.
        """
        place = self._named.index(params)
        if place not in self._open:
            endpoint = Endpoint(params, self._ledgers[place], self._answers)
            self._open[place] = await self._stack.enter_async_context(endpoint)
        return self._open[place]

    async def __aenter__(self) -> JudgeClients:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
