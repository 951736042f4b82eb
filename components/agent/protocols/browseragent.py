"""The text protocol of BrowserAgent (section 2.1, table 1): 12 commands on an accessibility tree, with a memory.

Context at turn t: the task, the memory (for every earlier turn its command and the conclusion it recorded), and the
current page. Earlier pages are not shown again, so that 30 steps fit any context (section 3.6, "Multi-round observation
v.s. Single-round observation"). The commands are the paper's; the wording of the prompt is not.
"""

from __future__ import annotations

import re

from components.agent.grammar import Parsed
from components.agent.protocols.base import History, Message, Protocol, TurnContext, element_call
from components.browser.keys import normalise_keys
from components.params import AgentParams
from components.records import ToolCall, Turn

SCROLL = 0.9
"""Viewports per scroll command."""
MAX_CONCLUSION = 1000
"""Characters of one conclusion or command in the memory."""
COMPACT = "Use the browser to do the task. One command per turn."
FULL = """You answer a user's question by browsing. In each turn you see the current page as an accessibility tree, in \
which elements have ids, and your memory: the commands you gave and the conclusions you recorded. Earlier pages are \
not shown again.

Answer in this form:
<think> your reasoning </think>
<conclusion> what this page tells that the question needs, or empty </conclusion>
<action> one command </action>

Commands:
click(id, content): click the element; content is its text.
hover(id, content): move the cursor over the element.
press(key_comb): press a key or a combination such as Ctrl+v.
scroll(down) or scroll(up): scroll the page.
type(id, content, press_enter_after=0): type content into the field; with 1 Enter is pressed afterwards.
new_tab: open an empty tab.
tab_focus(tab_index): switch to a tab, counted from 0.
close_tab: close the current tab.
goto(url): open an address.
go_back: the previous page.
go_forward: the next page, after go_back.
stop(answer): end with the answer, as short as possible, or N/A if there is none."""
EXTENDED = """
double_click(id): double-click the element.
modified_click(id, keys): click the element while keys such as ctrl or ctrl+shift are held.
drag(id, id): drag the first element and drop it on the second one.
press_in(id, key_comb): focus the element and press a key or a combination.
add_text(id, content): type content at the end of what the field holds."""

COMMANDS = {
    "click": 1, "hover": 1, "press": 1, "scroll": 1, "type": 2, "new_tab": 0, "tab_focus": 1, "close_tab": 0, "goto": 1,
    "go_back": 0, "go_forward": 0, "stop": 0,
}  # fmt: skip
"""The 12 commands, each with its smallest number of arguments."""
EXTENDED_COMMANDS = {"double_click": 1, "modified_click": 2, "drag": 2, "press_in": 2, "add_text": 2}
"""What Waymark adds to the paper's commands. They are always read; only the prompt `extended` describes them, and
teachers do not write them."""
_LEAST = COMMANDS | EXTENDED_COMMANDS
_BLOCK = {
    name: re.compile(rf"<{name}>(.*?)(?:</{name}>|$)", re.DOTALL | re.IGNORECASE) for name in ("conclusion", "action")
}
_COMMAND = re.compile(rf"\s*`*\s*({'|'.join(_LEAST)})\b\s*(.*)", re.DOTALL | re.IGNORECASE)
_ENTER = re.compile(
    r",\s*(?:(?:press_enter_after\s*=\s*)?(?:\[?([01])\]?|[\"']([01])[\"'])"
    r"|press_enter_after\s*=\s*[\"']?(true|false)[\"']?)\s*$",
    re.I,
)
_FENCE = re.compile(r"^```\w*[ \t]*\n")


def parse(text: str) -> Parsed:
    """Parse the one command of a response."""
    head, closed, tail = text.rpartition("</think>")
    if not closed:
        return Parsed(text.strip(), [], "no closing </think> tag")
    thought = head.replace("<think>", "", 1).strip()
    actions = _BLOCK["action"].findall(tail)
    if not actions:
        return Parsed(thought, [], "no <action> after the reasoning")
    match = _COMMAND.fullmatch(_FENCE.sub("", actions[-1].strip()).strip("`").strip())
    if match is None:
        return Parsed(thought, [], f"unknown command; commands are {', '.join(COMMANDS)}")
    call = _translate(match[1].lower(), match[2].strip())
    return Parsed(thought, [call], f"no call could be parsed: {call.error}" if call.error else None)


