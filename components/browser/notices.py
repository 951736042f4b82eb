"""Pending notices of a tab: dialogs, downloads and file choosers, which no screenshot shows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from playwright.async_api import CDPSession, Dialog, Download
from playwright.async_api import Error as PlaywrightError

from components.browser.uploads import FileChooser, Uploads

MAX_NOTICES = 3
"""Per kind, between two calls. A page may open dialogs without end; those above the limit are answered but not
noted."""


class Notices:
    """Handles these events of one tab and notes a sentence for each, until the next line of feedback takes them."""

    def __init__(self) -> None:
        self.uploads: Uploads | None = None
        """The files that the page may be given; None if there are none."""
        self.chooser: FileChooser | None = None
        """The open file chooser, which the next call answers or closes."""
        self.hold: Callable[[Dialog], bool] | None = None
        """Keeps a dialog open for the agent, or says false; None if it is asked about none."""
        self.dismisses = False
        """Whether `confirm` and `prompt` are dismissed if they are not held. All dialogs are confirmed otherwise."""
        self._pending: list[tuple[str, str]] = []

    @property
    def has_download(self) -> bool:
        """Whether a download is among the pending notices."""
        return any(kind == "download" for kind, _ in self._pending)

    def begin_episode(self) -> None:
        """Forget what an earlier episode left."""
        self._pending, self.chooser = [], None

    def on_new_document(self) -> None:
        """Close the file chooser of the document that was shown before."""
        if self.chooser is not None:
            self.chooser = None
            self._pending = [(kind, sentence) for kind, sentence in self._pending if kind != "file"]

    def take(self) -> tuple[str, ...]:
        """The pending sentences, which are then no longer pending."""
        sentences = tuple(sentence for _, sentence in self._pending)
        self._pending = []
        return sentences

    def drop(self, kind: str) -> None:
        """Forget the pending sentences of a kind, because the feedback says the same."""
        self._pending = [(pending, sentence) for pending, sentence in self._pending if pending != kind]

    async def on_dialog(self, dialog: Dialog) -> None:
        """Confirm or dismiss a dialog, because the page waits for its answer, unless it is held. A prompt that is
        confirmed gets its default."""
        if self.hold is not None and self.hold(dialog):
            return
        if self.dismisses and dialog.type in ("confirm", "prompt"):
            self.note("dialog", f'A dialog ({dialog.type}) said "{_shortened(dialog.message)}" and was dismissed.')
            with contextlib.suppress(PlaywrightError):  # the page may be closed already
                await dialog.dismiss()
            return
        if dialog.type == "beforeunload":
            self.note("leaving", "The page warned that changes may be lost; it was left.")
        else:
            answer = f'answered "{_shortened(dialog.default_value)}"' if dialog.type == "prompt" else "confirmed"
            self.note("dialog", f'A dialog ({dialog.type}) said "{_shortened(dialog.message)}" and was {answer}.')
        with contextlib.suppress(PlaywrightError):  # the page may be closed already
            await (dialog.accept(dialog.default_value) if dialog.type == "prompt" else dialog.accept())

    def on_download(self, download: Download) -> None:
        """Note a download, which the context blocks."""
        self.note("download", f'A download of "{_shortened(download.suggested_filename)}" was blocked.')

    def on_service_worker(self) -> None:
        """Note that the page tried to register a service worker, which the context blocks."""
        self.note("service worker", "The page tried to register a service worker, which is blocked.")

    def on_file_chooser(self, event: dict, cdp: CDPSession) -> None:
        """Note a file chooser of which a session of the tab tells. It stays closed if there are no files to choose, or
        no `<input>` that takes them: `showOpenFilePicker()` has none."""
        if self.uploads is None or "backendNodeId" not in event:
            self.note("file", "The page asked for a file; there are none to choose.")
        else:
            self.chooser = FileChooser.opened(event, self.uploads, cdp)
            self.note("file", str(self.chooser))

    def note(self, kind: str, sentence: str) -> None:
        """Add a sentence about an event of this kind, unless there are `MAX_NOTICES` already."""
        if sum(pending == kind for pending, _ in self._pending) < MAX_NOTICES:
            self._pending.append((kind, sentence))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."
