"""The templates of all sites, by name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from components.worlds.city.tasks.template import Template


@cache
def templates() -> dict[str, Template]:
    """All templates, sorted by name.

    Raises:
        ValueError: two templates have the same name.
    """
    package = importlib.import_module("components.worlds.city.tasks")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    by_name: dict[str, Template] = {}
    pending = [*Template.__subclasses__()]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if "name" in vars(kind) and kind.name and kind.__module__.startswith(package.__name__):
            if kind.name in by_name:
                raise ValueError(f"two templates are named {kind.name}: rename one of them")
            by_name[kind.name] = kind()
    return dict(sorted(by_name.items()))


def find(name: str) -> Template:
    """The template of a name.

    Raises:
        KeyError: there is none.
    """
    template = templates().get(name)
    if template is None:
        raise KeyError(f"the city has no template {name!r}; it has {', '.join(templates())}")
    return template
