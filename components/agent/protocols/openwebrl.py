"""The visual protocol of OpenWebRL (section 4.1, table 6): 13 tools on points of the screenshot.

Context at turn t: the task, every earlier response as it was sampled, every earlier feedback and page line, and the
last K observations in full, before each of them the task again if the recipe says so (`agent.repeat_task`). An
observation's task, image and element list stand at the end of their message, so that the text before them is the same
whether they are shown or dropped. The prompt's wording is not the paper's (F.1): `full` describes the tools, and
`compact` is one sentence for models that know them from training.

For the ablations of table 4, a recipe leaves out all feedback (`agent.feedback`), or the reasoning of earlier responses
(`agent.reasoning_history`).
"""

from __future__ import annotations

from typing import Any

from components.agent.grammar import format_call, format_response, parse_response, without_reasoning
from components.agent.protocols.base import History, Message, Protocol, TurnContext, observation_parts, page_lines
from components.browser.tools import EXTENSION, TOOLS, Arguments
from components.params import AgentParams
from components.records import ToolCall

COMPACT = "Use the browser to do the task."

FULL = """You operate a web browser to complete a task for a user. At each turn you see the page as a screenshot, with \
OUTCOME.

Answer with your reasoning inside <think></think>, then one or more tool calls, each on its own:
<tool_call>{"name": "<tool>", "arguments": {<arguments>}}</tool_call>
Calls run in order; you see the page again after the last one. Coordinates run from 0 to 1000 on both axes, (0, 0) is \
the top left corner of the viewport. HISTORY When the task is complete, or cannot be completed, call `done` with the \
answer for the user; nothing else ends the episode.

Tools:
"""
OUTCOME = {True: "its URL, its tabs and the outcome of your last calls", False: "its URL and its tabs"}
HISTORY = {
    True: "Older screenshots are not shown again, so note in your reasoning what you will need later.",
    False: "Older screenshots and your earlier reasoning are not shown again.",
}


def system(agent: AgentParams) -> str:
    """The system prompt of a recipe."""
    if agent.prompt == "compact":
        return COMPACT
    full = FULL.replace("OUTCOME", OUTCOME[agent.feedback]).replace("HISTORY", HISTORY[agent.reasoning_history])
    return full + describe_tools(extended=agent.prompt == "extended")


def describe_tools(extended: bool = False) -> str:
    """The 13 tools, one line each.

    Args:
        extended: also what the paper's tools do not have: arguments and remarks.
    """
    return "\n".join(_describe(name, tool, extended) for name, tool in TOOLS.items())


def context(state: TurnContext) -> list[Message]:
    """All turns, with the last K observations in full."""
    messages = []
    task = f"Task: {state.task.intent}"
    first_shown = len(state.turns) + 1 - state.observation.screenshots
    for index, turn in enumerate([*state.turns, None]):
        observation = state.current if turn is None else turn.observation
        feedback = state.turns[index - 1].feedback if index > 0 and state.agent.feedback else []
        lines = [task] if index == 0 else feedback
        text = "\n".join([*lines, *page_lines(state.agent, observation)]) + "\n"
        shown = observation_parts(observation) if index >= first_shown else []
        repeated = [f"{task}\n"] if shown and index > 0 and state.agent.repeat_task else []
        messages.append(Message((text, *repeated, *shown)))
        if turn is not None and state.agent.reasoning_history:
            messages.append(Message((turn,)))
        elif turn is not None:
            messages.append(Message((without_reasoning(turn.response),), is_excerpt=True))
    return messages


def write(thought: str, calls: list[ToolCall], note: str = "") -> str:
    """A teacher's response. The note is dropped, because earlier thoughts stay in the context."""
    return format_response(thought, [format_call(call.name, **call.arguments) for call in calls])


def _describe(name: str, tool: type[Arguments], extended: bool) -> str:
    schema = tool.model_json_schema()
    required = schema.get("required", [])
    arguments = [
        _argument(key, value, key in required)
        for key, value in schema.get("properties", {}).items()
        if extended or EXTENSION.items().isdisjoint(value.items())
    ]
    remark = f" {tool.remark}" if extended and tool.remark else ""
    return f"- {name}({', '.join(arguments)}): {schema['description']}{remark}"


def _argument(key: str, schema: dict[str, Any], required: bool) -> str:
    kind = " | ".join(map(repr, schema["enum"])) if "enum" in schema else schema.get("type", "number")
    return f"{key}: {kind}" if required else f"{key}: {kind} = {schema.get('default')!r}"


KIND = Protocol(
    name="openwebrl",
    system=system,
    context=context,
    parse=parse_response,
    write=write,
    reminder="Close </think>, then write <tool_call>{…}</tool_call>.",
    history=History(observations=True),
)
