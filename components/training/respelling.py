"""Other words in the names of a page and in the questions about it, spelled with any token of the vocabulary.

A model copies a name token by token, and a token that no name of its training has is one that it never learned to copy.
The words of the generated pages leave out one in nine of the small base's tokens of letters: it wrote "Farewight" for
"Farewell", and no word has the token "ell" there. So a phase of its pre-training replaces words, each by the same new
word wherever it stands, so that every question keeps its answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from components.agent.grammar import parse_response
from components.browser.elements import parse_elements
from components.training.questions import Question

_WORD = re.compile(r"[^\W\d_]+")
_FORM = {"name", "arguments", "value", "options", "of", "more"}
"""Words of a call and of an element list that no name may change."""
ENDINGS = ("'s", "’s", "-")
"""Marks inside of words: of "harbour master's", and of "first-aid", which is two new words."""


def word_pieces(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """The tokens of letters, in lower case, each once."""
    texts = (str(tokenizer.decode([token])) for token in range(len(tokenizer)))
    return sorted({text.lower() for text in texts if text.isascii() and text.isalpha()})


def respell(
    lines: Sequence[str], questions: Sequence[Question], rng: random.Random, pieces: Sequence[str], share: float
) -> tuple[list[str], list[Question]]:
    """A page's element list and the questions about it, in which words of names and of texts to write are replaced.

    Args:
        pieces: parts of the new words (`word_pieces`).
        share: of the words that are replaced. Those of roles, tools and thoughts stay.
    """
    elements = parse_elements("\n".join(lines))
    texts = [text for line in elements for text in (line.name, line.value, *line.options)]
    kept = {*_FORM, *(word for line in elements for word in (line.role, *line.states))}
    for question in questions:
        for call in parse_response(question.response).calls:
            texts += [value for value in call.arguments.values() if isinstance(value, str)]
            kept |= {call.name, *call.arguments}
        thought = question.response.split("</think>")[0]
        kept |= _words(re.sub(r'"[^"]*"', "", thought))
    words = sorted({word for text in texts for word in _words(text)} - kept)
    taken = {*words, *kept}
    new: dict[str, str] = {}
    for word in words:
        if rng.random() < share:
            new[word] = _new_word(rng, pieces, taken)
    return (
        [_replaced(line, new) for line in lines],
        [Question(_replaced(q.instruction, new), _replaced(q.response, new)) for q in questions],
    )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _new_word(rng: random.Random, pieces: Sequence[str], taken: set[str]) -> str:
    """A word of one to three pieces that is not in `taken`, at times with a mark of `ENDINGS`. The function adds it to
    `taken`."""
    while True:
        word = "".join(rng.choice(pieces) for _ in range(rng.choice([1, 2, 2, 3])))
        ending = rng.choice(ENDINGS) if rng.random() < 0.08 else ""
        word += ending + (rng.choice(pieces) if ending == "-" else "")
        if word not in taken:
            taken.add(word)
            return word


def _replaced(text: str, new: dict[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        old = match[0]
        word = new.get(old.lower())
        if word is None:
            return old
        if old.isupper() and len(old) > 1:
            return word.upper()
        return word.capitalize() if old[0].isupper() else word

    return _WORD.sub(one, text)
