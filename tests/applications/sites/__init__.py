"""One module or package per application. A new one is found by its name alone; no other file names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from tests.applications.server import Application


def applications() -> Iterator[tuple[str, Application]]:
    """Name and record of each application, in the order of the names."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        yield module.name, importlib.import_module(f"{__name__}.{module.name}").APPLICATION
