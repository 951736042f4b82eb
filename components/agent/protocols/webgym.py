"""The memory protocol of WebGym (section 5, "Memory prompt for long-horizon tasks"; appendix C).

Context at turn t: the task, the memory that the last response wrote, the feedback of its calls, and the current
observation; nothing else of the past. Each response updates the memory, judges the progress, states an intention and
acts. Wording and section names of the prompt are not the paper's (E.1), and the tools are OpenWebRL's.
"""

from __future__ import annotations

import re

from components.agent.grammar import Parsed, format_call, parse_calls
from components.agent.protocols.base import History, Message, Protocol, TurnContext, observation_parts, page_lines
from components.agent.protocols.openwebrl import describe_tools
from components.params import AgentParams
from components.records import ToolCall, Turn

SECTIONS = ("Memory", "Progress", "Intention", "Action")
MAX_MEMORY = 4000
"""Characters; the last ones are kept."""
COMPACT = "Use the browser to do the task. Answer with Memory, Progress, Intention and Action."

FULL = """You operate a web browser to complete a task for a user. You see the page as it is now: a screenshot, its \
URL and its tabs. You do not see earlier pages or your earlier answers again: whatever you will need later must stand \
in your memory.

Answer in four sections, each beginning on a line of its own:
Memory: everything worth keeping, rewritten in full: facts found so far, with numbers and names, and what was tried.
Progress: what of the task is done and what is left.
Intention: the next step in one sentence, such as "click the search button".
Action: <tool_call>{"name": "<tool>", "arguments": {<arguments>}}</tool_call>

Coordinates run from 0 to 1000 on both axes, (0, 0) is the top left corner of the viewport. If the page did not change \
after an action, do not repeat it. When the task is complete, or cannot be completed, call `done` with the answer.

Tools:
"""

_SECTION = re.compile(rf"^[ \t]*(?:[*#]+[ \t]*)?({'|'.join(SECTIONS)})[*]*:[*]*[ \t]*", re.MULTILINE | re.IGNORECASE)


def sections(response: str) -> dict[str, str]:
    """The sections of a response by lower-case name, after its thinking if it has any. The last of a name counts."""
    text = response.rpartition("</think>")[2]
    headings = [*_SECTION.finditer(text)]
    ends = [match.start() for match in headings[1:]] + [len(text)]
    return {match[1].lower(): text[match.end() : end].strip() for match, end in zip(headings, ends, strict=False)}


def memory(turns: list[Turn]) -> str:
    """The memory section of the last parsable response."""
    for turn in reversed(turns):
        if turn.parse_error is None:
            return sections(turn.response).get("memory", "")[-MAX_MEMORY:]
    return ""


def parse(text: str) -> Parsed:
    """Parse a response. It is parsable if it has a memory, and an action with at least one call that parses."""
    parts = sections(text)
    thought = "\n".join(f"{name}: {parts[name.lower()]}" for name in SECTIONS[:3] if parts.get(name.lower()))
    missing = [name for name in ("Memory", "Action") if name.lower() not in parts]
    if missing:
        return Parsed(thought or text.strip(), [], f"no section {' and no section '.join(missing)}")
    return parse_calls(thought, parts["action"])


def write(thought: str, calls: list[ToolCall], note: str = "") -> str:
    """A teacher's response, with the note as its memory."""
    action = "\n".join(format_call(call.name, **call.arguments) for call in calls)
    return f"Memory: {note or 'empty'}\nProgress: open\nIntention: {thought}\nAction: {action}"


def context(state: TurnContext) -> list[Message]:
    """One message: the conversation does not grow."""
    lines = [f"Task: {state.task.intent}", f"Memory: {memory(state.turns) or 'empty'}"]
    if state.turns:
        lines += ["Outcome of your last calls:", *state.turns[-1].feedback]
    text = "\n".join([*lines, *page_lines(state.agent, state.current)]) + "\n"
    return [Message((text, *observation_parts(state.current)))]


def system(agent: AgentParams) -> str:
    """The system prompt of a recipe."""
    return COMPACT if agent.prompt == "compact" else FULL + describe_tools(extended=agent.prompt == "extended")


KIND = Protocol(
    name="webgym",
    system=system,
    context=context,
    parse=parse,
    write=write,
    reminder="Write Memory:, Progress:, Intention: and Action: <tool_call>{…}</tool_call>.",
    thinks=False,
    rewrites_memory=True,
    history=History(responses=False, line=0, memory=0.45),
)