def write(thought: str, calls: list[ToolCall], note: str = "") -> str:
    """A teacher's response: one command, with the note as its conclusion. A value is quoted if `parse` would read it
    otherwise without quotes, such as one that has quotes itself.

    Raises:
        ValueError: there is not one call, no command for it, or a value that no command can hold.
    """
    if len(calls) != 1:
        raise ValueError(f"browseragent gives one command per turn, not {len(calls)}")
    plain = _command(calls[0])
    for text in (plain, _command(_quoted(calls[0]))):
        response = f"<think>{thought}</think>\n<conclusion>{note}</conclusion>\n<action>{text}</action>"
        parsed = parse(response)
        if parsed.error is None and _command(parsed.calls[0]) == plain:
            return response
    raise ValueError(f"browseragent cannot write this so that it is read as it is: {plain}")


def conclusion(response: str) -> str:
    """The conclusion that a response recorded; empty if there is none."""
    blocks = _BLOCK["conclusion"].findall(response.rpartition("</think>")[2])
    return " ".join(blocks[-1].split())[:MAX_CONCLUSION] if blocks else ""


def command(response: str) -> str:
    """The command of a response, on one line; empty if there is none."""
    blocks = _BLOCK["action"].findall(response.rpartition("</think>")[2])
    return " ".join(blocks[-1].split())[:MAX_CONCLUSION] if blocks else ""


def context(state: TurnContext) -> list[Message]:
    """One message: task, memory, current page."""
    lines = [
        f"Objective: {state.task.intent}",
        "<memory>",
        *(_memory_line(turn) for turn in state.turns),
        "</memory>",
    ]
    tabs = [f"{'*' if tab.active else ' '}[{tab.index}] {tab.title}" for tab in state.current.tabs]
    lines += [f"URL: {state.current.url}", "Tabs:", *tabs, "Observation:", state.current.text or ""]
    return [Message(("\n".join(lines),))]


def system(agent: AgentParams) -> str:
    """The system prompt of a recipe."""
    if agent.prompt == "compact":
        return COMPACT
    return FULL + EXTENDED if agent.prompt == "extended" else FULL


def _memory_line(turn: Turn) -> str:
    """One turn's line of the memory. It shows failures, because the agent would repeat the command otherwise."""
    failed = [line for line in turn.feedback if line.startswith("Failed:")]
    parts = [f"{turn.index + 1}. {command(turn.response) or 'no command'}"]
    parts += [f"conclusion: {text}"] if (text := conclusion(turn.response)) else []
    return "; ".join([*parts, *failed])


def _command(call: ToolCall) -> str:
    """The command of a call, as `_translate` reads it."""
    arguments = call.arguments
    match call.name:
        case "click_element" if {*arguments} <= {"element"}:
            return f"click({arguments['element']})"
        case "hover_element":
            return f"hover({arguments['element']})"
        case "write_element" if arguments.get("clear", True):
            return f"type({arguments['element']}, {arguments['text']}, {int(bool(arguments.get('submit')))})"
        case "press_keys" if len(normalise_keys(arguments["keys"])) == 1:
            return f"press({'+'.join(arguments['keys'])})"
        case "scroll" if arguments["direction"] in ("up", "down"):
            return f"scroll({arguments['direction']})"
        case "switch_tab":
            return f"tab_focus({arguments['index']})"
        case "goto_url":
            return f"goto({arguments['url']})"
        case "done":
            return f"stop({arguments.get('answer', '')})"
        case "new_tab" | "close_tab" | "go_back" | "go_forward":
            return call.name
    raise ValueError(f"browseragent has no command for {call.name} with {', '.join(arguments) or 'no arguments'}")


