"""Removes from a line of a judge's answer what models and people add to a verdict, and notes what it says.

Only what cannot change the meaning is removed: emphasis, bullets, a box of LaTeX, end tokens, tags of an answer, emoji.
Emoji and symbols are classified by their Unicode names: a positive one contradicts a failure, a negative one a success,
and a doubtful one (a shrug, an arrow, an empty box) both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from components.judge.reasoning_blocks import INVISIBLE

ANSWER_TAG = (
    r"</?(?:(?:final[_-]?)?(?:answer|verdict|status|response|output|result|judge?ment|evaluation)|json|assistant"
    r"|b|strong|em|i|p|br|center|div|span)\s*/?>"
)
"""Tags that mark an answer or its layout. Others may quote (`<page>`) or negate (`<del>`)."""
END_TOKEN = (
    r"(?:<\|(?:[\w▁]{0,30}[_▁])?(?:end(?:of\w{1,30}|[_▁][\w▁]{1,30})?|eo[a-z](?:_id)?|pad|return|stop|call|user|assistant|observation)"
    r"(?:_token)?\|>|</s>|<(?:eos|eot|end|pad|stop|end_of_\w+)>|\[(?:/INST|EOS|END|DONE)\])"
)
_LETTERS = {first + number: 65 + number for first in (0x1F150, 0x1F170) for number in range(26)}
"""White letters in black circles and squares, for which NFKC has no letter."""
_WITHOUT_WIDTH = re.compile(f"[{INVISIBLE}]")
_ENDS = re.compile(rf"(?:\s*(?:{END_TOKEN}|{ANSWER_TAG}))+\s*$", re.IGNORECASE)
_BEGINNING = re.compile(rf"^\s*(?:{ANSWER_TAG}\s*)+", re.IGNORECASE)
_CLOSER = re.compile(
    r"`{3,}|~{3,}|\\[\])]|\${1,2}|[⸺⸻]+|—{2,}"
    r"|(?:[-‐‑‒–—―─━┄┅┈┉═╌╍=_~*#•·⎯▔▁▬]\s?){3,}"
)
"""A line that may follow the verdict: it only closes a block, or is a rule."""
_BULLET = re.compile(
    r"(?:[-+*–—]|[-=]{1,2}>|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-z]|[ivx]{1,4})[.)]|\d\u20e3|\[[x]\])\s+"
    r"|[•·∙‧⋅‣◦○●◉◯▪▫■◆◇❖►▶▸➤➔➜➢→⇒★☆✦⁃⦿]\s*",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<![^\W_])(_{1,3})(?=[^\s_])(.{1,200}?)(?<=[^\s_])\1(?![^\W_])")
_EMPHASIS_TAG = re.compile(r"</?(?:b|strong|em|i)\s*>", re.IGNORECASE)
_DECORATION = re.compile(r"\*+|`+|^#+\s|^_+|_+$")
_POSITIVE, _NEGATIVE = frozenset("✅✔✓☑🟢👍🎉💯"), frozenset("❌✖✗✘✕☒❎🔴🚫🚷🙅👎⛔🛑⚠")
_NEUTRAL = frozenset("📝📋📌📊🎯🏁🔍🔎⚖🤖💡✨⭐🌟🏆🔹🔸🔷🔶▶➡👉👇")
_PARTS = frozenset("♀♂🏻🏼🏽🏾🏿")
"""The sexes and skin tones of emoji such as 👎🏽."""
_NEGATIVE_NAME, _POSITIVE_NAME, _DOUBTFUL_NAME = (
    re.compile(rf"\b(?:{words})\b")
    for words in (
        r"NO|NOT|NON|WITHOUT|X|CROSS\w*|SALTIRE|PROHIBITED|FORBIDDEN|CANCELLATION|DOWN\w*|STOP|REVERSED|BROKEN|CRYING"
        r"|FROWNING|DISAPPOINTED|ANGRY|POUTING|WORRIED|CONFUSED|ANGUISHED|FEARFUL|WEARY|TIRED|PENSIVE|CONFOUNDED"
        r"|PERSEVERING|UNAMUSED|PALM|SKULL|COFFIN|HEADSTONE|BOMB|COLLISION|WARNING|CAUTION|EXCLAMATION|RED|VOMITING|MINUS|POO",
        r"CHECK|THUMBS UP|OK|PARTY|CONFETTI|CELEBRATION|CLAPPING|SMILING|GRINNING|HAPPY|TROPHY|MEDAL|BICEPS|GREEN|HEART"
        r"|CHAMPAGNE|CLINKING|FIREWORKS?|SPARKLER|BALLOON|ROCKET",
        r"FACE|HANDS?|FINGERS?|FIST|SHRUG|QUESTION|BALLOT|BOX|SQUARE|CIRCLE|CIRCLED|ARROWS?|ARROWHEAD|FLAG|HOURGLASS|CLOCK"
        r"|WATCH|CONSTRUCTION|CAT|MONKEY|LETTERS?|NUMBERS?|EMPTY|HALF|ZERO",
    )
)
_EMOJI = (
    *((0x23E9, 0x23FF), (0x25A0, 0x27BF), (0x2B00, 0x2BFF)),
    *((0x1F300, 0x1F6FF), (0x1F7E0, 0x1F7EB), (0x1F900, 0x1FAFF)),
)
"""Blocks of Unicode that have emoji and pictures. Enclosed letters and flags are in others."""
_MATHS = re.compile(r"\$+(.*?)\$+|\\\((.*)\\\)|\\\[(.*)\\\]")
_COMMAND = re.compile(r"\\(?:f?box(?:ed)?|text(?:bf|it|rm|sf|tt|sc|normal)?|math(?:rm|bf|it|sf|tt)|bm)\s*\{(.*)\}")
_SPACE = re.compile(r"\\[ ,;:]|\\q?quad\b|(?<=\w)~(?=\w)")
_QUOTES = "\"'“”‘’„‚«»‹› "
_BRACKETS = frozenset({"()", "[]", "「」", "『』", "【】", "〔〕"})


@dataclass(frozen=True)
class Line:
    """A line without decoration.

    Attributes:
        text: the line, in NFKC.
        contradicts: the decisions that an emoji of the line contradicts.
        is_item: it was an item of a list, so other items may be the alternatives.
    """

    text: str
    contradicts: frozenset[bool]
    is_item: bool


def folded(text: str) -> str:
    """The text in NFKC, without invisible characters, and with plain letters for letters in circles and squares."""
    return unicodedata.normalize("NFKC", _WITHOUT_WIDTH.sub("", text).translate(_LETTERS))


def without_ends(line: str) -> str:
    """The folded line without end tokens and tags; empty if it only closes a block or is a rule."""
    text = folded(line).strip()
    if _CLOSER.fullmatch(text):
        return ""
    text = _BEGINNING.sub("", _ENDS.sub("", text)).strip()
    return "" if _CLOSER.fullmatch(text) else text


def is_signs(line: str) -> bool:
    """Whether a line has emoji and nothing else."""
    characters = "".join(without_ends(line).split())
    return bool(characters) and all(sign(character) is not None for character in characters)


def cleaned(line: str) -> Line:
    """The line without decoration."""
    text, is_item = _without_bullets(_EMPHASIS_TAG.sub("", without_ends(line)).strip())
    signs = [contradicted for character in text if (contradicted := sign(character)) is not None]
    is_item = is_item or any(sign(character) is not None for character in text.lstrip("*_`# ")[:1])
    text = "".join(character for character in text if not _is_deleted(character)).strip()
    for _ in range(2):
        text = _without_signs(_DECORATION.sub("", _EMPHASIS.sub(r"\2", text)).strip())
        text, is_bulleted = _without_bullets(text)
        is_item = is_item or is_bulleted
    return Line(unboxed(text), frozenset[bool]().union(*signs), is_item)


@lru_cache(maxsize=4096)
def sign(character: str) -> frozenset[bool] | None:
    """The decisions that an emoji or symbol contradicts; None for any other character."""
    if character in _NEUTRAL or character in _PARTS:
        return frozenset()
    if character in _POSITIVE or character in _NEGATIVE:
        return frozenset({character in _NEGATIVE})
    is_emoji = any(first <= ord(character) <= last for first, last in _EMOJI)
    if not is_emoji or unicodedata.category(character) not in ("So", "Sk"):
        return None
    name = unicodedata.name(character, "EMPTY")
    if _NEGATIVE_NAME.search(name):
        return frozenset({True})
    if _POSITIVE_NAME.search(name):
        return frozenset({False})
    return frozenset({True, False}) if _DOUBTFUL_NAME.search(name) else frozenset()


def unboxed(text: str) -> str:
    """The text without the commands and marks of LaTeX that are around all of it."""
    inner = text
    while match := _MATHS.fullmatch(inner.strip(" .")) or _COMMAND.fullmatch(inner.strip(" .")):
        inner = next(group for group in match.groups() if group is not None).strip()
    return _SPACE.sub(" ", inner)


def without_brackets(text: str, brackets: Sequence[str] = ("()", "[]", "【】")) -> str:
    """The text without one pair of brackets around all of it."""
    inner = text.strip().rstrip(" .!。")
    return inner[1:-1].strip() if inner[:1] + inner[-1:] in brackets and len(inner) > 1 else text


def bare(word: str) -> str:
    """The word without quotation marks, brackets around it and punctuation after it.

    Punctuation before the word stays, because `!` negates it and `[ ]` is an empty checkbox.
    """
    inner = ""
    while inner != word:
        inner, word = word, word.lstrip(_QUOTES).rstrip(_QUOTES + ".!。")
        word = word[1:-1] if word[:1] + word[-1:] in _BRACKETS and len(word) > 1 else word
    return word


def _without_bullets(text: str) -> tuple[str, bool]:
    """The text without bullets and numbers of a list, and whether it had one."""
    inner = text
    while bullet := _BULLET.match(inner):
        inner = inner[bullet.end() :]
    return inner, inner != text


def _is_deleted(character: str) -> bool:
    """Whether a sign is deleted anywhere: its meaning is known, or it is noted as contradicting."""
    return character in _NEUTRAL or character in _PARTS or bool(sign(character))


def _without_signs(text: str) -> str:
    """The text without emoji at both ends. Elsewhere one without a known meaning stays, because it may negate."""
    while text and sign(text[0]) is not None:
        text = text[1:].lstrip()
    while text and sign(text[-1]) is not None:
        text = text[:-1].rstrip()
    return text
