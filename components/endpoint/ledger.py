"""The ledger of an endpoint: what was spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.endpoint.errors import EndpointError
from components.store import read_json


@dataclass
class Spent:
    """What was spent on an endpoint so far. `cached` answers cost nothing and count in no other figure."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    cached: int = 0

    @classmethod
    def read(cls, ledger: Path) -> Spent:
        """Read a ledger, which covers all restarts; all zero if there is none.

        Raises:
            EndpointError: the file is no ledger.
        """
        if not ledger.exists():
            return cls()
        try:
            return cls(**read_json(ledger))
        except (ValueError, TypeError) as error:
            raise EndpointError(
                f"{ledger} does not say what was spent ({error}): correct it, or remove it to count from 0 again"
            ) from error
