"""Numbers in texts: one spelling for equal numbers, and where a number ends.

Two readings of one text compete: digits that go on are another number (`6k`, `6,5`, `1'006` are not 6), and different
spellings are the same number (`1,006`, `1'006` and `1006`; `182.40` and `182.4`; `914 km` and `914km`). Where a text
could be read both ways, the readings here keep two numbers apart:

- `2.10` and `2.1`, `15.10` and `15.1` may be versions. Zeros at the end of a fraction are dropped beside a currency
  sign or a unit, if the fraction is all zeros, or if the number has three digits or more before the point; never after
  "version", "v", "build" or the name of software ("Firefox 115.10"). A reference with two digits before the point and
  two decimals (`15.10`) may be a price: `15.1` is right, too, but `15.10` is not right for `15.1`.
- A reference with three decimals or more (`40.442`, a coordinate) is a truncated number: an answer with the same digits
  and more is right. With fewer it is a price or a rounded measure, and 5.495 is not 5.49.
- `-5` is not 5, and neither is `-$5`. The hyphen of a bullet (`- 5`), a range (`4-5`) or a name (`A-5`) is no sign.
- `35,149` is one number, unless both 35 and 149 are asked for and no reference has `35,149` itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from components.numerals import with_ascii_digits, with_spelled_multipliers

_UNITS = "km|cm|mm|mi|m|ft|kg|mg|lbs?|g|oz|ml|hrs?|h|mins?|sec|[kmgt]b|mah|w|k"
_CURRENCY = r"[$€£¥₹]\s?|(?<![a-z])(?:usd|eur|gbp|inr|rs\.?)\s?"
_GROUPS = re.compile(r"(?<![\d.,])(?<!\d')[1-9]\d{0,2}(?:(?:,\d{3})+|(?:'\d{3})+)(?!\d|[,']\d)")
_SPACED_GROUP = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""Spaces that group thousands in print; an ordinary space may also separate two numbers."""
_VERSIONED = (
    "version|release|build|revision|rev|firmware|kernel|driver|patch|update|android|chrome|chromium|edge|firefox|ios|ipados"
    "|java|linux|macos|node|opera|php|python|safari|thunderbird|ubuntu|webkit|windows|electron|gitlab|magento|docker"
)
"""Words before the number of a version, and names of software that has long ones."""
_PART = re.compile(r"(\d)\s?([¼-¾⅐-⅞])")
_POWER = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹])")
_DECIMAL = re.compile(
    rf"(?P<version>(?<![a-z])(?:v|ver|(?:{_VERSIONED})(?![a-z]))\.?\s?)?"
    rf"(?P<currency>{_CURRENCY})?"
    r"(?P<letter>(?<=[a-z]))?"
    r"(?<![\d.])(?P<whole>\d+)\.(?P<fraction>\d+)(?!\d|\.\d)"
    rf"(?P<measure>(?=\s?(?:(?:{_UNITS})(?![a-z])|[%€£¥₹]|(?:usd|eur|gbp|inr)(?![a-z]))))?"
)
_SPACED_UNIT = re.compile(rf"(?<=\d) (?=(?:{_UNITS})(?![\w]))")
_TRUNCATED = re.compile(r"(?<![\d.,])\d+\.(?P<fraction>\d{3,})$")
_PRICE = re.compile(r"(?<![\w.,])\d{2}\.[1-9]0$")
_MEANINGS = re.compile(r"[$€£¥₹%<>≤≥=≠≈±]|(?<=\w)[+#]+")
_LIST = re.compile(r"(?<![\d.,])\d+(?:,\d+)+(?![\d,]|\.\d)")
_AFTER_DASH = re.compile(r"(?<!\S)—(?=[$€£¥₹\d])")
SIGN = r"(?<![^\W_])(?<![)\]-])-"
"""A minus sign, if a number follows: neither the hyphen of `A-5` and `5-6` nor the second one of a dash (`--5`)."""
_NUMBER = re.compile(rf"(?P<sign>{SIGN})?[$€£¥₹]?(?P<digits>\d+(?:\.\d+)?)")

UNSIGNED = rf"(?<!{SIGN})(?<!{SIGN}[$€£¥₹])(?<!\bminus )(?<!\bminus [$€£¥₹])(?<!\bnegative )(?<!\bnegative [$€£¥₹])"
"""What stands before a number or a currency sign that has no minus sign."""


def written_out(text: str) -> str:
    """`6½` as `6.5` and `6²` as `6^2`, for Unicode's compatibility forms would make them 61⁄2 and 62.

    Digits of other scripts become 0 to 9, and `6M` becomes `6 million`, because in lower case it would be metres. A
    dash before a number gets a space, so that it is no minus sign.
    """
    text = with_spelled_multipliers(with_ascii_digits(text))
    text = _PART.sub(lambda part: part[1] + f"{unicodedata.numeric(part[2]):.4g}".removeprefix("0"), text)
    return _POWER.sub("^", _SPACED_GROUP.sub(",", _AFTER_DASH.sub("- ", text)))


def spelled(text: str) -> str:
    """A text in lower case with single spaces, with one spelling for equal numbers and their units."""
    text = _GROUPS.sub(lambda number: number[0].replace(",", "").replace("'", ""), text)
    return _SPACED_UNIT.sub("", _DECIMAL.sub(_without_zeros, text))


def _without_zeros(number: re.Match[str]) -> str:
    whole, fraction = number["whole"], number["fraction"]
    is_measure = number["currency"] is not None or number["measure"] is not None
    is_version = number["version"] is not None or (number["letter"] is not None and number["currency"] is None)
    is_plain = len(whole) > 2 or not fraction.strip("0")
    if is_version or not (is_measure or is_plain):
        return number[0]
    return number[0][: number.start("whole") - number.start()] + f"{whole}.{fraction}".rstrip("0").rstrip(".")


def truncated(reference: str) -> str | None:
    """The fraction at the end of a reference if it is that of a truncated number, three digits or more."""
    match = _TRUNCATED.search(reference)
    return match["fraction"] if match else None


def values(text: str) -> set[str]:
    """The numbers of a `plain` text with their minus signs, without zeros at their beginning."""
    return {(number["sign"] or "") + _value(number["digits"]) for number in _NUMBER.finditer(text)}


def is_price(reference: str) -> bool:
    """Whether a reference ends with a number such as `15.10`, which may be a price."""
    return _PRICE.search(reference) is not None


def meant(text: str) -> list[str]:
    """The numbers of a `plain` text in their order, then the signs beside words and numbers that change what is said:
    currencies, comparisons, "%", and "+" and "#" after a word."""
    numbers = [(number["sign"] or "") + _value(number["digits"]) for number in _NUMBER.finditer(text)]
    return numbers + _MEANINGS.findall(text)


def split_lists(answer: str, phrase_numbers: Collection[str], phrases: Collection[str]) -> str:
    """`35,149` as `35, 149` if each of these numbers is among `phrase_numbers`, the `values` of the phrases, and no
    phrase has `35,149` itself.
    """
    written = {numbers for phrase in phrases for numbers in _LIST.findall(phrase)}

    def spaced(numbers: re.Match[str]) -> str:
        parts = numbers[0].split(",")
        is_list = numbers[0] not in written and {_value(part) for part in parts} <= set(phrase_numbers)
        return ", ".join(parts) if is_list else numbers[0]

    return _LIST.sub(spaced, answer)


def _value(number: str) -> str:
    return number.lstrip("0") or "0"
