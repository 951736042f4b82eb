"""The text protocol of WebAgent-R1 (sections 2.1 and 2.3, table 6): one `do`, `exit`, `go_backward` or `go_forward`.

Context at turn t: the task, every earlier response as it was sampled, the current page as simplified HTML with element
ids, and in place of every earlier page the words `** Simplified html **`. Two variants: with the thinking format
(`<think>…</think><answer>…</answer>`) and without (the bare call; section 3.5). One deviation: failures are reported
before the page, because otherwise the agent repeats calls on elements that do not exist. Functions and arguments are
the paper's; the wording of the prompt is not.
"""

from __future__ import annotations

import ast
import json
import re
from functools import partial

from components.agent.grammar import Parsed
from components.agent.protocols.base import History, Message, Protocol, TurnContext, element_call
from components.params import AgentParams
from components.records import ToolCall

PLACEHOLDER = "** Simplified html **"
SCROLL = 0.5
"""Viewports per scroll."""
COMPACT = "Use the browser to do the task. One function call per round."

_THINKING = """Reason first, then act, in this form:
<think> your reasoning </think>
<answer> one function call </answer>
"""
_BARE = "Answer with one function call and nothing else, after an optional comment line that begins with #.\n"
FULL = """You are a web browsing agent that carries out a user's instruction. In each round you see the simplified \
HTML of the current page, in which elements have ids, and you call exactly one function.
{form}
do(action, argument, element): one operation on the page.
  action: "Click", "Right Click", "Type", "Search", "Hover", "Scroll Up", "Scroll Down", "Press Enter", "Switch Tab", \
"Select Dropdown Option" or "Wait".
  argument: the text for "Type" and "Search" ("Search" types and presses Enter), the tab's number from 0 for "Switch \
Tab", the option for "Select Dropdown Option".
  element: the id of the element, for "Click", "Right Click", "Type", "Search", "Select Dropdown Option" and "Hover".
exit(message): ends the task; message is the answer if the instruction is a question.
go_backward(), go_forward(): the previous and the next page of the history.

Use only ids that stand in the HTML. Name the element in a comment such as `# Element: the "Period" dropdown`, and \
keep what you will need later in a comment such as `# Note: …`: earlier pages are not shown again. If an action has \
no effect, try another way.
Example: do(action="Type", argument="01/01/2023", element="22")"""
EXTENDED = """

Further actions of do, each on an element: "Double Click"; "Modified Click", which holds the keys of the argument, \
such as "ctrl" or "ctrl+shift", during the click; "Drag", which drops the element on the one whose id is the \
argument; "Press Keys", which presses the argument, such as "Enter" or "ctrl+a", in the element; "Add Text", which \
types the argument at the end of what the field holds."""
"""What Waymark adds to the paper's actions. It is always read; teachers do not write it, because `full` does not
describe it."""

MAX_CODE, MAX_ENDS = 20_000, 200
"""Characters of a call, and its closing parentheses that are tried as its end, beside the last one. Each try takes time
in proportion to the text before it, in which no other episode goes on."""
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL | re.IGNORECASE)
_CALL = re.compile(r"\b(do|exit|go_backward|go_forward)\s*\(")
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
_PARAMETERS = {"do": ("action", "argument", "element"), "exit": ("message",), "go_backward": (), "go_forward": ()}
_WITH_ARGUMENT = {
    "type",
    "search",
    "select dropdown option",
    "switch tab",
    "modified click",
    "drag",
    "press keys",
    "add text",
}
_ON_ELEMENT = _WITH_ARGUMENT - {"switch tab"} | {"click", "right click", "double click", "hover"}


class BadCallError(ValueError):
    """The call is not one of the protocol; the message is the reason."""


