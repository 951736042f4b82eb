"""The errors of endpoints, by what the caller can do."""

from __future__ import annotations


class EndpointError(RuntimeError):
    """The endpoint cannot be used: the key is missing or wrong, or it does not have the model."""


class EndpointDown(EndpointError):
    """The endpoint does not answer, limits the rate, or fails, after all retries. It may work later."""


class RequestRefused(EndpointError):
    """The endpoint refuses this request, for example because it is too long. Other requests may work."""


class BudgetSpent(EndpointError):
    """The budget is spent; `limit` names the limit and what was spent."""

    def __init__(self, limit: str, name: str = "max_usd") -> None:
        super().__init__(f"{limit}: what is done is kept; raise {name} and run again to go on")
        self.limit = limit
