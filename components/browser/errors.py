"""What can go wrong in the environment, by whose fault it ends the episode.

To add one: derive it from `EnvError`, say in its docstring which `Termination` it becomes, and map it in the episode
loop. A tool call that fails is no exception: it becomes a `Failed:` line of feedback and the episode goes on.
"""

from __future__ import annotations


class EnvError(Exception):
    """A browser operation failed or timed out after its retries (`Termination.ENV_ERROR`)."""


class EnvInitError(EnvError):
    """The start page could not be opened (`Termination.ENV_INIT_ERROR`)."""


class BlockedError(EnvInitError):
    """The site answered with a block page or a CAPTCHA (`Termination.BLOCKED`)."""


class SandboxError(EnvError):
    """The browser or one of its renderers died (`Termination.SANDBOX_ERROR`)."""


class ChromiumNotFoundError(RuntimeError):
    """No Chromium on this machine; the message is the command to type."""