def parse(text: str, thinking: bool) -> Parsed:
    """Parse the one call of a response. Of several calls, the first runs and the others are reported.

    Without the thinking format, a response may begin with reasoning, too: the endpoint returned it separately, or the
    model is a Thinking one. This is the thought, and calls in it do not count.
    """
    head, closed, body = text.rpartition("</think>")
    if not closed and (thinking or text.lstrip().startswith("<think>")):
        return Parsed(text.strip(), [], "no closing </think> tag")
    thought = head.replace("<think>", "", 1).strip()
    if thinking:
        answers = _ANSWER.findall(body)
        if not answers:
            return Parsed(thought, [], "no <answer> after the reasoning")
        body = answers[-1]
    lines = re.split(r"\r\n|\r|\n", body.strip().strip("`"))  # strings may hold the other characters that end lines
    places = (place for place, line in enumerate(lines) if _CALL.search(line) and not _is_comment(line))
    first = next(places, len(lines))
    before, code = lines[:first], "\n".join(lines[first:])
    start = _CALL.search(code)
    if start is None:
        return Parsed(_with_comments(thought, before), [], "no call of do, exit, go_backward or go_forward")
    try:
        call, source = _read(code[start.start() :])
        calls = [_translate(call, source)]
    except BadCallError as error:
        thought = _with_comments(thought, lines)
        return Parsed(thought, [ToolCall(name="", error=str(error))], f"no call could be parsed: {error}")
    rest, *after = code[start.start() + len(source) :].split("\n")  # lines within the call are its own, also with a #
    thought = _with_comments(thought, [*before, *after])
    if calls[0].error:
        return Parsed(thought, calls, f"no call could be parsed: {calls[0].error}")
    more = [match for line in [rest, *after] if not _is_comment(line) for match in _CALL.finditer(line)]
    if more:
        calls.append(ToolCall(name="", error=f"only one action per round: {len(more)} more were not run"))
    return Parsed(thought, calls, None)


def _is_comment(line: str) -> bool:
    return line.strip().startswith("#")


def _with_comments(thought: str, lines: list[str]) -> str:
    return "\n".join([*([thought] if thought else []), *(line.strip() for line in lines if _is_comment(line))])


def write(thought: str, calls: list[ToolCall], note: str = "", thinking: bool = True) -> str:
    """A teacher's response: one call. The note is a comment, which stays in the context, as the prompt asks."""
    if len(calls) != 1:
        raise ValueError(f"webagent_r1 makes one call per round, not {len(calls)}")
    call = "\n".join([*([f"# Note: {note}"] if note else []), _code(calls[0])])
    return f"<think>{thought}</think>\n<answer>{call}</answer>" if thinking else f"# {thought}\n{call}"


def _code(call: ToolCall) -> str:
    """The source code of a call, as `_translate` reads it."""
    arguments = {key: json.dumps(str(value), ensure_ascii=False) for key, value in call.arguments.items()}
    match call.name:
        case "click_element" if {*arguments} <= {"element", "button"} and call.arguments.get("button") != "middle":
            action = "Right Click" if call.arguments.get("button") == "right" else "Click"
            return f'do(action="{action}", element={arguments["element"]})'
        case "write_element" if call.arguments.get("clear", True):
            action = "Search" if call.arguments.get("submit") else "Type"
            return f'do(action="{action}", argument={arguments["text"]}, element={arguments["element"]})'
        case "select_option":
            return (
                f'do(action="Select Dropdown Option", argument={arguments["option"]}, element={arguments["element"]})'
            )
        case "hover_element":
            return f'do(action="Hover", element={arguments["element"]})'
        case "scroll" if call.arguments["direction"] in ("up", "down"):
            return f'do(action="Scroll {str(call.arguments["direction"]).title()}")'
        case "press_keys" if call.arguments["keys"] == ["Enter"]:
            return 'do(action="Press Enter")'
        case "switch_tab":
            return f'do(action="Switch Tab", argument={arguments["index"]})'
        case "wait":
            return 'do(action="Wait")'
        case "done":
            return f"exit(message={arguments.get('answer', json.dumps(''))})"
        case "go_back":
            return "go_backward()"
        case "go_forward":
            return "go_forward()"
    raise ValueError(f"webagent_r1 has no function for {call.name} with {', '.join(arguments) or 'no arguments'}")


