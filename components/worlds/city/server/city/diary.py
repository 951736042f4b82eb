"""Who and what is taken when: the data of a seed have nothing in two places at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

Span = tuple[dt.datetime, dt.datetime]


class Diary:
    """What is taken when, by the names of what can be taken by one booking at a time."""

    def __init__(self) -> None:
        self._spans: dict[str, list[Span]] = {}

    def is_free(self, names: Sequence[str], spans: Sequence[Span]) -> bool:
        """Whether all of these are free at all of these times."""
        return not any(
            start < taken_end and taken_start < end
            for name in names
            for taken_start, taken_end in self._spans.get(name, ())
            for start, end in spans
        )

    def take(self, names: Sequence[str], spans: Sequence[Span]) -> None:
        """Note a booking."""
        for name in names:
            self._spans.setdefault(name, []).extend(spans)
