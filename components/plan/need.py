"""What a run needs of the machine itself: entries of its memory and its disks, and how they are said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Need:
    """One entry, in bytes.

    Attributes:
        formula: where the bytes come from, in words.
        keys: what makes it smaller, as keys of the recipe.
        certain: the bytes that are needed whatever is assumed.
    """

    name: str
    bytes: float
    formula: str
    keys: tuple[str, ...] = ()
    certain: float = 0.0

    def at_least(self) -> Need:
        """The entry with its certain bytes alone."""
        return replace(self, bytes=self.certain)


def total(needs: Iterable[Need]) -> float:
    """Bytes of all entries."""
    return sum(need.bytes for need in needs)


def certain(needs: Iterable[Need]) -> float:
    """Bytes that are needed whatever is assumed."""
    return sum(need.certain for need in needs)


def largest(needs: Sequence[Need], unit: float, name: str) -> str:
    """The two largest entries with what lowers them, in words; entries below a tenth of all are left out.

    Args:
        unit: bytes of the unit.
        name: of the unit.
    """
    ordered = sorted(needs, key=lambda need: -need.bytes)[:2]
    named = [need for need in ordered if need.bytes >= total(needs) / 10]
    return ", ".join(f"{need.name} {need.bytes / unit:.1f} {name}{_lower(need.keys)}" for need in named)


def _lower(keys: Sequence[str]) -> str:
    return f" (lower {' or '.join(keys)})" if keys else ""
