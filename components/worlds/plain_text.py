"""Names and phrases in plain texts: without case, accents and punctuation, so that forms of writing do not matter."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """A text without case, accents, punctuation at the ends of words and repeated white space. "+" and "#" after a
    word stay: "C" is not "C++". "7 × 50" is "7 x 50"."""
    text = unicodedata.normalize("NFKD", text).casefold().replace("\N{MULTIPLICATION SIGN}", "x")
    text = "".join(character for character in text if not unicodedata.combining(character))
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
