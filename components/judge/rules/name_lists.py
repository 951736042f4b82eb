"""Lists of names where one name was asked for: "Ann, Bob, Cy, Di and Ed", "It was seen by Ann and by Bob and by …".

Of such a list, as of several numbers (`rivals`), an answer gives at most one name: the first of its sentence, of which
the others may be details ("Grand Hotel, Forbes Avenue, Oakland, Pittsburgh, Pennsylvania"), or the one that a word such
as "answer" marks. So a list wins at most what one name wins, whichever is right. An item is a list's if it is short and
has no digit. The name that was asked for is an item if only words such as "and by" or "it is" stand beside it: the name
in "Customer: Ann" or "the best is Ann" is none, and neither is one that the answer repeats.
"""

from __future__ import annotations

import re

MIN_ITEMS = 5
"""Items from which on names are a list. "Jane Doe, Boston, Massachusetts" is a name with its place."""
MAX_ITEM_WORDS = 5
MAX_PARTS = 2
"""Items of a sentence up to which it is itself an item of a list of sentences: "It was Flat Rate - Fixed."."""
_NAME = "\N{OBJECT REPLACEMENT CHARACTER}"
_SENTENCE = re.compile(r"[.!?\n](?=\s|$)|\n")
_ITEM = re.compile(r"[,;|/•:]|(?<!\S)(?:and|or|also|then|plus|maybe|perhaps|[-*])(?!\S)")
_LINKS = re.compile(
    r"(?:\b(?:it|its|it's|this|that|there|they|he|she|is|are|was|were|be|by|of|from|in|at|with|to|seen|may|could|might"
    r"|the answer|answer|so|thus|hence|therefore)\b"
    r"|[^\w\s\N{OBJECT REPLACEMENT CHARACTER}])\s*"
)
_MARKED = re.compile(r"\b(?:so|thus|hence|therefore|answer)\b")


def is_one_of_a_list(text: str, name: str) -> bool:
    """Whether a name stands in a text once, as an item of a list that does not single it out.

    Args:
        text: `plain`, but for its lines.
        name: `bare`; the one that was asked for.
    """
    text, count = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", _NAME, text)
    if count != 1:
        return False
    sentences = [_items(sentence) for sentence in _SENTENCE.split(text)]
    sentences = [sentence for sentence in sentences if sentence]
    sentence = next(items for items in sentences if any(_NAME in item for item in items))
    if len(sentence) == 1:
        sentence = [items[0] for items in sentences if len(items) <= MAX_PARTS]
    place = next(number for number, item in enumerate(sentence) if _NAME in item)
    marked = [number for number, item in enumerate(sentence) if _MARKED.search(item)]
    values = [_LINKS.sub("", item).strip() for item in sentence]
    names = [value for value in values if len(value.split()) <= MAX_ITEM_WORDS and not re.search(r"\d", value)]
    return values[place] == _NAME and place > 0 and marked != [place] and len(names) >= MIN_ITEMS


def _items(sentence: str) -> list[str]:
    return [item.strip() for item in _ITEM.split(sentence) if item.strip()]
