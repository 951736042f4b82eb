"""Tells from a Playwright error whether the browser died, a page closed or navigated, or the page failed."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError

_DEAD = ("crashed", "connection closed")
_CLOSED = ("closed", "target not found")
_NAVIGATED = (
    "context was destroyed",
    "navigated or closed",
    "cannot find context",
    "cannot find default",
    "promise was collected",
    "frame was detached",
    "frame has been detached",
    "not attached to an active page",  # the tab is being given another renderer
)

_NAMES = re.compile(r"\"[^\"]*\"|\b\w+://\S+")
"""Addresses and quoted texts, which are the page's and may have any of the words."""


class NavigatedError(EnvError):
    """The document was replaced while it was read; the read may be repeated."""


class ClosedError(EnvError):
    """The page was closed, or the whole browser: only the state of both tells which."""


_NO_TUNNEL = ": browser.egress does not allow the host, or nothing answers there"
"""For https addresses, Chromium does not show the reason that the egress guard gives."""


def translate(error: PlaywrightError) -> EnvError:
    """The exception of `errors` that a Playwright error means.

    Returns a `NavigatedError`, a `ClosedError`, a `SandboxError` for a dead renderer or driver, or else an `EnvError`.
    """
    message = str(error)
    low = _NAMES.sub("", message.partition("\nCall log:")[0]).lower()
    if any(sign in low for sign in _NAVIGATED):
        return NavigatedError(message)
    if any(sign in low for sign in _DEAD) and "net::" not in low:
        return SandboxError(f"the browser died: {message.splitlines()[0]}")
    if any(sign in low for sign in _CLOSED) and "net::" not in low:
        return ClosedError(message.splitlines()[0])
    return EnvError(network_reason(message.splitlines()[0]))


def network_reason(message: str) -> str:
    """Chromium's message on a request that failed, with what it does not say."""
    return message + (_NO_TUNNEL if "net::err_tunnel_connection_failed" in message.lower() else "")
