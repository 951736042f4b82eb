"""A copy of a stage's state in the shared store, written while the stage runs.

A stage has a folder per recipe and inputs in its state directory. Only those in which it works are copied, and
restoring replaces only those.

The copy is a list of files (`files.json`) and their pieces. A piece never changes once it is written, and the list is
written after its pieces, so a machine that is killed at any moment leaves a copy that can be restored. Pieces that a
list no longer names are removed one copy later: a machine that was replaced in the middle of a copy cannot remove what
its successor has restored. Of a file that has only grown, such as a journal, the new bytes are one more piece; any
other change is a new piece in place of the old ones. Files that their writer has not yet renamed to their final name
(`*.part`), locks, and the weights that a stage's own servers read (`store.SERVED`) are left out.

Journals (`*.jsonl`) do not wait for large files: they are copied and listed first, and after each piece of another
file. The other files are listed together, when all of them are copied, and after journals that are no older. Until
then, nothing that the list names is dropped: a journal is deleted when a checkpoint has taken its place, so it stays
until that checkpoint is listed. What was copied of a file before an error need not be copied again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from components.store import SERVED
from flows.placement.shared_store import SharedStore, StoreError

LIST = "files.json"
SPANS = "spans.json"
"""The file of an entry with the times at which its stage worked (`components.pipeline.stage_run`)."""
PIECE_BYTES = 64 * 2**20
"""A larger file is several pieces, so that no file has to fit into memory."""
MAX_SMALL = 32
"""A file that ends with this many smaller pieces gets larger ones in their place when it grows again."""
CLOCK_NS = 2 * 10**9
"""File systems may round the time of a change down by as much."""
TAIL_BYTES = 4096


@dataclass
class _Copy:
    """The copied part of a file."""

    size: int = 0
    modified: int = -1
    """Nanoseconds, on the machine that copied it."""
    tail_sha256: str = ""
    """Of the last `TAIL_BYTES` of the copied part: a file that still has them there has only grown."""
    pieces: list[tuple[str, int]] = field(default_factory=list)
    """Names and sizes in bytes."""

    def large_part(self) -> _Copy:
        """The same without the smaller pieces at the end, if there are too many of them."""
        first = len(self.pieces)
        while first and self.pieces[first - 1][1] < PIECE_BYTES:
            first -= 1
        if len(self.pieces) - first < MAX_SMALL:
            return self
        return _Copy(sum(size for _, size in self.pieces[:first]), pieces=self.pieces[:first])


@dataclass
class _Begun:
    """A copy that no list has yet, of the file with this size and this time of change."""

    version: tuple[int, int]
    copy: _Copy


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
        self._writer = uuid.uuid4().hex
        self._copies, _ = self._list()
        self._begun: dict[str, _Begun] = {}
        """Copies that no list has yet, by the name of the file."""
        self._written: set[str] = set()
        """Pieces of this mirror that no list has."""
        self._superseded: set[str] = set()
        self._removable: set[str] = set()

    def copy(self, is_ended: Callable[[], bool] = lambda: False) -> int:
        """Copy what has changed since the last call; returns the number of files that had.

        Args:
            is_ended: asked before each piece; once it is true, the copy is given up, and the next one continues it.

        Raises:
            StoreError: the store cannot be written; the next call tries again.
        """
        before = self._copies
        journals = {self._name(path) for path in self._files(are_journals=True)}
        others = self._files(are_journals=False)  # after the journals: a checkpoint is there before its journal is gone
        self._begun = {
            name: begun for name, begun in self._begun.items() if self._folder / name in others or name in journals
        }
        self._copy_journals(is_ended)
        whole: dict[str, _Copy] = {}
        for path in others:
            copy = self._copied(path, is_ended, after_piece=lambda: self._copy_journals(is_ended))
            if copy is None:
                break
            whole[self._name(path)] = copy
        else:
            newest = self._copied_journals(is_ended)
            if not is_ended():  # else a journal may be older than a checkpoint
                kept = {name: copy for name, copy in self._copies.items() if name in journals}
                self._publish(kept | whole | newest)
        return sum(copy.pieces != before.get(name, _Copy()).pieces for name, copy in self._copies.items())

    def _copy_journals(self, is_ended: Callable[[], bool]) -> None:
        """Copy what is new in journals, beside the other files as they are listed."""
        journals = self._copied_journals(is_ended)
        if any(copy is not self._copies.get(name) for name, copy in journals.items()):
            self._publish(self._copies | journals)

    def _copied_journals(self, is_ended: Callable[[], bool]) -> dict[str, _Copy]:
        """Copies of all journals that are there, without those that were not finished."""
        copies = {self._name(path): self._copied(path, is_ended) for path in self._files(are_journals=True)}
        return {name: copy for name, copy in copies.items() if copy is not None}

    def _publish(self, new: dict[str, _Copy]) -> None:
        """Write the list, unless another machine has taken the directory over, and remove the pieces that it lacks."""
        if not self._may_write():
            return
        _, writer = self._list()
        is_same = new.keys() == self._copies.keys() and _pieces(new) == _pieces(self._copies)
        if not is_same or writer != self._writer:
            listed = {name: asdict(copy) for name, copy in new.items()}
            self._store.write_json(LIST, {"writer": self._writer, "files": listed})
            self._removable |= self._superseded
            self._superseded = _pieces(self._copies) - _pieces(new)
        self._copies = new
        self._begun = {name: begun for name, begun in self._begun.items() if begun.copy is not new.get(name)}
        self._written -= _pieces(new)
        unfinished = {piece for begun in self._begun.values() for piece, _ in begun.copy.pieces}
        self._removable |= self._written - unfinished
        self._written &= unfinished
        self._store.remove(sorted(self._removable))
        self._removable = set()

    def restore(self) -> int:
        """Put the copied entries in place of those in the directory; returns the number of files.

        An entry stays as it is if its stage was at work here after the last copy (`SPANS`), for example because a
        person ran it here.

        Raises:
            StoreError: the store cannot be read.
        """
        self._copies, _ = self._list()
        pieces = {name for name in self._store.names() if name.startswith("pieces/")}
        self._superseded = pieces - _pieces(self._copies)  # those that a lost machine had not listed
        if not self._copies:
            return 0
        partial = self._folder.with_name(f".{self._folder.name}.{uuid.uuid4().hex}.part")
        for name, copy in self._copies.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for piece, _ in copy.pieces:
                    content = self._store.read(piece)
                    if content is None:
                        raise StoreError(
                            f"placement.store: {self._store.url}/{piece} is missing: another machine writes; if none "
                            f"does, remove {self._store.url}, and the stage begins anew"
                        )
                    file.write(content)
            copy.modified = path.stat().st_mtime_ns
        self._folder.mkdir(parents=True, exist_ok=True)
        for entry in partial.iterdir():
            place = self._folder / entry.name
            if last_work(place) > last_work(entry):
                shutil.rmtree(entry)
                continue
            if place.is_dir():
                shutil.rmtree(place)
            entry.rename(place)
        partial.rmdir()
        return len(self._copies)

    @property
    def entries(self) -> list[str]:
        """The folders of the directory that were copied or restored."""
        return sorted({name.split("/", 1)[0] for name in self._copies})

    def clear(self) -> None:
        """Remove the copy: the stage has ended, and its outputs are in the store.

        Raises:
            StoreError: the store cannot be written.
        """
        self._store.remove([LIST])
        self._store.remove(self._store.names())
        self._copies, self._begun = {}, {}
        self._written, self._superseded, self._removable = set(), set(), set()

    def _list(self) -> tuple[dict[str, _Copy], str]:
        """The copied files, and who wrote the list."""
        listed = self._store.read_json(LIST)
        if listed is None:
            return {}, ""
        copies = {name: _Copy(**copy) for name, copy in listed["files"].items()}
        for copy in copies.values():
            copy.pieces = [(piece, size) for piece, size in copy.pieces]  # JSON has lists
        return copies, listed["writer"]

    def _in_use(self) -> list[Path]:
        """The files of the entries that were copied or restored before, or have been written since."""
        known = {name.split("/", 1)[0] for name in self._copies}
        chosen: list[Path] = []
        for entry in sorted(self._folder.glob("*")):
            files = [entry, *_below(entry)]
            if entry.name in known or any(_modified(path) >= self._since for path in files):
                chosen += files
        return chosen

    def _files(self, are_journals: bool) -> list[Path]:
        """The journals, or all other files."""
        files = [path for path in self._in_use() if (path.suffix == ".jsonl") == are_journals]
        return sorted(path for path in files if path.is_file() and not _is_transient(path.relative_to(self._folder)))

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._folder))

    def _copied(
        self, path: Path, is_ended: Callable[[], bool], after_piece: Callable[[], None] = lambda: None
    ) -> _Copy | None:
        """The copy of a file, with its new pieces in the store; None if the file is gone or the copy was given up."""
        name = self._name(path)
        before = self._copies.get(name, _Copy())
        try:
            status = path.stat()
            version = status.st_size, status.st_mtime_ns
            if version == (before.size, before.modified):
                return before
            with path.open("rb") as file:
                if (begun := self._begun.get(name)) is None or begun.version != version:
                    grown = before.pieces and status.st_size >= before.size
                    grown = grown and _tail(file, before.size) == before.tail_sha256
                    begin = before.large_part() if grown else _Copy()
                    begun = self._begun[name] = _Begun(version, _Copy(begin.size, pieces=list(begin.pieces)))
                copy = begun.copy
                file.seek(copy.size)
                while part := file.read(min(PIECE_BYTES, status.st_size - copy.size)):
                    if is_ended():
                        return None
                    piece = f"pieces/{uuid.uuid4().hex}"
                    self._written.add(piece)  # an error may come after it was written
                    self._store.write(piece, part)
                    copy.pieces.append((piece, len(part)))
                    copy.size += len(part)
                    after_piece()
                copy.modified, copy.tail_sha256 = status.st_mtime_ns, _tail(file, copy.size)
                return copy
        except FileNotFoundError:  # it was removed or renamed after it was listed
            return None


def _pieces(copies: dict[str, _Copy]) -> set[str]:
    return {piece for copy in copies.values() for piece, _ in copy.pieces}


def _below(folder: Path) -> list[Path]:
    """The files in a folder at any depth; none if it is renamed meanwhile."""
    try:
        return list(folder.rglob("*"))
    except FileNotFoundError:
        return []


def _tail(file: BinaryIO, size: int) -> str:
    """SHA-256 of the last bytes of the first `size` bytes of a file."""
    file.seek(max(0, size - TAIL_BYTES))
    return hashlib.sha256(file.read(min(size, TAIL_BYTES))).hexdigest()


def last_work(entry: Path) -> float:
    """When a stage last worked in an entry, in Unix seconds; 0 if that cannot be read."""
    spans = entry / SPANS
    try:
        return float(max(end for _, end in json.loads(spans.read_text())))
    except (OSError, TypeError, ValueError):
        return 0.0


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_transient(path: Path) -> bool:
    return path.name == "lock" or any(part == SERVED or part.endswith(".part") for part in path.parts)
