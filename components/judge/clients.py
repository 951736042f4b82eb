"""The clients behind a run's judges: one per endpoint of the recipe, whoever of them asks.

Several judges ask the same endpoint in one run: a benchmark's protocols, a model that rewards and rules that need a
reader, one model in three seats of a vote. What an endpoint takes at once, its rate and its `max_usd` are limits of all
of them together, and so is the ledger (`spent-judge-<number>.json`, by the endpoint's place in the recipe).
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from components.endpoint import BudgetSpent, Endpoint, Spent
from components.params import EndpointParams, JudgeParams


class JudgeClients:
    """An async context manager. A client connects when it is first wanted: rules that need nobody want no key."""

    def __init__(
        self, params: JudgeParams, state: Path, answers: Path | None = None, max_usd: float | None = None
    ) -> None:
        """
        Args:
            params: whose `endpoint` and `voters` may be asked; none if it names none.
            state: the run's folder, in which what was spent is counted.
            answers: the file of earlier answers, shared by whoever asks; None keeps none.
            max_usd: what all of them together may cost, over all tries of the run, beside each endpoint's own limit;
                what has no price may always be asked.
        """
        self._named: list[EndpointParams] = []
        for one in [params.endpoint, *params.voters]:
            if one is not None and one not in self._named:
                self._named.append(one)
        self._ledgers = [state / f"spent-judge-{number}.json" for number, _ in enumerate(self._named, 1)]
        self._answers = answers
        self._max_usd = max_usd
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
            is_free = params.usd_per_million_prompt == params.usd_per_million_completion == 0
            check = (lambda: None) if is_free else self._check_budget
            endpoint = Endpoint(params, self._ledgers[place], self._answers, check)
            self._open[place] = await self._stack.enter_async_context(endpoint)
        return self._open[place]

    def _check_budget(self) -> None:
        if self._max_usd is not None and (usd := self.spent.usd) >= self._max_usd:
            raise BudgetSpent(
                f"judges have cost {usd:.2f} USD, {self._max_usd:.2f} USD of the budget were theirs", "the budget"
            )

    async def __aenter__(self) -> JudgeClients:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
