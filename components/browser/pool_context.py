"""What a pool gives to each of its sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from components.browser.queues import OperationQueues
from components.browser.site import Site
from components.browser.uploads import Uploads
from components.params import BrowserParams, TextKind


@dataclass(frozen=True)
class PoolContext:
    """Settings and resources that all sessions of a pool share."""

    params: BrowserParams
    site: Site | None
    text: TextKind
    queues: OperationQueues
    health: Callable[[], dict[str, float]]
    missing_browser: Callable[[], str | None]
    """Why the program of the running browser is gone, with the fix; None if it is there."""
    refusal_header: str | None
    """Response header that marks the egress guard's own answers; None without a guard."""
    uploads: Uploads | None = None
    """The files that pages may be given; None if there are none."""
