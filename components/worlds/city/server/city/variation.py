"""The data of a seed: each site changes the image's rows, in the order in which sites are seeded.

A site takes part by a module `vary` with `vary(rng)`. What it writes is decided by `rng` and by what the sites before
it have written, so a ticket can name an order of the person who wrote it.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from django.db import transaction

from city import sites


@cache
def modules() -> Mapping[str, ModuleType]:
    """The sites' modules `vary`, by the sites' names, in the order of the sites."""
    names = {sites.name_of(site): f"{site.__name__}.vary" for site in sites.found()}
    return {name: importlib.import_module(module) for name, module in names.items() if find_spec(module) is not None}


def vary(seed: int) -> None:
    """Turn the bound copy's data, which are the image's, into those of a seed."""
    with transaction.atomic():
        for name, module in modules().items():
            module.vary(random.Random(f"{seed}:{name}"))
