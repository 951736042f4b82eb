"""Reads a line that a person typed as tool calls: `click 512 86; write "red tent"  # search for the tent`.

Arguments come in the order of the tool's table, or as `name=value`, as those must that the paper's tools do not have.
Semicolons separate calls of one turn, and the text
after `#` is the thought. The rest of a line is one argument for `write`, `done` and `goto_url`, with or without quotes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    try:
        values = [rest.strip()] if _is_plain_text(rest, tools.get(name)) else shlex.split(rest)
    except ValueError as error:
        raise TypedLineError(f"{text.strip()}: {str(error).lower()}") from error
    if name not in tools:
        raise TypedLineError(f"there is no tool {name!r}; type `help` for the tools")
    tool = tools[name]
    try:
        checked = parse_arguments(name, _arguments(tool, values), tools)
    except ValueError as error:
        raise TypedLineError(f"{name}: {error}; it is typed as `{form(name, tool)}`") from error
    arguments = checked.model_dump(exclude_unset=True, mode="json")
    return ToolCall(name=name, arguments={key: _number(value) for key, value in arguments.items()})


def _is_plain_text(rest: str, tool: type[Arguments] | None) -> bool:
    """Whether the rest of a call is one text as it stands: the tool takes a text alone, and it is not in quotes."""
    if tool is None or not rest.strip() or rest.strip()[0] in "\"'":
        return False
    needed = _positional(tool)
    is_named = any(word.partition("=")[0] in tool.model_fields for word in rest.split() if "=" in word)
    return len(needed) == 1 and tool.model_fields[needed[0]].annotation is str and not is_named


def _arguments(tool: type[Arguments], values: Sequence[str]) -> dict[str, Any]:
    """The words of a call by the fields of its tool."""
    fields = list(tool.model_fields)
    arguments: dict[str, Any] = {}
    positional = []
    for value in values:
        field, equals, rest = value.partition("=")
        if equals and field in fields:
            arguments[field] = [rest] if tool.model_fields[field].annotation == list[str] else rest
        else:
            positional.append(value)
    free = [field for field in _positional(tool) if field not in arguments]
    for index, field in enumerate(free):
        if not positional:
            break
        annotation, is_last_text = tool.model_fields[field].annotation, len(free) == 1 or index + 1 == len(free)
        if annotation == list[str]:
            arguments[field], positional = positional, []
        elif annotation is str and is_last_text:
            arguments[field], positional = " ".join(positional), []
        else:
            arguments[field] = positional.pop(0)
    if positional:
        raise ValueError(f"too many arguments: {' '.join(positional)}")
    return arguments


def _positional(tool: type[Arguments]) -> list[str]:
    """The fields that need no name: those of the paper's tools."""
    return [field for field, details in tool.model_fields.items() if details.json_schema_extra != EXTENSION]


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
