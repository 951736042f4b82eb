"""Prints the words of copies under modifiers as JSON. It runs in the city's environment, with the server's code.

It reads `{"seeds": […], "modifiers": […]}` from standard input and prints one object per seed (`wording.Wording`).
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

from city import modifiers
from city.copies import START
from city.serving import setup

setup()

from django.conf import settings  # noqa: E402  Django must be set up first
from django.utils.formats import date_format  # noqa: E402
from django.utils.translation import override, trans_real  # noqa: E402

DAY = "l, j F"
"""In the calendar's templates."""


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    selected = modifiers.checked(request["modifiers"])
    print(json.dumps([wording(selected, seed) for seed in request["seeds"]]))


def wording(selected: tuple[str, ...], seed: int) -> dict[str, object]:
    """The words of one copy."""
    active = modifiers.load(selected, seed)
    languages = [modifier.language for modifier in active if modifier.language is not None]
    options = dict(catalogue(languages[0])) if languages else {}
    labels = options | (dict(days(languages[0])) if languages else {})
    for modifier in active:
        labels |= modifier.labels()
        if modifier.language is not None:
            options |= modifier.labels()
    dismissals = [asdict(control) for modifier in active if (control := modifier.dismissal()) is not None]
    return {"labels": labels, "options": options, "dismissals": dismissals}


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The applications' translations of texts without a context, a plural or a placeholder, by the usual texts.

    A usual text need not be the source of its translation: "Add to basket" reads "Add to cart" in American English.
    """
    usual, translated = (trans_real.translation(code)._catalog for code in (settings.LANGUAGE_CODE, language))
    shown = {}
    for message in translated.keys():  # noqa: SIM118  a catalogue is no mapping
        if isinstance(message, str) and message and not {"\x04", "%"} & {*message}:
            # of the applications that translate a text, the first one counts, as on the pages
            shown[words_of(usual.get(message) or message)] = words_of(translated[message])
    return {text: other for text, other in shown.items() if other and other != text}


@cache
def days(language: str) -> Mapping[str, str]:
    """The names of the days of the year in which episodes begin, as the calendar writes them: `Monday, 16 March`."""
    first = dt.date(START.year, 1, 1)
    year = [first + dt.timedelta(days=number) for number in range(365)]
    with override(language):
        return {f"{day:%A}, {day.day} {day:%B}": date_format(day, DAY) for day in year}


def words_of(text: str) -> str:
    """The text as a page shows it, without white space around it."""
    return " ".join(text.split())


if __name__ == "__main__":
    main()
