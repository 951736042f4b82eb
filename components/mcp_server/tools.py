"""The recipe's tools as an MCP client sees them: schemas, descriptions and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent, Tool, ToolAnnotations

from components.browser.tools import EXTENSION, PASSIVE, Arguments
from components.openenv import WebObservation
from components.records import Termination

HINTS = {"write": "Click the field first, to give it the focus."}
KEYS = {
    "press_keys": 'Names of keys are "Enter", "Tab", "Escape", "Backspace", "ArrowDown", "PageDown" and so on.',
    "click": "Modifiers are alt, ctrl, meta and shift.",
}
OBSERVE = "observe"
"""The tool that shows the task and the page and does nothing else. It is not one of the recipe's."""
THOUGHT = "thought"
"""An argument of all other tools: why the agent calls it, for the record."""
MAX_THOUGHT = 2000
"""Characters of a thought."""
POINTS = " Coordinates are 0 to 1000 on both axes, (0, 0) is the upper left corner, whatever the screenshot's size is."
IDS = " `element` is an id in the text of the page."


def tool_list(tools: Mapping[str, type[Arguments]], element_ids: bool) -> list[Tool]:
    """`observe` and the recipe's tools.

    Args:
        tools: as `components.browser.tools.named_tools` returns them.
        element_ids: whether calls name elements by id, or points.
    """
    observe = Tool(
        name=OBSERVE,
        description="Show the task and the page as it was after the last call. Begins the task if it has not begun.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        annotations=ToolAnnotations(read_only_hint=True),
    )
    return [observe, *(_described(name, tool, element_ids) for name, tool in tools.items())]


def _described(name: str, tool: type[Arguments], element_ids: bool) -> Tool:
    schema = tool.model_json_schema()
    hint = "" if element_ids else HINTS.get(name, "")
    description = " ".join(filter(None, (schema.pop("description"), hint, KEYS.get(name, ""), tool.remark)))
    fields: dict[str, Any] = {
        key: {name: item for name, item in value.items() if name not in {*EXTENSION, "title"}}
        for key, value in schema.get("properties", {}).items()
    }
    if not {"x", "x1"}.isdisjoint(fields):
        description += POINTS
    if element_ids and "element" in fields:
        description += IDS
    if element_ids and name == "scroll":  # a point means nothing to an agent that sees no coordinates
        fields = {key: value for key, value in fields.items() if key not in {"x", "y"}}
    reason = "Why you make this call, in a sentence; for the record."
    fields[THOUGHT] = {"type": "string", "maxLength": MAX_THOUGHT, "description": reason}
    return Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": fields,
            "required": schema.get("required", []),
            "additionalProperties": False,
        },
        annotations=ToolAnnotations(read_only_hint=name in PASSIVE - {"done"}),
    )


def page_result(observation: WebObservation, with_task: bool) -> CallToolResult:
    """A page: the feedback of the last calls, address, tabs and text, then the screenshot. It is an error if the
    environment ended the task.

    Args:
        with_task: whether the task is repeated.
    """
    lines = [f"Task: {observation.instruction}"] if with_task else []
    lines += observation.feedback
    was_ended = False
    if observation.done:
        termination = Termination(observation.metadata["termination"])
        was_ended = not termination.is_agents_doing
        reason = f" ({observation.metadata['rationale']})" if was_ended else ""
        lines.append(f"The task has ended: {termination}{reason}. No further call is possible.")
    lines.append(f"URL: {observation.url}")
    if len(observation.tabs) > 1:
        lines.append("Tabs:")
        lines += [f"{'*' if tab.active else ' '}[{tab.index}] {tab.title} ({tab.url})" for tab in observation.tabs]
    if observation.text is not None:
        lines.append(observation.text)
    content: list[ContentBlock] = [TextContent(text="\n".join(lines))]
    if observation.screenshot is not None:
        content.append(ImageContent(data=observation.screenshot, mime_type="image/png"))
    return CallToolResult(content=content, is_error=was_ended)


def refusal(message: str) -> CallToolResult:
    """A call that was not made, and why."""
    return CallToolResult(content=[TextContent(text=message)], is_error=True)
