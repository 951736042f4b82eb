"""The scripted teachers as a policy: their decisions come from an oracle that looks at the page; they answer in text.

A world's teacher acts on points or on elements. Protocols over text act on element ids, one call per turn; the visual
ones act on points. This policy translates: a point becomes the innermost numbered element under it, an element becomes
its middle. Where each response rewrites the memory (WebGym), it also keeps the memory: the notes of all turns so far.

A teacher is made with its episode's first response, and what it raises then or later is contained: a bug in the teacher
of one world ends the episode and not the stage (`HarnessError`). The policy does this, and not the episode loop,
because the loop cannot tell a teacher from a model, whose errors would repeat in every other episode and so end the
stage. A world without a teacher ends it too (`NotSupportedError`), because the recipe is wrong.

Another model's tokens mean nothing to this one's tokenizer, so a teacher's completion has no ids and no
log-probabilities; training tokenizes its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from components.agent import Completion, EpisodeSpec, Prompt, Request
from components.agent.containment import contained
from components.agent.protocols import protocol
from components.browser import TOOLS, Environment, Placed, parse_elements
from components.records import ToolCall
from components.worlds import NotSupportedError, PointTeacher, Teacher, TeacherTurn, Worlds

_POINT = re.compile(r" \d+ \d+(?=,|$)")
GIVE_UP = ToolCall(name="done", arguments={"answer": "N/A"})
TEXT_FIELDS = ("textbox", "searchbox", "combobox", "spinbutton")
"""Roles of elements that a click gives the focus, and on which it does nothing else."""


def scripted_policy(
    worlds: Worlds, noise: float = 0.0, speaks: str = "openwebrl"
) -> Callable[[EpisodeSpec, Environment], ScriptedTeacher]:
    """The policy of each episode: the scripted teacher of its task's world.

    Args:
        noise: probability that an episode has a mistake in it.
        speaks: the protocol in which the teacher answers.
    """

    def policy(spec: EpisodeSpec, session: Environment) -> ScriptedTeacher:
        make = partial(worlds.of(spec.task).teacher, spec.task, spec.attempt, spec.seed, noise)
        return ScriptedTeacher(session, make, speaks)

    return policy


class ScriptedTeacher:
    """One episode's teacher. The only policy that may look at the DOM.

    Args:
        session: the episode's browser.
        make: makes the teacher, which decides (`World.teacher`).
        speaks: the protocol in which it answers.
    """

    version = "scripted"

    def __init__(self, session: Environment, make: Callable[[], Teacher], speaks: str = "openwebrl") -> None:
        self._protocol = protocol(speaks)
        self._by_element = self._protocol.element_ids
        self._session = session
        self._make = make
        self._teacher: Teacher | None = None
        self._left: list[ToolCall] = []
        self._notes: list[str] = []

    def prompt_tokens(self, prompt: Prompt) -> int:
        """A script has no context to fill."""
        return 0

    async def complete(self, request: Request) -> Completion:
        """The next response of the script, written in the protocol.

        Raises:
            EnvError: the page could not be read.
            HarnessError: the teacher raised an unexpected exception.
            NotSupportedError: the world has no teacher.
        """
        with contained("the scripted teacher", NotSupportedError):
            return await self._response()

    async def _response(self) -> Completion:
        if self._teacher is None:
            self._teacher = self._make()
        elements: Sequence[Placed] | None = None
        if self._teacher.acts_on == "elements":
            elements = await self._session.oracle_elements()
            turn = self._teacher.next(elements)
        else:
            turn = await self._of_points(self._teacher)
        note = self._memory_with(turn) if self._protocol.rewrites_memory else turn.note
        try:
            if elements is not None:
                turn = self._of_elements(turn, elements)
            response = self._protocol.write(turn.thought, turn.calls, note)
        except ValueError as error:  # such as waiting, for which BrowserAgent has no command
            self._left = []
            response = self._protocol.write(f"this cannot be said: {error}", [GIVE_UP], note)
        return Completion([], [], response, "stop")

    def _memory_with(self, turn: TeacherTurn) -> str:
        """The notes of all turns, this one included. A turn without a note has its thought as one."""
        self._notes.append(turn.note or without_points(turn.thought))
        return "; ".join(self._notes)

    def _of_elements(self, turn: TeacherTurn, seen: Sequence[Placed]) -> TeacherTurn:
        """The turn of a teacher on elements with the calls of the protocol."""
        if self._by_element:
            return replace(turn, thought=called(turn.thought, turn.calls[0]))
        return replace(turn, calls=[by_point for call in turn.calls for by_point in at_points(call, seen)])

    async def _of_points(self, teacher: PointTeacher) -> TeacherTurn:
        if not self._by_element:
            return teacher.next(parse_elements(await self._session.oracle()))
        if not self._left:
            self._left = fused(teacher.next(parse_elements(await self._session.oracle())).calls)
        call = self._left.pop(0)
        if call.name not in ("click", "write") or "x" not in call.arguments:
            return TeacherTurn(call.name, [_without_point(call)])
        element = under(call.arguments["x"], call.arguments["y"], await self._session.oracle_elements())
        if element is None:
            self._left = []
            return TeacherTurn("nothing to act on", [GIVE_UP])
        name = f'{element.role} "{element.name}"' if element.name else element.role
        if call.name == "click":
            arguments = _without_point(call).arguments
            click = ToolCall(name="click_element", arguments={"element": element.id, **arguments})
            return TeacherTurn(called(f"click {name}", click), [click])
        write = ToolCall(name="write_element", arguments={"element": element.id, **_writing(call)})
        return TeacherTurn(called(f'write "{call.arguments["text"]}" in {name}', write), [write])


def _without_point(call: ToolCall) -> ToolCall:
    """The call without coordinates, which protocols that name elements have not: it scrolls the page, not an area."""
    return call.model_copy(
        update={"arguments": {key: value for key, value in call.arguments.items() if key not in ("x", "y")}}
    )


def called(thought: str, call: ToolCall) -> str:
    """The thought with the element's id at its end, found before it is used."""
    return f"{thought} {call.arguments['element']}" if "element" in call.arguments else thought


