"""The response format: one `<think>…</think>` block, then one or more `<tool_call>{json}</tool_call>` (OpenWebRL, A.4).

A turn is parsable if the thinking is closed and at least one call parses. A call that does not parse is reported in the
feedback, and the turn's other calls still run.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from components.browser.tools import check_call
from components.records import ToolCall

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|$)", re.DOTALL)
_TAG = re.compile(r"</?(?:think|tool_call)>")
MAX_CALLS = 32
"""Calls in one turn. Further calls do not run and are reported in the feedback."""


class Parsed(NamedTuple):
    """A parsed response. `error` is set if the turn is unparsable; the calls then hold the errors of each."""

    thought: str
    calls: list[ToolCall]
    error: str | None


def parse_response(text: str) -> Parsed:
    """Parse a response. Never raises: an unparsable response gives a `Parsed` with an error."""
    head, closed, tail = text.rpartition("</think>")
    if not closed:
        return Parsed(thought=text.strip(), calls=[], error="no closing </think> tag")
    thought = head.replace("<think>", "", 1).strip()
    return parse_calls(thought, tail)


def without_reasoning(text: str) -> str:
    """The calls of a response that are JSON, and nothing else, wherever it has written its reasoning. Where there is
    none, it is `(no call)`, because some servers refuse an empty message."""
    _, closed, tail = text.rpartition("</think>")
    bodies = [body for body in _CALL.findall(tail) if _parse_call(body).name] if closed else []
    return "\n".join(f"<tool_call>{body}</tool_call>" for body in bodies) or "(no call)"


def parse_calls(thought: str, text: str) -> Parsed:
    """The `<tool_call>` blocks of a text."""
    bodies = _CALL.findall(text)
    if not bodies:
        return Parsed(thought, [], "no <tool_call> after the reasoning")
    calls = [_parse_call(body) for body in bodies[:MAX_CALLS]]
    if len(bodies) > MAX_CALLS:
        calls.append(
            ToolCall(name="", error=f"{len(bodies) - MAX_CALLS} calls over the limit of {MAX_CALLS} were not run")
        )
    if all(call.error for call in calls):
        return Parsed(thought, calls, f"no call could be parsed: {calls[0].error}")
    return Parsed(thought, calls, None)


def format_call(name: str, /, **arguments: object) -> str:
    """The text of one call, in the format that `parse_response` reads; its tags are escaped in arguments."""
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{_TAG.sub(_escaped, call)}</tool_call>"


def format_response(thought: str, calls: list[str]) -> str:
    """The text of a whole response; `calls` come from `format_call`."""
    return f"<think>{thought}</think>\n" + "\n".join(calls)


def _escaped(tag: re.Match[str]) -> str:
    return tag[0].replace("<", "\\u003c")


def _parse_call(body: str) -> ToolCall:
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        return ToolCall(name="", error=f"not JSON: {error}")
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return ToolCall(name="", error='a call is {"name": …, "arguments": {…}}')
    if "arguments" not in raw and raw.keys() - {"name", "id", "type", "index"}:  # they stand under another name
        return ToolCall(name=raw["name"], error='a call is {"name": …, "arguments": {…}}')
    name, arguments = raw["name"], raw.get("arguments", {})
    if not isinstance(arguments, dict):
        return ToolCall(name=name, error="arguments must be an object")
    try:
        return check_call(name, arguments)
    except RecursionError:
        return ToolCall(name=name, error="arguments are nested too deeply")
