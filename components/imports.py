"""Imports of large packages without Python's garbage collector, which takes a third of their time.

They make some hundred thousand objects that stay until the process ends. The collector would look for garbage among
them again and again, and once more at the end, which took three seconds of a stage's process.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

atexit.register(gc.freeze)
"""At the end of the process all memory goes back, garbage or not."""


@contextmanager
def without_collector() -> Iterator[None]:
    """Import packages in this block. Afterwards the collector is on again, if it was on before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
