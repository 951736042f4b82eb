"""Prints an episode as it happens: the number of each turn, its thought, its calls, and the feedback.

Texts of pages and models are printed without control characters, which a terminal would obey.
"""

from __future__ import annotations

import io
import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from components.agent import Completion, Policy, Prompt, Request
from components.agent.protocols import Protocol
from components.records import ToolCall, Trajectory, Turn
from components.redaction import redacted

MAX_LINE = 400
"""Characters of one printed value."""
_JOINERS = "\u200c\u200d"


class Style(StrEnum):
    """Escape sequences of a terminal."""

    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    RED = "\x1b[31m"
    GREEN = "\x1b[32m"
    CYAN = "\x1b[36m"
    PLAIN = "\x1b[0m"


class Transcript:
    """Writes to standard output. `colour` is on for a terminal, unless NO_COLOR is set."""

    def __init__(self, colour: bool | None = None) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode must not end the run
        self._colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") if colour is None else colour

    def write(self, text: str) -> None:
        """Print a text as it is, at once."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str, style: Style = Style.DIM) -> None:
        """Print a line of the harness, without the passwords of addresses."""
        self.write(self._styled(visible(redacted(text)), style) + "\n")

    def answer(self, number: int, thought: str, calls: Sequence[ToolCall]) -> None:
        """Print a response: the turn's number (from 1), the thought and the calls."""
        self.write("\n" + self._styled(f"Turn {number}", Style.BOLD) + "\n")
        for line in visible(thought).splitlines():
            self.write(f"  {self._styled(line, Style.CYAN)}\n")
        for call in calls:
            self.write(f"  {self._styled('→', Style.BOLD)} {call_text(call)}\n")

    def feedback(self, lines: Sequence[str]) -> None:
        """Print the feedback of a turn."""
        for line in lines:
            style = Style.GREEN if line.startswith("Succeed") else Style.RED
            self.write(f"  {self._styled(one_line(line), style)}\n")

    def end(self, trajectory: Trajectory, meaning: str) -> None:
        """Print the answer, the termination and its cause."""
        self.write("\n")
        if trajectory.answer is not None:
            self.write(f"{self._styled('Answer:', Style.BOLD)} {visible(trajectory.answer)}\n")
        error = redacted(str(trajectory.diagnostics.get("error", "")))
        cause = f" ({one_line(error)})" if "error" in trajectory.diagnostics else ""
        ending = f"{trajectory.termination}: {meaning}{cause}"
        self.write(f"{self._styled('Ended:', Style.BOLD)} {ending} Turns: {len(trajectory.turns)}\n")

    def _styled(self, text: str, style: Style) -> str:
        return f"{style}{text}{Style.PLAIN}" if self._colour and text else text


class PrintedPolicy:
    """A policy whose responses are printed before they are carried out."""

    def __init__(self, policy: Policy, protocol: Protocol, transcript: Transcript) -> None:
        self.version = policy.version
        self._policy = policy
        self._protocol = protocol
        self._transcript = transcript

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Number of tokens of a prompt."""
        return self._policy.prompt_tokens(prompt)

    async def complete(self, request: Request) -> Completion:
        """The policy's response."""
        completion = await self._policy.complete(request)
        parsed = self._protocol.parse(completion.text)
        self._transcript.answer(len(request.turns) + 1, parsed.thought, parsed.calls)
        return completion


def print_feedback(transcript: Transcript, turn: Turn) -> None:
    """Print what a turn that has ended led to."""
    transcript.feedback(turn.feedback)


def call_text(call: ToolCall) -> str:
    """A call as a person reads it: `click(x=512, y=86)`."""
    values = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    error = f"  ({call.error})" if call.error else ""
    return one_line(f"{call.name or 'unreadable call'}({', '.join(values)}){error}")


def visible(text: str) -> str:
    """The text without characters that control a terminal or reorder what it shows; newlines stay."""
    shown = (
        char if char in "\n" + _JOINERS or unicodedata.category(char)[0] != "C" else " " if char == "\t" else "\ufffd"
        for char in text
    )
    return "".join(shown)


def one_line(text: str) -> str:
    """The text in one line, cut to `MAX_LINE` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"
