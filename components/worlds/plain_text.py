"""Names and phrases in plain texts: without case, accents and punctuation, so that forms of writing do not matter."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_PAST_ACCENTS = "\u0700"
"""Before it are Latin, Greek, Cyrillic, Hebrew and Arabic letters. A mark on them is an accent or may be left out. On
letters from here on it makes another letter: バ is not ハ, and मो is not मी."""


def folded(text: str) -> str:
    """A text without case and accents. Another mark is written as its number, so that it is part of a word."""
    if text.isascii():
        return text.casefold()
    letters, base = [], ""
    for character in unicodedata.normalize("NFKD", text).casefold():
        is_mark = _is_mark(character)
        base = base if is_mark else character
        if not is_mark or (base >= _PAST_ACCENTS and base.isalpha()):
            letters.append(character)
    composed = unicodedata.normalize("NFC", "".join(letters))
    return "".join(f"_{ord(character):x}" if _is_mark(character) else character for character in composed)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def plain(text: str) -> str:
    """A text without case, accents, punctuation at the ends of words and repeated white space. "+" and "#" after a
    word stay: "C" is not "C++". "7 × 50" is "7 x 50"."""
    text = folded(text).replace("\N{MULTIPLICATION SIGN}", "x")
    return " ".join(re.findall(r"(?:[\w][\w.'@/:&+-]*[\w]|\w)[+#]*", text))


def has_phrase(text: str, phrase: str) -> bool:
    """Whether a phrase is in a text as whole words."""
    return bool(phrase) and re.search(rf"(?<!\w){re.escape(phrase)}(?![\w+#])", text) is not None


def replaced(text: str, phrase: str, by: str, before: str = r"(?<!\w)") -> str:
    """A text with another one in the place of a phrase.

    Args:
        before: a regular expression of what stands before the phrase, and is replaced, too.
    """
    return re.sub(rf"{before}{re.escape(phrase)}(?![\w+#])", by, text)


def has_any(text: str, words: Iterable[str]) -> bool:
    """Whether one of some phrases, each in any form, is in a plain text."""
    return any(has_phrase(text, plain(word)) for word in words)


def has_item(items: Iterable[str], names: Iterable[str], allowed: Sequence[str]) -> bool:
    """Whether an item of a list is one of some plain names, and apart from the allowed texts."""
    return any(is_apart(name, allowed) for name in {*names} & {*map(plain, items)})


def is_apart(name: str, texts: Iterable[str]) -> bool:
    """Whether a plain name shares no word of three letters or more with some texts."""
    words = {word for text in texts for word in re.findall(r"\w{3,}", plain(text))}
    return words.isdisjoint(re.findall(r"\w{3,}", name))


def names_in(text: str, others: Iterable[str]) -> tuple[list[str], bool]:
    """The names of other kinds in a plain text, and whether the text has more words than those."""
    named = []
    for name in sorted(others, key=len, reverse=True):
        if has_phrase(text, name):
            named.append(name)
            text = replaced(text, name, " ")
    return named, re.search(r"\w", text) is not None
