"""Finds protocols by name (`components.plugins`): those in this package, those that are installed, or a dotted path."""

from __future__ import annotations

from functools import cache

from components import plugins
from components.agent.protocols.base import Protocol

FAMILY = "protocols"


@cache
def protocol(name: str) -> Protocol:
    """The protocol of a recipe (`agent.protocol`).

    Raises:
        plugins.UnknownKindError: no protocol has this name, or the object is no `Protocol`.
    """
    kind = plugins.find(FAMILY, name)
    if not isinstance(kind, Protocol):
        raise plugins.UnknownKindError(f"{name!r} is {kind!r}, which is no components.agent.protocols.Protocol")
    return kind


@cache
def protocol_names() -> tuple[str, ...]:
    """The names of all protocols that need no dotted path, sorted."""
    return tuple(plugins.names(FAMILY))