def _read(code: str) -> tuple[ast.Call, str]:
    """The call at the start of the code and its text: the shortest prefix that Python parses as an expression. Curly
    quotes are read as straight ones only if there is no such prefix, because a string may hold them."""
    ends = [match.end() for match in re.finditer(r"\)", code[:MAX_CODE])]
    for source in (code, code.translate(_QUOTES)):
        for end in [*ends[:MAX_ENDS], *ends[MAX_ENDS:][-1:]]:
            try:
                node = ast.parse(source[:end], mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            if isinstance(node, ast.Call):
                return node, source[:end]
    raise BadCallError("the call is not closed, or its strings are not quoted")


def _translate(call: ast.Call, source: str) -> ToolCall:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    allowed = _PARAMETERS.get(name)
    if allowed is None:
        raise BadCallError("no such function")
    if len(call.args) > len(allowed):
        raise BadCallError(f"{name} takes at most {len(allowed)} arguments")
    arguments = {key: _constant(node, source) for key, node in zip(allowed, call.args, strict=False)}
    for keyword in call.keywords:
        if keyword.arg not in allowed:
            raise BadCallError(f"{name} has no argument {keyword.arg}")
        arguments[keyword.arg] = _constant(keyword.value, source)
    match name:
        case "exit":
            return element_call("done", answer=arguments.get("message") or "")
        case "go_backward":
            return element_call("go_back")
        case "go_forward":
            return element_call("go_forward")
    return _do(arguments.get("action") or "", arguments.get("argument"), arguments.get("element"))


def _do(action: str, argument: str | None, element: str | None) -> ToolCall:
    kind = " ".join(action.lower().split())
    if kind in _ON_ELEMENT and not element:
        raise BadCallError(f'"{action}" needs an element')
    if kind in _WITH_ARGUMENT and argument is None:
        raise BadCallError(f'"{action}" needs an argument')
    match kind:
        case "click":
            return element_call("click_element", element=element)
        case "double click":
            return element_call("click_element", element=element, click_type="double")
        case "modified click":
            return element_call("click_element", element=element, modifiers=argument)
        case "drag":
            return element_call("drag_element", element=element, to=argument)
        case "press keys":
            return element_call("press_element", element=element, keys=[argument])
        case "add text":
            return element_call("write_element", element=element, text=argument, clear=False)
        case "right click":
            return element_call("click_element", element=element, button="right")
        case "type":
            return element_call("write_element", element=element, text=argument)
        case "search":
            return element_call("write_element", element=element, text=argument, submit=True)
        case "hover":
            return element_call("hover_element", element=element)
        case "select dropdown option":
            return element_call("select_option", element=element, option=argument)
        case "scroll up" | "scroll down":
            return element_call("scroll", direction=kind.split()[1], amount=SCROLL)
        case "press enter":
            return element_call("press_keys", keys=["Enter"])
        case "switch tab":
            return element_call("switch_tab", index=argument)
        case "wait":
            return element_call("wait")
    raise BadCallError(f'unknown action "{action[:60]}"')


def _constant(node: ast.expr, source: str) -> str | None:
    """The text of an argument. A number is as it was written, such as 12.50 or -5."""
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    if isinstance(number, ast.Constant) and type(number.value) in (int, float):
        return ast.get_source_segment(source, node)
    if not isinstance(node, ast.Constant) or isinstance(node.value, bytes | complex) or node.value is Ellipsis:
        raise BadCallError("arguments are strings or numbers")
    return None if node.value is None else str(node.value)


def context(state: TurnContext) -> list[Message]:
    """All earlier responses, and only the current page."""
    messages = []
    for index, turn in enumerate([*state.turns, None]):
        lines = [f"Task: {state.task.intent}", ""] if index == 0 else []
        failures = [line for line in state.turns[index - 1].feedback if line.startswith("Failed:")] if index else []
        page = PLACEHOLDER if turn is not None else (state.current.text or "")
        messages.append(Message(("\n".join([*lines, f"Round {index}", *failures, "", page]),)))
        if turn is not None:
            messages.append(Message((turn,)))
    return messages


def system(agent: AgentParams, thinking: bool) -> str:
    """The system prompt of a recipe."""
    if agent.prompt == "compact":
        return COMPACT
    return FULL.format(form=_THINKING if thinking else _BARE) + (EXTENDED if agent.prompt == "extended" else "")


def variant(name: str, thinking: bool) -> Protocol:
    """The protocol with or without thinking."""
    return Protocol(
        name=name,
        system=partial(system, thinking=thinking),
        context=context,
        parse=partial(parse, thinking=thinking),
        write=partial(write, thinking=thinking),
        reminder="Write <think>…</think><answer>one function call</answer>."
        if thinking
        else "Write one function call.",
        thinks=thinking,
        element_ids=True,
        history=History(line=20),  # the round, the placeholder and the tokens of two messages
    )


KIND = variant("webagent_r1", thinking=True)
