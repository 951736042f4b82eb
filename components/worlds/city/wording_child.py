"""Prints the words of copies under modifiers as JSON. It runs in the city's environment, with the server's code.

It reads `{"seeds": […], "modifiers": […]}` from standard input and prints one object per seed (`wording.Wording`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache

from city import modifiers
from city.serving import setup

setup()

from django.utils.translation import trans_real  # noqa: E402  Django must be set up first


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
    labels = dict(options)
    for modifier in active:
        labels |= modifier.labels()
        if modifier.language is not None:
            options |= modifier.labels()
    dismissals = [name for modifier in active if (name := modifier.dismissal()) is not None]
    return {"labels": labels, "options": options, "dismissals": dismissals}


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The applications' translations of texts without a context, a plural or a placeholder."""
    return {
        message: text
        for message, text in trans_real.translation(language)._catalog.items()
        if isinstance(message, str) and message and text and text != message and not {"\x04", "%"} & {*message}
    }


if __name__ == "__main__":
    main()
