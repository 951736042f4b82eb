"""Finds the reasoning blocks of a model's answer: text inside of one is no verdict.

The names and marks differ per model (`<think>`, `<|START_THINKING|>`, `[THINK]`, `<|channel|>analysis`,
`<unused94>thought`, a fence such as ```` ```thinking ````), so they are recognised as a class: a tag, token, bracket or
fence whose name has a word of `_STEM`. The same words outside of such marks are ordinary text.

A block is closed by the mark of the same name only, and a close must be complete and not quoted. What is doubtful
counts as still open, which masks a sample and never rewards it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

INVISIBLE = "\ufeff\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f"
"""Characters without a width, as the inside of a character class. Controls that reverse the text are not among them."""
_WITHOUT_WIDTH = re.compile(f"[{INVISIBLE}]")
_STEM = (
    r"(?:think|thought|reason|analy[sz]|commentary|reflect|scratch[\s_-]?pad|monolog|deliberat|ponder|introspect"
    r"|contemplat|brainstorm|chain[\s_-]?of|思考|思维|推理|反思"
    r"|(?<![^\W_])(?:cot|plan|planning|draft|inner|internal|hidden|critique)(?![^\W_]))"
)
"""The beginnings of the words for reasoning."""
_NAME = rf"(?>[\w:.▁-]{{0,40}}?{_STEM}[\w:.▁-]{{0,40}})"
_WORD = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|commentary|reflections?|scratchpad|monologue|deliberation|cot"
    r"|思考|思维|推理|反思)"
)
_BESIDE = (
    r"(?:begin|start|end|close|of|my|inner|internal|hidden|private|chain|self|deep|model|process|mode|block|trace"
    r"|steps?)"
)
_PHRASE = rf"(?:{_BESIDE}[\s_-]{{0,3}}){{0,5}}{_WORD}(?:[\s_-]{{0,3}}{_BESIDE}){{0,5}}"
"""A name in square brackets or braces. It is narrower than `_NAME`, because answers quote buttons and fields so."""
_MARK = re.compile(
    rf"""
      (?P<channel> <\|?channel\|?> ) \s* (?P<channel_name> [\w-]* )
          (?: (?<=final) \s* (?: <\|constrain\|> \s* \w+ \s* )? <\|message\|> )?
    | (?P<role> <(?: \|[\w▁-]+\|? | [\w▁-]+\| | unused\d+ | start_of_\w+ )> [ \t]* \n? [ \t]* {_NAME}
          (?= \s*? (?:\n|<|$) ) )
    | (?P<tag> (?P<left> (?:<|&lt;|\\u003c|[◁⟨]) (?:!--)? ) \s* \|? \s* (?P<slash> /? ) \s* \|? \s* (?P<name> {_NAME} )
          (?: (?P<rest> (?: (?!&gt;) [^<>▷⟩] ){{0,200}}? ) (?P<right> >|&gt;|\\u003e|[▷⟩] ) | [^<>\n]* $ ) )
    | (?P<bracket> (?: (?<![\w\\]) [\[【{{] | [\[【{{] (?= \s* / ) ) \s* (?P<bracket_slash> /? )
          \s* (?P<phrase> {_PHRASE} ) \s* [\]】}}] (?! \( ) )
    | (?: ^ [ \t]* | (?= (?: `{{3,}}|~{{3,}} ) [ \t]* {_NAME} ) ) (?P<fence> `{{3,}}|~{{3,}} )
          [ \t]* (?P<info> [^\n`]* )
    | (?P<role_end> <(?: unused\d+ | \|(?:im_end|im_start|end|start|eot_id)\| | (?:start|end)_of_turn )> )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_ENDS = {"end", "close", "stop"}
_NO_NAME = _ENDS | {"begin", "start", "open", "of"}
_REASONING = re.compile(_STEM, re.IGNORECASE)
_QUOTED = frozenset("\"'`“”‘’«»")
_SWITCHES = {"channel", "role"}
"""Kinds of which a second open begins no second block."""


@dataclass(frozen=True)
class Reasoning:
    """Where the reasoning of a text ends.

    Attributes:
        starts: where a response may start: 0, and behind each close after which no block is open.
        is_open: a block is not closed, so the end of the text is reasoning.
        marks: the positions of the marks.
    """

    starts: tuple[int, ...]
    is_open: bool
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Mark:
    """`kind` pairs a close with its open. `inside`: the mark means nothing unless a block of its kind is open."""

    start: int
    end: int
    kind: str
    opens: bool
    inside: bool = False


def reasoning_of(text: str) -> Reasoning:
    """The blocks of reasoning. A close without an open ends reasoning too: the open may be in the prompt."""
    characters, places = _folded(text)
    opened: dict[str, int] = {}
    starts, spans = [0], []
    before: _Mark | None = None
    for mark in _marks(characters):
        if mark.kind not in opened and (mark.inside or (opened and not mark.opens)):
            continue
        spans.append((places[mark.start], places[mark.end - 1] + 1))
        if mark.opens:
            gap = characters[before.end : mark.start].strip() if before else ""
            is_repeated = before is not None and before.opens and before.kind == mark.kind and not gap
            is_counted = not is_repeated and mark.kind not in _SWITCHES
            opened[mark.kind] = max(1, opened.get(mark.kind, 0) + is_counted)
        else:
            opened[mark.kind] = opened.get(mark.kind, 1) - 1
            if not opened[mark.kind]:
                del opened[mark.kind]
            if not opened:
                starts.append(spans[-1][1])
        before = mark
    return Reasoning(tuple(starts), bool(opened), tuple(spans))


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in NFKC and without invisible characters, and the place of each of its characters in the text."""
    if text.isascii():
        return text, list(range(len(text)))
    characters, places = [], []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", _WITHOUT_WIDTH.sub("", character)):
            characters.append(letter)
            places.append(place)
    return "".join(characters), places


def _marks(text: str) -> Iterator[_Mark]:
    for match in _MARK.finditer(text):
        start, end = match.span()
        group = match.groupdict()
        if group["channel"]:
            yield _channel(match)
        elif group["role"]:
            yield _Mark(start, end, "role", opens=True)
        elif group["role_end"]:
            yield _Mark(start, end, "role", opens=False, inside="unused" not in group["role_end"].lower())
        elif group["fence"]:
            is_reasoning = bool(_REASONING.search(group["info"]))
            yield _Mark(start, end, group["fence"][:3], opens=bool(group["info"]), inside=not is_reasoning)
        elif group["bracket"]:
            yield from _pair(match, "[", group["phrase"], bool(group["bracket_slash"]))
        else:
            yield from _pair(match, "<", group["name"], bool(group["slash"]))


def _channel(match: re.Match[str]) -> _Mark:
    """Every channel but the final one is reasoning; `<channel|>` alone ends it."""
    name = match["channel_name"].lower()
    if match["channel"].lower() == "<channel|>" and not _REASONING.match(name):
        return _Mark(match.start(), match.end("channel"), "channel", opens=False)
    return _Mark(match.start(), match.end(), "channel", opens=name != "final")


def _pair(match: re.Match[str], left: str, name: str, has_slash: bool) -> Iterator[_Mark]:
    """An open, or a close if it is complete and not quoted."""
    words = [word for word in re.split(r"[\W_▁]+", name.lower()) if word]
    kind = left + "".join(word for word in words if word not in _NO_NAME)
    if not (has_slash or _ENDS & {*words}):
        yield _Mark(*match.span(), kind, opens=True)
        return
    start, end = match.span()
    is_quoted = match.string[start - 1 : start] in _QUOTED and match.string[end : end + 1] in _QUOTED
    if not is_quoted and (left == "[" or (match["right"] and not match["rest"].strip("|-/ \n\t"))):
        yield _Mark(start, end, kind, opens=False)
