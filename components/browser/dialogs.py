"""Dialogs that the agent answers (`browser.dialogs: ask`, `ask_or_dismiss`): `confirm()` and `prompt()`.

A page is frozen while a dialog is open: no script answers, no screenshot is taken, and the call that opened the dialog
does not end. So calls run in tasks of their own. When a dialog opens, its call is left waiting, and the feedback and a
drawn observation (`DialogBox`) ask the agent. The next call answers: enter and escape, a click on a drawn button, or
`write` for the text of a prompt. Then the waiting call goes on, and its own line of feedback follows the answer's. A
call also waits for the answer to a dialog of the window that it opened, which is shown afterwards.

A dialog has no answer after `browser.dialog_wait_s`, after `MAX_REFUSED` other calls, or at the end of the episode.
Then it is confirmed, or dismissed with `ask_or_dismiss`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Dialog
from playwright.async_api import Error as PlaywrightError

from components.browser import feedback, tools
from components.browser.dialog_box import DialogBox
from components.browser.errors import EnvError
from components.browser.keys import normalise_keys
from components.browser.page_limits import PageLimits
from components.browser.window import Window
from components.params import TextKind
from components.records import Image, Observation, ToolCall

MAX_REFUSED = 3
"""Calls that do not answer, after which the dialog is closed."""
SETTLE_S = 5.0
"""How long the waiting call may take to end when the episode does."""
HOW = {
    "confirm": "press enter for OK or escape for Cancel",
    "prompt": "`write` the answer, press enter for OK or escape for Cancel",
}


@dataclass(frozen=True)
class Answer:
    """An answer: OK with the text of a prompt, or Cancel."""

    accepted: bool
    text: str | None = None

    def __str__(self) -> str:
        if not self.accepted:
            return "Cancel"
        return "OK" if self.text is None else f'"{self.text[:200]}"'


class OpenDialog:
    """A dialog that waits for an answer.

    Args:
        limits: those of the pages that stand still meanwhile.
        viewport: of the observation on which it is drawn, which may be of another window.
    """

    def __init__(self, dialog: Dialog, window: Window, limits: Sequence[PageLimits], viewport: tuple[int, int]) -> None:
        self.window = window
        self.limits = limits
        self.kind = dialog.type
        self.message = " ".join(dialog.message.split())
        self.default = dialog.default_value
        self.box = DialogBox(self.kind, self.message, self.default, viewport)
        self.refused = 0
        """Number of calls that did not answer."""
        self.is_announced = False
        """Whether feedback or an observation has shown it to the agent."""
        self._dialog = dialog

    @property
    def question(self) -> str:
        """The dialog as feedback asks it."""
        return f'A dialog ({self.kind}) asks "{self.message[:200]}" and waits: {HOW[self.kind]}.'

    def answer_of(self, arguments: tools.Arguments) -> Answer | None:
        """What a call answers; None if it does not answer."""
        text = self.default if self.kind == "prompt" else None
        if isinstance(arguments, tools.PressKeys):
            with contextlib.suppress(ValueError):
                keys = normalise_keys(arguments.keys)
                if keys[0] in ("Enter", "Space", "Escape"):
                    return Answer(keys[0] != "Escape", text)
        if isinstance(arguments, tools.Write | tools.WriteElement) and self.kind == "prompt":
            return Answer(True, arguments.text)
        control = None
        if isinstance(arguments, tools.Click):
            control = self.box.control_at(arguments.x, arguments.y)
        elif isinstance(arguments, tools.ClickElement):
            control = arguments.element
        return Answer(control == "OK", text) if control in ("OK", "Cancel") else None

    async def close(self, answer: Answer) -> None:
        """Give the answer to the page."""
        with contextlib.suppress(PlaywrightError):  # the page may be closed already
            if not answer.accepted:
                await self._dialog.dismiss()
            elif answer.text is not None:
                await self._dialog.accept(answer.text)
            else:
                await self._dialog.accept()


class Dialogs:
    """The open dialog of an episode, and the call that it keeps waiting.

    Args:
        wait_s: seconds after which a dialog has no answer.
        dismisses: whether a dialog without an answer is dismissed, and not confirmed.
    """

    def __init__(self, wait_s: float, dismisses: bool = False) -> None:
        self.open: OpenDialog | None = None
        self._wait_s = wait_s
        self._dismisses = dismisses
        self._opened = asyncio.Event()
        self._waiting: asyncio.Task[str] | None = None
        self._opener = ""
        self._expiry: asyncio.Task[None] | None = None

    def hold(self, dialog: Dialog, window: Window, limits: Sequence[PageLimits], viewport: tuple[int, int]) -> bool:
        """Keep a dialog open for the agent. False if it is not one to ask about, or one is open already.

        Args:
            limits: those of the pages that may stand still meanwhile: a window shares the renderer of its opener.
            viewport: of the last observation, on which the dialog is drawn.
        """
        if dialog.type not in HOW or self.open is not None:
            return False
        self.open = OpenDialog(dialog, window, limits, viewport)
        for limit in limits:
            limit.freeze()
        self._opened.set()
        self._expiry = asyncio.create_task(self._expire(self.open))
        return True

    async def run(self, call: ToolCall, execute: Callable[[ToolCall], Coroutine[Any, Any, str]]) -> str:
        """Run a call with `execute`, or let it answer the open dialog. Returns its line of feedback."""
        if self.open is None:
            waited, self._waiting = self._waiting, None
            opener = await waited if waited is not None else ""  # the dialog was closed by the time limit
            line = await self._until_dialog(call.name, asyncio.create_task(execute(call)))
            return f"{line} {_of_opener(opener)}" if opener else line
        return await self._answer(self.open, call, execute)

    async def observe(
        self, observe: Callable[[], Coroutine[Any, Any, tuple[Observation, str]]], last: Observation, text: TextKind
    ) -> tuple[Observation, str]:
        """Observe with `observe`; while a dialog is open, the dialog is drawn on the `last` observation.

        Returns:
            the observation, and sentences about what happened after the last call.
        """
        if self.open is None:
            task = asyncio.create_task(observe())
            if await self._first(task):
                return task.result()
            task.cancel()
            await asyncio.wait({task})
        if self.open is None:  # it was closed meanwhile
            return await observe()
        box, self.open.is_announced = self.open.box, True
        picture = Image.of(await asyncio.to_thread(box.drawn_on, last.screenshot.data))
        return last.model_copy(update={"screenshot": picture, "text": box.text(text)}), ""

    async def settle(self) -> None:
        """The episode ends: close the open dialog and end the waiting call."""
        if self.open is not None:
            await self._close(self.open, self._unanswered(self.open))
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            await asyncio.wait({waiting}, timeout=SETTLE_S)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, PlaywrightError, EnvError):
                await waiting

    async def _answer(
        self, dialog: OpenDialog, call: ToolCall, execute: Callable[[ToolCall], Coroutine[Any, Any, str]]
    ) -> str:
        if call.error:
            return feedback.failed(call.name or "tool call", call.error)
        try:
            arguments = tools.parse_arguments(call.name, call.arguments)
        except ValueError as error:
            return feedback.failed(call.name or "tool call", error)
        answer = dialog.answer_of(arguments) if dialog.is_announced else None
        ends = isinstance(arguments, tools.Done)
        if answer is None and not ends:
            dialog.is_announced = True
            dialog.refused += 1
            if dialog.refused < MAX_REFUSED:
                return feedback.failed(call.name, dialog.question)
        await self._close(dialog, answer or self._unanswered(dialog))
        waiting, self._waiting = self._waiting, None
        rest = "" if waiting is None else await self._until_dialog(self._opener, waiting)
        if answer is None:  # the dialog is out of the way, so the call itself runs, unless its opener opens another one
            is_asked = self.open is not None
            line = await self.run(call, execute)
            note = f" The dialog was {self._closed}, because no answer came."
            note += "" if is_asked else f" {_of_opener(rest)}".rstrip()
            return line if ends else f"{line}{note}"
        return feedback.succeed(f"`{call.name}` answered the dialog with {answer}.", _of_opener(rest))

    def _unanswered(self, dialog: OpenDialog) -> Answer:
        """How a dialog is closed to which no answer came."""
        if self._dismisses:
            return Answer(False)
        return Answer(True, dialog.default if dialog.kind == "prompt" else None)

    @property
    def _closed(self) -> str:
        """What happened to a dialog to which no answer came."""
        return "dismissed" if self._dismisses else "confirmed"

    async def _close(self, dialog: OpenDialog, answer: Answer) -> None:
        if self._expiry is not None and self._expiry is not asyncio.current_task():
            self._expiry.cancel()
        self.open = None
        self._opened.clear()
        await dialog.close(answer)
        for limit in dialog.limits:
            limit.thaw()

    async def _until_dialog(self, name: str, task: asyncio.Task[str]) -> str:
        """The line of a running call, or the question of the dialog that it opens."""
        if await self._first(task):
            return task.result()
        self._waiting, self._opener = task, name
        assert self.open is not None
        self.open.is_announced = True
        return feedback.succeed(f"`{name}` executed.", self.open.question)

    async def _first(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task ended before a dialog opened. It is cancelled if the caller is."""
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait({task, opened}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            opened.cancel()
        return task.done()

    async def _expire(self, dialog: OpenDialog) -> None:
        await asyncio.sleep(self._wait_s)
        if self.open is dialog:
            sentence = f'A dialog ({dialog.kind}) said "{dialog.message[:80]}"'
            dialog.window.notices.note("dialog", f"{sentence} and was {self._closed}, because no answer came.")
            await self._close(dialog, self._unanswered(dialog))


def _of_opener(line: str) -> str:
    """The line of feedback of the call that had opened a dialog, as a note of a later line; empty if there is none."""
    return f"The call that had opened it: {line.partition(': ')[2]}" if line else ""
