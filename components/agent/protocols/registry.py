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
    _named[name] = kind
    return kind


_named: dict[str, Protocol] = {}
"""The protocols that recipes of this process have named."""


def recorded_protocol(name: str) -> Protocol | None:
    """The protocol of a recorded trajectory; None if it is not known here.

    A dotted path is known only if a recipe of this process names it: a file of records must not import modules.
    """
    if name not in protocol_names():
        return _named.get(name)
    try:
        return protocol(name)
    except plugins.UnknownKindError:
        return None


@cache
def protocol_names() -> tuple[str, ...]:
    """The names of all protocols that need no dotted path, sorted."""
    return tuple(plugins.names(FAMILY))
