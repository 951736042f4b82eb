"""Where a number in a text begins and ends, for all that compare an answer with a right number.

Digits that go on are another number: `6k`, `6,5`, `6·5`, `6 million`, `6×10³` and `6_000` are not 6.
"""

from __future__ import annotations

import re

STARTS = r"(?<!\d)(?<!\d[.,'^⁄e·_×⋅*])(?<!\de[+-])(?<!(?<![a-z.])[.⁄])0*"
"""What stands before a number that begins here. `.6` does not begin with 6, nor `3e6`; `No.6` does."""
_MANY = "hundred|thousand|million|billion|trillion|dozen|lakh|crore"
_SHORT = "mn|mio|mln|mrd|bn|bln|trn"
ENDS = (
    r"(?!\d|[.,'·_*]\d|\s?[×⋅]\s?\d|\s?x\s?10(?:\^|\*\*|[²³¹⁰⁴-⁹])|[\^⁄²³¹⁰⁴-⁹]|\s?[¼-¾⅐-⅞]|e[+-]?\d"
    rf"|b(?![a-z])|[\s-]?(?:(?:{_MANY})s?|{_SHORT}|k)(?![a-z])"
    r"|[\s-](?:and[\s-])(?:a[\s-])?(?:half|third|quarter)(?![a-z]))"
)
"""What must not follow a number that ends here, in lower case."""
_DIGIT = re.compile(r"[^\W0-9]")


def with_ascii_digits(text: str) -> str:
    """A text with the decimal digits of every script as 0 to 9, and Arabic separators as a point and a comma."""
    digits = _DIGIT.sub(lambda letter: str(int(letter[0])) if letter[0].isdecimal() else letter[0], text)
    return digits.replace("\N{ARABIC DECIMAL SEPARATOR}", ".").replace("\N{ARABIC THOUSANDS SEPARATOR}", ",")
