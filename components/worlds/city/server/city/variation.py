"""The data of a seed: each site changes the image's rows, in the order in which sites are seeded.

A site takes part by a module `vary` with `vary(rng)`. What it writes is decided by `rng` and by what the sites before
it have written, so a ticket can name an order of the person who wrote it.
"""

from __future__ import annotations

import importlib
import random
from importlib.util import find_spec

from django.db import transaction

from city import sites


def vary(seed: int) -> None:
    """Turn the bound copy's data, which are the image's, into those of a seed."""
    with transaction.atomic():
        for site in sites.found():
            if find_spec(f"{site.__name__}.vary") is not None:
                module = importlib.import_module(f"{site.__name__}.vary")
                module.vary(random.Random(f"{seed}:{sites.name_of(site)}"))
