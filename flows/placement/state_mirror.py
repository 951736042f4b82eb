"""A copy of a stage's state in the shared store, written while the stage runs.

A stage has a folder per recipe and inputs in its state directory. Only those in which it works are copied, and
restoring replaces only those.

The copy is a list of files (`files.json`) and their pieces. A piece never changes once it is written, and the list is
written last, so a machine that is killed at any moment leaves a copy that can be restored. Of a file that has only
grown, such as a journal, the new bytes are one more piece; any other change is a new piece in place of the old ones.
Journals are read last, so they are never older than a checkpoint beside them. Files that their writer has not yet
renamed to their final name (`*.part`) and locks are left out.
"""

from __future__ import annotations

import hashlib
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flows.placement.shared_store import SharedStore, StoreError

LIST = "files.json"
PIECE_BYTES = 64 * 2**20
"""A larger file is several pieces, so that no file has to fit into memory."""
CLOCK_NS = 2 * 10**9
"""File systems may round the time of a change down by as much."""
MAX_PIECES = 64
"""A file that has grown in more pieces than this is written anew as a whole."""


@dataclass
class _Copy:
    """The copied part of a file."""

    size: int = 0
    modified: int = -1
    """Nanoseconds, on the machine that copied it."""
    tail_sha256: str = ""
    """Of the last 4 KiB of the copied part: a file that still has them there has only grown."""
    pieces: list[str] = field(default_factory=list)


TAIL_BYTES = 4096


class StateMirror:
    """The copy of one directory. One machine at a time writes it."""

    def __init__(self, folder: Path, store: SharedStore, may_write: Callable[[], bool] = lambda: True) -> None:
        """
        Args:
            folder: the directory.
            store: where its copy is.
            may_write: whether no other machine has taken the directory over.
        """
        self._folder, self._store, self._may_write = folder, store, may_write
        self._since = time.time_ns() - CLOCK_NS
        self._copies = self._list()

    def _list(self) -> dict[str, _Copy]:
        return {name: _Copy(**copy) for name, copy in (self._store.read_json(LIST) or {}).items()}

    def copy(self) -> int:
        """Copy what has changed since the last call; returns the number of files that had.

        Raises:
            StoreError: the store cannot be written; the next call tries again.
        """
        files = [path for path in self._in_use() if path.is_file() and not _is_transient(path)]
        old, new, changed = self._copies, {}, 0
        for path in sorted(files, key=lambda path: (path.suffix == ".jsonl", path)):
            name = str(path.relative_to(self._folder))
            before = old.get(name, _Copy())
            try:
                new[name] = self._copied(path, before)
            except FileNotFoundError:  # it was removed or renamed after it was listed
                continue
            changed += new[name].pieces != before.pieces
        if not self._may_write():
            return 0
        self._copies = new
        if changed or new.keys() != old.keys():
            self._store.write_json(LIST, {name: asdict(copy) for name, copy in new.items()})
            kept = {piece for copy in new.values() for piece in copy.pieces}
            self._store.remove([piece for copy in old.values() for piece in copy.pieces if piece not in kept])
        return changed

    def restore(self) -> int:
        """Put the copied entries in place of those in the directory; returns the number of files.

        Raises:
            StoreError: the store cannot be read.
        """
        self._copies = self._list()
        if not self._copies:
            return 0
        partial = self._folder.with_name(f".{self._folder.name}.{uuid.uuid4().hex}.part")
        for name, copy in self._copies.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for piece in copy.pieces:
                    content = self._store.read(piece)
                    if content is None:
                        raise StoreError(
                            f"placement.store: {self._store.url}/{piece} is missing: another machine writes"
                        )
                    file.write(content)
            copy.modified = path.stat().st_mtime_ns
        self._folder.mkdir(parents=True, exist_ok=True)
        for entry in partial.iterdir():
            place = self._folder / entry.name
            if place.is_dir():
                shutil.rmtree(place)
            entry.rename(place)
        partial.rmdir()
        return len(self._copies)

    def clear(self) -> None:
        """Remove the copy: the stage has ended, and its outputs are in the store.

        Raises:
            StoreError: the store cannot be written.
        """
        pieces = [piece for copy in self._list().values() for piece in copy.pieces]
        self._store.remove([LIST, *pieces])
        self._copies = {}

    def _in_use(self) -> list[Path]:
        """The files of the entries that were copied or restored before, or have been written since."""
        known = {name.split("/", 1)[0] for name in self._copies}
        chosen: list[Path] = []
        for entry in sorted(self._folder.glob("*")):
            files = [entry, *entry.rglob("*")]
            if entry.name in known or any(_modified(path) >= self._since for path in files):
                chosen += files
        return chosen

    def _copied(self, path: Path, before: _Copy) -> _Copy:
        status = path.stat()
        if (status.st_size, status.st_mtime_ns) == (before.size, before.modified):
            return before
        with path.open("rb") as file:
            grown = before.pieces and len(before.pieces) < MAX_PIECES and status.st_size >= before.size
            if not (grown and _tail(file, before.size) == before.tail_sha256):
                before = _Copy()
            file.seek(before.size)
            size, pieces = before.size, list(before.pieces)
            while part := file.read(min(PIECE_BYTES, status.st_size - size)):
                pieces.append(f"pieces/{uuid.uuid4().hex}")
                self._store.write(pieces[-1], part)
                size += len(part)
            return _Copy(size, status.st_mtime_ns, _tail(file, size), pieces)


def _tail(file, size: int) -> str:
    """SHA-256 of the last bytes of the first `size` bytes of a file."""
    file.seek(max(0, size - TAIL_BYTES))
    return hashlib.sha256(file.read(min(size, TAIL_BYTES))).hexdigest()


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_transient(path: Path) -> bool:
    return path.name == "lock" or any(part.endswith(".part") for part in path.parts)
