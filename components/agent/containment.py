"""Keeps a bug of the harness within its episode.

`HarnessError` is for code of this project: the session, rendering, parsing, and reading pages for rules. Errors of the
policy and of its endpoint are not contained, because they would repeat in every other episode. A refused request alone
(`policy.RequestRefusedError`) ends only its episode.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from components.browser import EnvError, HarnessError


@contextlib.contextmanager
def contained(what: str) -> Iterator[None]:
    """Turn an unexpected exception into a `HarnessError`. The errors of an environment pass unchanged.

    Args:
        what: what the harness does within, for the message.

    Raises:
        HarnessError: any other exception was raised within.
    """
    try:
        yield
    except EnvError:
        raise
    except Exception as error:
        raise HarnessError.of(what, error) from error
