"""Keeps a bug of the harness within its episode.

`HarnessError` is for code of this project: the session, rendering, parsing, and reading pages for rules. Errors of a
model, of its server and of its endpoint are not contained, because they would repeat in every other episode. A refused
request alone (`policy.RequestRefusedError`) ends only its episode. A scripted teacher is code for one world and one
task, so its policy (`policies.scripted`) contains what it raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from components.browser import EnvError, HarnessError


@contextlib.contextmanager
def contained(activity: str, *passing: type[Exception]) -> Iterator[None]:
    """Turn an unexpected exception into a `HarnessError`. The errors of an environment pass unchanged.

    Args:
        activity: what the harness does within, for the message.
        passing: further errors that pass unchanged.

    Raises:
        HarnessError: any other exception was raised within.
    """
    unchanged: tuple[type[Exception], ...] = (EnvError, *passing)
    try:
        yield
    except unchanged:
        raise
    except Exception as error:
        raise HarnessError.of(activity, error) from error
