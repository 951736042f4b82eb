"""Files that pages may be given: the files of one folder, which the recipe names (`browser.uploads`)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

MAX_LISTED = 20
"""Files that are listed by name."""


class Uploads:
    """The folder of the files that an agent may choose, with its subfolders. Hidden files and links that lead out of
    the folder are left out.

    Raises:
        NotADirectoryError: there is no such folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).resolve()
        if not self._folder.is_dir():
            raise NotADirectoryError(f"browser.uploads: {folder} is no folder; make it, or set browser.uploads to null")

    def names(self) -> list[str]:
        """The files' paths relative to the folder, sorted."""
        return sorted(self._files())

    def listing(self) -> str:
        """The names as a phrase: `"a.txt", "photos/b.png" and 3 more`."""
        names = self.names()
        left = len(names) - MAX_LISTED
        phrase = ", ".join(f'"{name}"' for name in names[:MAX_LISTED])
        return (phrase + (f" and {left} more" if left > 0 else "")) or "there are none"

    def paths(self, text: str, several: bool) -> list[Path]:
        """The files that a text names, one per line.

        Raises:
            ValueError: a name is not that of a file of the folder, or several files are named where one is wanted.
        """
        files = self._files()
        names = [line.strip().strip('"') for line in text.splitlines() if line.strip()]
        unknown = next((name for name in names if name not in files), None)
        if unknown is not None or not names:
            raise ValueError(f'no file "{(unknown or "")[:60]}" can be chosen; the files are {self.listing()}')
        if len(names) > 1 and not several:
            raise ValueError("the page asks for one file")
        return [files[name] for name in names]

    def _files(self) -> dict[str, Path]:
        files = {}
        for path in self._folder.rglob("*"):
            relative = path.relative_to(self._folder)
            hidden = any(part.startswith(".") for part in relative.parts)
            if not hidden and path.is_file() and path.resolve().is_relative_to(self._folder):
                files[relative.as_posix()] = path.resolve()
        return files


@dataclass(frozen=True)
class FileChooser:
    """A file chooser that a page opened and that waits for a `write`."""

    node: int
    """DevTools' id of the `<input>`."""
    several: bool
    """Whether more than one file may be chosen."""
    uploads: Uploads
    cdp: CDPSession
    """The session of the page, or of the frame with a renderer of its own, that opened it."""

    @classmethod
    def opened(cls, event: dict, uploads: Uploads, cdp: CDPSession) -> FileChooser:
        """The chooser of a DevTools event `Page.fileChooserOpened` of a session."""
        return cls(event["backendNodeId"], event.get("mode") == "selectMultiple", uploads, cdp)

    async def hold(self) -> None:
        """Keep an `<input>` that is in no document from being collected until the next document."""
        with contextlib.suppress(PlaywrightError):
            await self.cdp.send("DOM.resolveNode", {"backendNodeId": self.node})

    async def choose(self, paths: Sequence[Path]) -> None:
        """Give files to the `<input>`.

        Raises:
            playwright.async_api.Error: it is gone, or the page is.
        """
        files = {"files": [str(path) for path in paths], "backendNodeId": self.node}
        await self.cdp.send("DOM.setFileInputFiles", files)

    def __str__(self) -> str:
        files, names = ("files", "their names, one per line") if self.several else ("a file", "its name")
        return f"The page asks for {files}: `write` {names}. The files are {self.uploads.listing()}."
