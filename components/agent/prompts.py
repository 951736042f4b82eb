"""What the policy is told. `full` describes the 13 tools, `compact` is one sentence for models that know them.

The text is our own; the tools and the response format are those of OpenWebRL (section 4.1, table 6).
"""

from __future__ import annotations

from typing import Any

from components.browser.tools import TOOLS, Arguments

COMPACT = "Use the browser to do the task."

FULL = """You operate a web browser to complete a task for a user. At each turn you see the page as a screenshot, with \
its URL, its tabs and the outcome of your last calls.

Answer with your reasoning inside <think></think>, then one or more tool calls, each on its own:
<tool_call>{"name": "<tool>", "arguments": {<arguments>}}</tool_call>
Calls run in order; you see the page again after the last one. Coordinates run from 0 to 1000 on both axes, (0, 0) is \
the top left corner of the viewport. Older screenshots are not shown again, so note in your reasoning what you will \
need later. When the task is complete, or cannot be completed, call `done` with the answer for the user; nothing else \
ends the episode.

Tools:
"""


def system_prompt(kind: str) -> str:
    """The system prompt of a recipe: `full` or `compact`."""
    if kind == "compact":
        return COMPACT
    return FULL + "\n".join(_describe(name, tool) for name, tool in TOOLS.items())


def _describe(name: str, tool: type[Arguments]) -> str:
    schema = tool.model_json_schema()
    required = schema.get("required", [])
    arguments = [_argument(key, value, key in required) for key, value in schema.get("properties", {}).items()]
    return f"- {name}({', '.join(arguments)}): {schema['description']}"


def _argument(key: str, schema: dict[str, Any], required: bool) -> str:
    kind = " | ".join(map(repr, schema["enum"])) if "enum" in schema else schema.get("type", "number")
    return f"{key}: {kind}" if required else f"{key}: {kind} = {schema.get('default')!r}"
