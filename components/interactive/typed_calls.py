"""Reads a line that a person typed as tool calls: `click 512 86; write "red tent"  # search for the tent`.

Arguments come in the order of the tool's table, or as `name=value`, as switches must and those that the paper's tools
do not have. Semicolons separate calls of one turn, and the text after `#` is the thought. Where a text is the last
argument, as of `write`, `done` and `goto_url`, it is the rest of the line, with or without quotes. A word in quotes is
never taken for `name=value`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from components.browser.tools import EXTENSION, Arguments, parse_arguments
from components.records import ToolCall


class TypedLineError(ValueError):
    """The line is no call. The message says what is wrong."""


@dataclass(frozen=True)
class TypedTurn:
    """The calls of a line, and the thought after `#`, which may be empty."""

    calls: list[ToolCall]
    thought: str


def read_line(line: str, tools: Mapping[str, type[Arguments]]) -> TypedTurn:
    """The calls and the thought of a line.

    Raises:
        TypedLineError: a call has an unknown name or wrong arguments, or a quote is not closed.
    """
    parts, thought = _split(line)
    calls = [_call(part, tools) for part in parts if part.strip()]
    if not calls:
        raise TypedLineError("the line has no call; type `help` for the tools")
    return TypedTurn(calls, thought)


def signature(name: str, tool: type[Arguments]) -> str:
    """How to type a tool, with a phrase about it."""
    return f"{form(name, tool):44} {(tool.__doc__ or '').strip().splitlines()[0]}"


def form(name: str, tool: type[Arguments]) -> str:
    """How to type a tool: `click X Y [BUTTON] [CLICK_TYPE]`."""
    needed = [field.upper() for field, details in tool.model_fields.items() if details.is_required()]
    optional = [field for field, details in tool.model_fields.items() if not details.is_required()]
    named = [f"[{field.upper()}]" if field in _positional(tool) else f"[{field}={field.upper()}]" for field in optional]
    return " ".join([name, *needed, *named])


def _call(text: str, tools: Mapping[str, type[Arguments]]) -> ToolCall:
    name, _, rest = text.strip().partition(" ")
    if name not in tools:
        raise TypedLineError(f"there is no tool {name!r}; type `help` for the tools")
    tool = tools[name]
    try:
        checked = parse_arguments(name, _arguments(rest.strip(), tool), tools)
    except ValueError as error:
        raise TypedLineError(f"{name}: {error}; it is typed as `{form(name, tool)}`") from error
    arguments = checked.model_dump(exclude_unset=True, mode="json")
    return ToolCall(name=name, arguments={key: _number(value) for key, value in arguments.items()})


def _arguments(rest: str, tool: type[Arguments]) -> dict[str, Any]:
    """What is typed after a call's name, by the fields of its tool.

    Raises:
        ValueError: a quote is not closed, or there are more words than fields.
    """
    is_named = re.compile(f"({'|'.join(tool.model_fields) or '(?!)'})=")
    arguments: dict[str, Any] = {}
    words: list[_Word] = []
    while rest:
        named = is_named.match(rest)
        word, rest = _next_word(rest[named.end() :] if named else rest)
        if named:
            is_list = tool.model_fields[named[1]].annotation == list[str]
            arguments[named[1]] = [word.value] if is_list else word.value
        else:
            words.append(word)
    free = [field for field in _positional(tool) if field not in arguments]
    while free and words:
        field, *free = free
        annotation = tool.model_fields[field].annotation
        taken = 1
        if annotation == list[str]:
            taken = max(1, len(words) - sum(tool.model_fields[later].is_required() for later in free))
        elif annotation is str and not free:
            taken = len(words)
        values, words = words[:taken], words[taken:]
        arguments[field] = [word.value for word in values] if annotation == list[str] else _text(values)
    if words:
        raise ValueError(f"too many arguments: {_text(words)}")
    return arguments


@dataclass(frozen=True)
class _Word:
    """A word, with and without its quotes, and the space after it."""

    value: str
    typed: str
    space: str


def _next_word(text: str) -> tuple[_Word, str]:
    """The first word of a text, and what follows its space. Within quotes, spaces belong to the word.

    Raises:
        ValueError: a quote that begins the word is not closed.
    """
    if text[:1] not in ('"', "'"):
        typed = value = text.split(maxsplit=1)[0] if text[:1].strip() else ""
    else:
        stream = StringIO(text)
        reader = shlex.shlex(stream, posix=True)
        reader.whitespace_split, reader.commenters = True, ""
        try:
            value = reader.get_token() or ""
        except ValueError as error:
            raise ValueError(str(error).lower()) from error
        typed = text[: stream.tell()].rstrip()
    rest = text[len(typed) :]
    return _Word(value, typed, rest[: len(rest) - len(rest.lstrip())]), rest.lstrip()


def _text(words: Sequence[_Word]) -> str:
    """Words as one text, with the spaces that were typed between them."""
    return "".join(word.value + word.space for word in words[:-1]) + words[-1].value


def _positional(tool: type[Arguments]) -> list[str]:
    """The fields that need no name: those of the paper's tools but the switches, which are true or false."""
    return [
        field
        for field, details in tool.model_fields.items()
        if details.json_schema_extra != EXTENSION and details.annotation is not bool
    ]


def _number(value: Any) -> Any:
    """A whole number as an integer, as models write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _split(line: str) -> tuple[list[str], str]:
    """The parts between semicolons, and the text after `#`; both signs are plain text inside of quotes. A quote begins
    at the beginning of a word, so that "it's" has none."""
    parts, start, quote = [], 0, ""
    index = 0
    while index < len(line):
        char = line[index]
        if char == "\\" and quote == '"':
            index += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (index == 0 or line[index - 1].isspace() or line[index - 1] in "=;"):
            quote = char
        elif char == ";":
            parts.append(line[start:index])
            start = index + 1
        elif char == "#" and (index == 0 or line[index - 1].isspace()):
            return [*parts, line[start:index]], line[index + 1 :].strip()
        index += 1
    return [*parts, line[start:]], ""
