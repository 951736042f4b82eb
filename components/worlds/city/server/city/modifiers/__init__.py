"""Modifiers: "the same task on another day". One module per modifier, found by its name.

A module defines a subclass of `Modifier` and names it `MODIFIER`. All that a modifier draws depends on the copy's seed
and the modifier's name, so equal seeds and modifiers give equal bytes, whatever the order of the names. A modifier's
object holds what the seed decided and never changes; what an episode must remember (an error page was shown) is
counted in the copy (`Copy.counts`), which forks and snapshots take along.

| modifier | what differs |
|---|---|
| `theme`, `layout` | colours and fonts; the sides of navigation, spacing, lists for grids, the order of columns |
| `labels`, `language` | synonyms on buttons, links and fields; German or Spanish texts of the applications |
| `slow` | each page takes 0.5 to 2.5 s, while other copies go on |
| `error_once` | one page answers 500 or 503, and works when it is loaded again |
| `expired_session` | after some pages the visitor is logged out, once |
| `cookie_banner`, `popup` | a banner or a dialog covers the page until it is answered |
| `declined_payment`, `out_of_stock` | the shop refuses the first payment; a third of its goods is sold out |
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from city.copies import Copy


class UnknownModifierError(ValueError):
    """No modifier has this name."""


@dataclass(frozen=True)
class Dismissal:
    """A control by which a visitor comes to the page: its role and name in the element list.

    Attributes:
        beside: role and name of a line that is there only with it; None if its own name is enough.
        words: what a visitor does by it.
    """

    role: str
    name: str
    beside: tuple[str, str] | None = None
    words: str = "close what covers the page"


class Modifier:
    """A way in which a copy differs from the image. A subclass overrides what it needs.

    Args:
        rng: the randomness of this copy's seed, for this modifier alone.
    """

    def __init__(self, rng: random.Random) -> None:
        """Draw all choices here; the object does not change afterwards."""

    def patch(self) -> None:
        """Change rows of the bound copy, when it is made."""

    def delay(self, request: str) -> float:
        """Seconds that a request waits before it takes its turn.

        Args:
            request: the number of writes so far, the method and the address.
        """
        return 0.0

    def before(self, request: HttpRequest, counts: Counter[str]) -> HttpResponse | None:
        """Act before an application sees a request; an answer that is returned replaces the application's."""
        return None

    def after(self, request: HttpRequest, response: HttpResponse, counts: Counter[str]) -> None:
        """Change an answer. It is called after every `before`."""

    def css(self, request: HttpRequest) -> str:
        """Rules that are added to each page."""
        return ""

    def markup(self, request: HttpRequest, counts: Counter[str]) -> str:
        """Elements and scripts that are added at the end of each page."""
        return ""

    def refusal(self, deed: str, counts: Counter[str]) -> str | None:
        """Why a deed that a site asks about fails, such as `payment`; None if it does not."""
        return None

    def labels(self) -> Mapping[str, str]:
        """New texts of interface elements by their old texts."""
        return {}

    @property
    def language(self) -> str | None:
        """The language in which the applications' own catalogues translate a page; None for the settings' one."""
        return None

    def dismissal(self) -> Dismissal | None:
        """The control that takes away what covers or replaces a page; None if nothing does."""
        return None


def names() -> list[str]:
    """The names of all modifiers."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def checked(selected: Iterable[str]) -> tuple[str, ...]:
    """These modifiers' names in order, each once.

    Raises:
        UnknownModifierError: there is no modifier of a name.
    """
    unknown = sorted({*selected} - {*names()})
    if unknown:
        raise UnknownModifierError(f"there is no modifier {', '.join(unknown)}; there are {', '.join(names())}")
    return tuple(sorted({*selected}))


@lru_cache(maxsize=1024)
def load(selected: tuple[str, ...], seed: int) -> tuple[Modifier, ...]:
    """The modifiers of a copy with this seed."""
    return tuple(
        importlib.import_module(f"{__name__}.{name}").MODIFIER(random.Random(f"{seed}:modifier:{name}"))
        for name in selected
    )


def refusal(copy: Copy, deed: str) -> str | None:
    """The first modifier's reason against a deed in a copy; None if there is none."""
    reasons = (modifier.refusal(deed, copy.counts) for modifier in load(copy.modifiers, copy.seed))
    return next((reason for reason in reasons if reason is not None), None)
