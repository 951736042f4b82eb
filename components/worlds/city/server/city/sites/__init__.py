"""The sites of the city: one package per site, found by name.

A site's package has these names:

- `HOST`: its host, such as `shop.test`.
- `APPS`: entries of INSTALLED_APPS. `MIDDLEWARE`, `CONTEXT_PROCESSORS`: more of these. `SETTINGS`: other settings.
- `SEARCH`: how its models are searched (`search.Searchable`'s arguments, by label).
- `TEMPLATES`, `STATIC`: further folders, if the site has any.
- `NOISE_TABLES`, `NOISE_COLUMNS`: what changes by itself and is no effect of an agent (`differences`).
- `JOINED_COLUMNS`, if a row says too little of itself: by table, columns that an added row is given, each a query on
  the state afterwards in which the row's own columns can be used (`differences`).
- modules `urls` (with `urlpatterns`) and `seed` (with `seed()`, which fills an empty database).
- module `vary`, if its data differ by seed: `vary(rng)` changes the rows of the bound copy (`variation`).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

ORDER = ("shop", "desk", "forum", "cms", "mail", "calendar")
"""The order in which sites are seeded; a site that is not here comes last."""


@cache
def found() -> tuple[ModuleType, ...]:
    """The sites' packages, in `ORDER`."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def name_of(site: ModuleType) -> str:
    """`shop`, for the site of that package."""
    return site.__name__.rpartition(".")[2]
