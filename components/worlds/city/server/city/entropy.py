"""Randomness that repeats: while `seeded` runs, every source of random numbers in this thread depends on a text alone.

Django draws session keys, CSRF tokens and file names from `secrets`, and applications draw from `random` and `uuid`.
All of them end in `random` or in `os.urandom`, and `os.urandom` is replaced here. Outside of `seeded`, and in other
threads, it is the system's. The city is reachable from one machine and guards nothing, so predictable keys do no harm;
the keys of copies are made outside of `seeded`.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Iterator

_system_urandom = os.urandom
_seeded = threading.local()


def _urandom(size: int) -> bytes:
    generator: random.Random | None = getattr(_seeded, "generator", None)
    return _system_urandom(size) if generator is None else generator.randbytes(size)


def install() -> None:
    """Replace the process's sources of randomness. Call it before anything draws from them."""
    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]  # what SystemRandom, and so secrets, uses


@contextlib.contextmanager
def seeded(text: str) -> Iterator[None]:
    """Let all randomness of this thread depend on a text."""
    before, outer = random.getstate(), getattr(_seeded, "generator", None)
    random.seed(text)
    _seeded.generator = random.Random(f"system:{text}")
    try:
        yield
    finally:
        random.setstate(before)
        _seeded.generator = outer
