"""A person as the policy of an episode: typed lines become responses in the recipe's protocol.

The person sees what the agent sees as text, or the element list if the agent sees only pictures. Protocols that name
elements by id are typed with ids: `click 12`, `write 12 "red tent"`.
"""

from __future__ import annotations

from collections.abc import Mapping

from components.agent import Completion, Prompt, Request
from components.agent.protocols import protocol
from components.browser import Environment, parse_elements
from components.browser.tools import SHORT_NAMES, Arguments, named_tools, parse_arguments
from components.interactive.console import Console
from components.interactive.session import WatchedSession
from components.interactive.transcript import Transcript, call_text, visible
from components.interactive.typed_calls import TypedLineError, TypedTurn, read_line, signature
from components.policies.scripted import without_points
from components.records import ToolCall

VERSION = "human"
PROMPT = "your turn> "
NEAR = 15
"""Largest distance, on the 0-1000 scale, at which a click is taken to mean a listed element."""


class PersonStoppedError(Exception):
    """The person ended the run with `quit` or at the end of the input."""


class PersonPolicy:
    """Reads one line per turn. The time that the person needs does not count towards the episode's time limits."""

    version = VERSION

    def __init__(self, session: WatchedSession, console: Console, transcript: Transcript, speaks: str) -> None:
        self._session = session
        self._console = console
        self._transcript = transcript
        self._protocol = protocol(speaks)
        self._tools = named_tools(self._protocol.element_ids)
        self._names = SHORT_NAMES if self._protocol.element_ids else {}
        self._notes: list[str] = []

    def prompt_tokens(self, prompt: Prompt) -> int:
        """A person has no context to fill."""
        return 0

    async def complete(self, request: Request) -> Completion:
        """The person's next response, written in the protocol.

        Raises:
            PersonStoppedError: the person ended the run.
        """
        with request.clock.stopped():
            if not request.turns:
                self._transcript.note("Type `help` for the tools, `quit` to stop.")
            await self._show()
            return Completion([], [], await self._response(), "stop")

    async def _response(self) -> str:
        while True:
            line = await self._console.read_line(PROMPT)
            if line is None or line.strip() in ("quit", "exit"):
                raise PersonStoppedError
            match line.strip():
                case "":
                    continue
                case "help":
                    self._transcript.write(guide(self._tools))
                    continue
                case "look":
                    await self._show()
                    continue
            try:
                turn = read_line(line, self._tools)
                calls = [call.model_copy(update={"name": self._names.get(call.name, call.name)}) for call in turn.calls]
                thought = turn.thought or await self._thought(turn)
                return self._written(thought, calls)
            except (TypedLineError, ValueError) as error:
                self._transcript.note(str(error))

    def _written(self, thought: str, calls: list[ToolCall]) -> str:
        """The response as text. Where a response rewrites the agent's memory, that is the thoughts of all turns.

        Raises:
            ValueError: the protocol cannot express the calls.
        """
        notes = [*self._notes, without_points(thought)] if self._protocol.rewrites_memory else []
        text = self._protocol.write(thought, calls, "; ".join(notes))
        parsed = self._protocol.parse(text)
        if parsed.error is not None or any(call.error for call in parsed.calls):
            errors = [call.error for call in parsed.calls if call.error]
            raise ValueError(f"the protocol {self._protocol.name} cannot say this: {parsed.error or errors[0]}")
        lost = [argument for pair in zip(calls, parsed.calls, strict=True) for argument in _lost(*pair)]
        if lost:
            raise ValueError(f"the protocol {self._protocol.name} cannot say {', '.join(lost)}; leave it out")
        self._notes = notes
        return text

    async def _thought(self, turn: TypedTurn) -> str:
        """A thought for a line without one: the call, with the name of the listed element that it means."""
        return ", ".join([await described(call, self._session) for call in turn.calls])

    async def _show(self) -> None:
        observation = self._session.last
        assert observation is not None
        active = next((tab.title for tab in observation.tabs if tab.active), "")
        self._transcript.note(f"\n{active}  {observation.url}")
        if len(observation.tabs) > 1:
            for tab in observation.tabs:
                self._transcript.note(f"  {'*' if tab.active else ' '} tab {tab.index}: {tab.title}")
        text = observation.text if observation.text is not None else await self._session.oracle()
        self._transcript.write(visible(text) + "\n")


def _lost(typed: ToolCall, parsed: ToolCall) -> list[str]:
    """The arguments of a typed call that the protocol's call does not have, as `amount=3`."""
    if typed.name != parsed.name:
        return [f"`{typed.name}`, which becomes `{parsed.name}`"]
    before, after = (parse_arguments(call.name, call.arguments).model_dump() for call in (typed, parsed))
    return [f"{name}={value}" for name, value in typed.arguments.items() if before[name] != after[name]]


def guide(tools: Mapping[str, type[Arguments]]) -> str:
    """The help: how to type each tool."""
    lines = [f"  {signature(name, tool)}" for name, tool in tools.items()]
    return "\n".join([
        *lines,
        "  look                                         Show the page's elements again.",
        "  quit                                         Stop the run.",
        "Points are 0 to 1000 on both axes. `;` separates calls of one turn; the text after `#` is the thought.",
        "",
    ])  # fmt: skip


async def described(call: ToolCall, session: Environment) -> str:
    """A call in the words of the element list: `click button "Add" 512 86`."""
    if call.name in ("click", "hover") and "x" in call.arguments:
        x, y = call.arguments["x"], call.arguments["y"]
        for element in parse_elements(await session.oracle()):
            if abs(element.x - x) <= NEAR and abs(element.y - y) <= NEAR:
                name = f' "{element.name}"' if element.name else ""
                return f"{call.name} {element.role}{name} {x} {y}"
    return call_text(call)