def _quoted(call: ToolCall) -> ToolCall:
    """The call with its free text in quotes."""
    free = {name: f'"{call.arguments[name]}"' for name in ("text", "url", "answer") if name in call.arguments}
    return call.model_copy(update={"arguments": {**call.arguments, **free}})


def _translate(name: str, rest: str) -> ToolCall:
    arguments = _arguments(name, rest)
    if len(arguments) < _LEAST[name]:
        return ToolCall(name=name, error=f"{name} needs {_LEAST[name]} argument{'s' * (_LEAST[name] > 1)}")
    first = arguments[0] if arguments else ""
    match name:
        case "click":
            return element_call("click_element", element=first)
        case "double_click":
            return element_call("click_element", element=first, click_type="double")
        case "modified_click":
            return element_call("click_element", element=first, modifiers=arguments[1])
        case "drag":
            return element_call("drag_element", element=first, to=arguments[1])
        case "press_in":
            return element_call("press_element", element=first, keys=[arguments[1]])
        case "add_text":
            return element_call("write_element", element=first, text=arguments[1], clear=False)
        case "hover":
            return element_call("hover_element", element=first)
        case "press":
            return element_call("press_keys", keys=[first])
        case "scroll":
            return element_call(
                "scroll", direction=first.lower().removeprefix("direction=").strip("\"'"), amount=SCROLL
            )
        case "type":
            return element_call(
                "write_element", element=first, text=arguments[1], submit=arguments[2:] in (["1"], ["true"])
            )
        case "tab_focus":
            return element_call("switch_tab", index=first)
        case "goto":
            return element_call("goto_url", url=first)
        case "stop":
            return element_call("done", answer=first)
    return element_call(name)  # new_tab, close_tab, go_back, go_forward


def _arguments(name: str, rest: str) -> list[str]:
    """The arguments of a command: in parentheses as in the paper, or in brackets as in WebArena, whose `type` presses
    Enter unless it says 0. The content of `type` may hold commas. Text after the command is ignored."""
    enter = []
    if rest.startswith("["):
        parts = re.findall(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", rest)
        if name == "type" and len(parts) > 2:
            return [_bare(parts[0]), _bare(parts[1]), _bare(parts[2].rpartition("=")[2]).lower()]
        if name == "type" and len(parts) == 2:
            return [*map(_bare, parts), "1"]
        return [_bare(part) for part in parts]
    inner = _in_parentheses(rest) if rest.startswith("(") else rest
    if name == "type" and (match := _ENTER.search(inner)) and inner.count(",") > 1:
        enter, inner = [(match[1] or match[2] or match[3]).lower()], inner[: match.start()]
    if name in ("click", "hover", "type", *EXTENDED_COMMANDS) and "," in inner:
        element, _, content = inner.partition(",")
        return [_bare(element), _bare(content), *enter]
    return [_bare(inner)] if inner.strip() else []


def _in_parentheses(rest: str) -> str:
    """What stands between the first parenthesis and the one that closes it. Where not all are paired, the last one
    does; without any, all that follows belongs to it."""
    if rest.count("(") == rest.count(")"):
        depth = 0
        for place, char in enumerate(rest):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return rest[1:place]
    inner, closed, after = rest[1:].rpartition(")")
    is_whole = closed and (not after.strip() or inner.count("(") == inner.count(")"))
    return inner if is_whole else rest[1:]


def _bare(value: str) -> str:
    value = value.strip()
    value = re.sub(r"^(id|content|url|answer|key_comb|tab_index)\s*=\s*", "", value)
    quote, inner = value[:1], value[1:-1]
    if len(value) < 2 or quote not in ("'", '"') or value[-1] != quote:
        return value
    is_whole = quote not in inner.replace(f"\\{quote}", "") or (inner[0], inner[-1]) == (quote, quote)
    return inner if is_whole else value  # `"A" and "B"` is no quoted text


KIND = Protocol(
    name="browseragent",
    system=system,
    context=context,
    parse=parse,
    write=write,
    reminder="Write <think>…</think>, <conclusion>…</conclusion> and <action>one command</action>.",
    element_ids=True,
    history=History(responses=False, line=12),  # its number, its command and a short conclusion
)
