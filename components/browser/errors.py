"""The errors that end an episode. The episode loop (`agent.loop`) turns each into a `Termination`.

To add one, derive it from `EnvError`, name its `Termination` in its docstring, and map it in the episode loop. A tool
call that fails raises nothing: it becomes a `Failed:` line of feedback, and the episode goes on.
"""

from __future__ import annotations

import traceback


class EnvError(Exception):
    """A browser operation failed or timed out after its retries (`Termination.ENV_ERROR`)."""


class EnvInitError(EnvError):
    """The start page could not be opened (`Termination.ENV_INIT_ERROR`)."""


class BlockedError(EnvInitError):
    """The site answered with a block page or a CAPTCHA (`Termination.BLOCKED`)."""


class SandboxError(EnvError):
    """The browser or one of its renderers died (`Termination.SANDBOX_ERROR`)."""


class HarnessError(EnvError):
    """The harness itself failed with an unexpected exception, which is a bug in it (`Termination.HARNESS_ERROR`).

    Args:
        message: what the harness did, and the exception.
        trace: the exception's traceback, which also crosses from one machine to another.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace

    @classmethod
    def of(cls, activity: str, error: Exception) -> HarnessError:
        """The error for an unexpected exception that ended the activity."""
        return cls(f"{activity}: {error!r}", "".join(traceback.format_exception(error, limit=-12)))


class ChromiumNotFoundError(RuntimeError):
    """This machine has no Chromium that can be run and draws text. The message names the fix."""
