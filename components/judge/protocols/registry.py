"""Finds judge protocols by name (`components.plugins`): those in this package, those that are installed, or a dotted
path."""

from __future__ import annotations

from functools import cache

from components import plugins
from components.judge.protocols.base import JudgeProtocol
from components.judge.protocols.openwebrl import openwebrl

FAMILY = "judge_protocols"


@cache
def judge_protocol(name: str, screenshots: int | None = None) -> JudgeProtocol:
    """A protocol by its name in a recipe.

    Args:
        screenshots: how many `openwebrl` shows; None is its published number. The others have numbers of their own.

    Raises:
        plugins.UnknownKindError: no protocol has this name, or the object is no `JudgeProtocol`.
    """
    if name == "openwebrl" and screenshots is not None:
        return openwebrl(screenshots)
    kind = plugins.find(FAMILY, name)
    if not isinstance(kind, JudgeProtocol):
        raise plugins.UnknownKindError(f"{name!r} is {kind!r}, which is no components.judge.protocols.JudgeProtocol")
    return kind


def judge_protocol_names() -> list[str]:
    """The names of all judge protocols that need no dotted path, sorted."""
    return plugins.names(FAMILY)