def without_points(thought: str) -> str:
    """The thought without the coordinates of elements, which say nothing about a later page."""
    return _POINT.sub("", thought)


def fused(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """A click on a field and the writing after it as one: a `write` with the field's point."""
    out: list[ToolCall] = []
    for call in calls:
        if call.name == "write" and out and out[-1].name == "click":
            out[-1] = ToolCall(name="write", arguments={**out[-1].arguments, **call.arguments})
        else:
            out.append(call)
    return out


def under(x: float, y: float, seen: Sequence[Placed]) -> Placed | None:
    """The element at a point: the last in the tree that holds it, which is the innermost and the one on top."""
    return next((element for element in reversed(seen) if element.holds(x, y)), None)


def _writing(call: ToolCall) -> dict[str, Any]:
    """What a call writes, without where."""
    return {key: call.arguments[key] for key in ("text", "clear") if key in call.arguments}


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def at_points(call: ToolCall, seen: Sequence[Placed]) -> list[ToolCall]:
    """A call on an element as calls on its middle.

    Raises:
        ValueError: no calls on points do the same.
    """
    if call.name in TOOLS:
        return [call]
    by_id = {element.id: element for element in seen}
    element = by_id[call.arguments["element"]] if "element" in call.arguments else None
    options = {key: value for key, value in call.arguments.items() if key != "element"}
    if element is not None:
        x, y = element.middle
        click = _call("click", x=x, y=y)
        match call.name:
            case "click_element":
                return [_call("click", x=x, y=y, **options)]
            case "hover_element":
                return [_call("hover", x=x, y=y)]
            case "drag_element":
                x2, y2 = by_id[options["to"]].middle
                return [_call("drag", x1=x, y1=y, x2=x2, y2=y2)]
            case "write_element":
                enter = [_call("press_keys", keys=["Enter"])] if options.get("submit") else []
                return [click, _call("write", **_writing(call)), *enter]
            case "select_option":
                return [click, _call("write", text=options["option"])]
            case "press_element" if element.role in TEXT_FIELDS:
                return [click, _call("press_keys", **options)]
    raise ValueError(f"no calls on points do what {call.name} does")
