"""Only the current page and the last feedback: a baseline without history."""

from __future__ import annotations

from components.agent.grammar import format_call, format_response, parse_response
from components.agent.protocols.base import History, Message, Protocol, TurnContext, observation_parts, page_lines
from components.agent.protocols.openwebrl import describe_tools
from components.params import AgentParams
from components.records import ToolCall

COMPACT = "Use the browser to do the task."


def system(agent: AgentParams) -> str:
    return COMPACT if agent.prompt == "compact" else f"{COMPACT}\n\nTools:\n{describe_tools()}"


def context(turn: TurnContext) -> list[Message]:
    lines = [f"Task: {turn.task.intent}"]
    if turn.turns:
        lines += turn.turns[-1].feedback
    text = "\n".join([*lines, *page_lines(turn.agent, turn.current)]) + "\n"
    return [Message((text, *observation_parts(turn.current)))]


def write(thought: str, calls: list[ToolCall], note: str = "") -> str:
    return format_response(thought, [format_call(call.name, **call.arguments) for call in calls])


KIND = Protocol(
    name="current_page",
    system=system,
    context=context,
    parse=parse_response,
    write=write,
    history=History(responses=False, line=0),
    reminder="Write <think>…</think>, then <tool_call>{…}</tool_call>.",
)
