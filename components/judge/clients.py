"""The clients of a run's judges: one per endpoint of the recipe, shared by all judges.

Several judges may ask the same endpoint in one run: a benchmark's protocols, a reward model beside rules that need a
model, or one model with three votes. The endpoint's limits (requests in flight, rate, `max_usd`) apply to all of them
together. Its ledger is `spent-judge-<digest>.json`, by the endpoint's address, model and prices: what another model has
cost in the same folder does not count.
"""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

from components.endpoint import BudgetSpent, Endpoint, Spent
from components.params import EndpointParams, ModelJudgeParams, deciding
from components.store import digest


def ledger_of(endpoint: EndpointParams, state: Path) -> Path:
    """The file in a run's folder that counts what an endpoint's model has cost."""
    return state / f"spent-judge-{digest(json.dumps(deciding(endpoint), sort_keys=True))[:8]}.json"


class JudgeClients:
    """An async context manager. A client connects on its first use, so rule-only runs need no API key."""

    def __init__(
        self, params: ModelJudgeParams | None, state: Path, answers: Path | None = None, max_usd: float | None = None
    ) -> None:
        """
        Args:
            params: the recipe's `judge.model`, with its `endpoint` and `voters`; None names no endpoint.
            state: the run's folder, for the ledgers.
            answers: the file of earlier answers, shared by all runs; None keeps no answers.
            max_usd: the budget of all endpoints together, over all tries of the run, beside each endpoint's own limit.
                An endpoint without a price ignores it.
        """
        self._endpoints: list[EndpointParams] = []
        for endpoint in [params.endpoint, *params.voters] if params is not None else []:
            if endpoint not in self._endpoints:
                self._endpoints.append(endpoint)
        self._ledgers = [ledger_of(endpoint, state) for endpoint in self._endpoints]
        self._former = [path for path in state.glob("spent-judge-*.json") if path not in self._ledgers]
        self._answers = answers
        self._max_usd = max_usd
        self._open: dict[int, Endpoint] = {}
        self._stack = AsyncExitStack()

    @property
    def spent(self) -> Spent:
        """What all endpoints cost, over all tries of the run, those included that the recipe named in an earlier try or
        with other prices."""
        total = Spent()
        for index, ledger in enumerate([*self._ledgers, *self._former]):
            spent = self._open[index].spent if index in self._open else Spent.read(ledger)
            total.requests += spent.requests
            total.prompt_tokens += spent.prompt_tokens
            total.completion_tokens += spent.completion_tokens
            total.usd += spent.usd
            total.cached += spent.cached
        return total

    async def to(self, params: EndpointParams) -> Endpoint:
        """The client of an endpoint of the recipe, connected.

        Raises:
            EndpointError: its API key is not in the environment.
            ValueError: the recipe does not name it.
        """
        index = self._endpoints.index(params)
        if index not in self._open:
            is_free = params.usd_per_million_prompt == params.usd_per_million_completion == 0
            check = (lambda: None) if is_free else self._check_budget
            endpoint = Endpoint(params, self._ledgers[index], self._answers, check)
            self._open[index] = await self._stack.enter_async_context(endpoint)
        return self._open[index]

    def _check_budget(self) -> None:
        if self._max_usd is not None and (usd := self.spent.usd) >= self._max_usd:
            raise BudgetSpent(
                f"judges have cost {usd:.2f} USD, and their part of the budget is {self._max_usd:.2f} USD", "the budget"
            )

    async def __aenter__(self) -> JudgeClients:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)  # an endpoint awaits its requests unless there is an error
