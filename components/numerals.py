"""Where a number in a text begins and ends, for all that compare an answer with a right number.

Digits that go on are another number: `6k`, `6M`, `6,5`, `6·5`, `6 million`, `6 mil`, `6万`, `6×10³` and `6_000` are not
6, and neither is an end of the range `6..7`.
"""

from __future__ import annotations

import re

STARTS = r"(?<!\d)(?<!\d[.,'^⁄e·_×⋅*])(?<!\de[+-])(?<!\d\.\.)(?<!\d\.\.\.)(?<!\d\.{4})(?<!\d…)(?<!(?<![a-z.])[.⁄])0*"
"""What stands before a number that begins here. `.6` does not begin with 6, nor `3e6`, `5..6` or `5…6`; `No.6` does."""
_MANY = "hundred|thousand|million|billion|trillion|dozen|lakh|crore"
_SHORT = "mn|mio|mln|mil|mrd|bn|bln|trn|cr|lac|giga|thou|tsd"
_CHARACTERS = "[万萬亿億兆만억천]|千(?![克米瓦卡])"
"""Chinese, Japanese and Korean multipliers; 千克 is a kilogram."""
ENDS = (
    r"(?!\d|[.,'·_*]\d|\.{2,}\d|…\d|\s?[×⋅]\s?\d|\s?x\s?10(?:\^|\*\*|[²³¹⁰⁴-⁹])|[\^⁄²³¹⁰⁴-⁹]|\s?[¼-¾⅐-⅞]|\.?e[+-]?\d"
    rf"|b(?![a-z])|[\s-]?(?:(?:{_MANY})s?|{_SHORT}|kk?)(?![a-z])"
    rf"|\s?(?:{_CHARACTERS})"
    r"|[\s-](?:and[\s-])(?:a[\s-])?(?:half|third|quarter)(?![a-z]))"
)
"""What must not follow a number that ends here, in lower case."""
_DIGIT = re.compile(r"[^\W0-9]")
_SEPARATORS = str.maketrans(
    {
        "\N{ARABIC DECIMAL SEPARATOR}": ".",
        "\N{ARABIC THOUSANDS SEPARATOR}": ",",
        "\N{ARABIC COMMA}": ",",
    }
)
_CAPITALS = {"M": "million", "MM": "million", "T": "trillion", "G": "giga", "L": "lakh"}
_CAPITAL = re.compile(r"(?<![\w.])(?<!\w-)([$€£¥₹]?\d[\d.,]*)(?:\s?(MM?)|([TGL]))(?!\w)")


def with_ascii_digits(text: str) -> str:
    """A text with the decimal digits of every script as 0 to 9, and Arabic separators and commas as a point and
    commas."""
    digits = _DIGIT.sub(lambda letter: str(int(letter[0])) if letter[0].isdecimal() else letter[0], text)
    return digits.translate(_SEPARATORS)


def with_spelled_multipliers(text: str) -> str:
    """`6M` as `6 million`, and `6T`, `6G` and `6L` likewise, because in lower case these are units: 6m are metres.

    The letter of a code ("WS08-6M") and a litre behind a space ("6 L") stay.
    """
    return _CAPITAL.sub(lambda number: f"{number[1]} {_CAPITALS[number[2] or number[3]]}", text)
