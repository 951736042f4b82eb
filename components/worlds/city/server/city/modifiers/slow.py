"""Every page takes 0.5 to 2.5 seconds. The wait holds no lock, so other copies go on."""

from __future__ import annotations

import random

from city.modifiers import Modifier

SHORTEST_S, LONGEST_S = 0.5, 2.5


class Slow(Modifier):
    """Delays requests; equal requests after equal writes take equally long."""

    def __init__(self, rng: random.Random) -> None:
        self._salt = rng.random()

    def delay(self, request: str) -> float:
        """Seconds for this request."""
        return random.Random(f"{self._salt}:{request}").uniform(SHORTEST_S, LONGEST_S)


MODIFIER = Slow
