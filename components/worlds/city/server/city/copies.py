"""Copies of the image: each has its own database, media files, cache, clock and randomness.

A copy's database is a SQLite database in memory, made from the image's bytes. While a copy is bound, Django's default
connection in this thread is the copy's. One request at a time is served in a process: SQLite and Django hold the
interpreter's lock for nearly all of it anyway, and so the clock and the randomness, which belong to the whole process,
can be the copy's for as long as it is bound. More cores are used by more processes.

A snapshot keeps its database as blocks (`blocks`), of which it shares all with the seed's data that the episode has not
changed. So one that is made when its episode begins takes little memory.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

import time_machine
from django.db import connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from city import entropy, variation
from city.blocks import Blocks, join, split
from city.modifiers import checked, load

START = dt.datetime(2026, 3, 16, 9, 0, tzinfo=dt.UTC)
"""The time at which every episode begins, a Monday."""
TICK = dt.timedelta(minutes=1)
"""How far the clock moves at each request that changes data."""
VARIED = 16
"""The data of so many seeds are kept, each at most four megabytes."""

_CURRENT: ContextVar[Copy] = ContextVar("copy")
_LOCK = threading.RLock()


class UnboundError(RuntimeError):
    """Code that needs a copy ran outside of every request."""


class UnknownCopyError(KeyError):
    """No copy or snapshot has this key."""


@dataclass
class Copy:
    """One episode's data."""

    database: DatabaseWrapper
    seed: int
    modifiers: tuple[str, ...] = ()
    """What makes this copy another day of the same sites, such as a cookie banner."""
    origin: Blocks = ()
    """The data that the copy was made from."""
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    """The secret that opens the copy, 128 bits: who does not know it reaches no copy."""
    media: dict[str, bytes] = field(default_factory=dict)
    """Files that were saved in this copy, by name; they hide the image's."""
    cache: dict[str, object] = field(default_factory=dict)
    now: dt.datetime = START
    writes: int = 0
    """Number of requests that changed data."""
    counts: Counter[str] = field(default_factory=Counter)
    """What modifiers have counted, by their names."""
    opened: set[str] = field(default_factory=set)
    """The addresses of the pages that were shown, as `host/path`, or `404 host/path` if it is not there."""
    is_dropped: bool = False
    """The episode has ended, and another copy may have the database."""

    @property
    def connection(self):
        """The raw connection."""
        self.database.ensure_connection()
        return self.database.connection

    @contextlib.contextmanager
    def bound(self, purpose: str) -> Iterator[None]:
        """Make this copy the one that Django's code sees in this thread, with its clock and its randomness.

        Args:
            purpose: what runs, such as a request's method and path. Equal purposes after equal writes get equal random
                numbers, so a page that is read twice has equal bytes.

        Raises:
            UnknownCopyError: the copy was dropped, maybe while the caller waited for its turn.
        """
        from django.contrib.sites.models import Site  # models can be imported once all applications are loaded

        with _LOCK:
            if self.is_dropped:
                raise UnknownCopyError("this copy was dropped")
            token = _CURRENT.set(self)
            connections["default"] = self.database
            changes = self.connection.total_changes
            Site.objects.clear_cache()  # a global of Django, in which another copy's sites would stay
            try:
                with (
                    time_machine.travel(self.now, tick=False),
                    entropy.seeded(f"{self.seed}:{self.writes}:{purpose}"),
                ):
                    yield
            finally:
                if self.connection.total_changes != changes:
                    self.writes += 1
                    self.now += TICK
                del connections["default"]
                _CURRENT.reset(token)


def current() -> Copy:
    """The copy that is bound in this context.

    Raises:
        UnboundError: no copy is bound.
    """
    try:
        return _CURRENT.get()
    except LookupError:
        raise UnboundError("no copy of the city is bound here") from None


def open_database(image: bytes | None) -> DatabaseWrapper:
    """A database in memory with the content of an image; empty without one."""
    wrapper = DatabaseWrapper({**connections.settings["default"], "NAME": ":memory:"}, "default")
    wrapper.inc_thread_sharing()
    wrapper.connect()
    if image is not None:
        wrapper.connection.deserialize(image)
    return wrapper


@dataclass(frozen=True)
class Snapshot:
    """The data of a copy at one moment."""

    database: Blocks
    media: dict[str, bytes]
    cache: dict[str, object]
    seed: int
    modifiers: tuple[str, ...]
    now: dt.datetime
    writes: int
    counts: Mapping[str, int] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()


class Copies:
    """All copies of one process.

    Args:
        image: the bytes of the built database.
    """

    def __init__(self, image: bytes) -> None:
        self._image = split(image)
        self._copies: dict[str, Copy] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._closed: list[DatabaseWrapper] = []
        self._varied: OrderedDict[int, Blocks] = OrderedDict()
        variation.modules()  # imported now, not when the first episode waits for them

    def count(self) -> tuple[int, int]:
        """The numbers of copies and of snapshots."""
        return len(self._copies), len(self._snapshots)

    def find(self, key: str) -> Copy:
        """The copy of a key.

        Raises:
            UnknownCopyError: there is none.
        """
        copy = self._copies.get(key)
        if copy is None:
            raise UnknownCopyError("no copy has this key")
        return copy

    def reset(self, seed: int, modifiers: Sequence[str] = ()) -> Copy:
        """A fresh copy with the data of a seed and these modifiers; the data of seed 0 are the image's.

        Raises:
            UnknownModifierError: there is no modifier of a name.
        """
        names = checked(modifiers)
        with _LOCK:
            copy = self._add(Snapshot(self._data(seed), {}, {}, seed, names, START, 0))
            if names:
                with copy.bound("modifiers"):
                    for modifier in load(names, seed):
                        modifier.patch()
                copy.writes, copy.now = 0, START
            return copy

    def snapshot(self, key: str) -> str:
        """Keep a copy's present data; returns the snapshot's key."""
        with _LOCK:
            copy = self.find(key)
            name = secrets.token_hex(16)
            self._snapshots[name] = Snapshot(
                split(bytes(copy.connection.serialize()), copy.origin),
                dict(copy.media),
                dict(copy.cache),
                copy.seed,
                copy.modifiers,
                copy.now,
                copy.writes,
                dict(copy.counts),
                frozenset(copy.opened),
            )
            return name

    def fork(self, key: str) -> Copy:
        """A new copy with the data of a copy or of a snapshot.

        Raises:
            UnknownCopyError: there is neither.
        """
        with _LOCK:
            if key in self._snapshots:
                return self._add(self._snapshots[key])
            name = self.snapshot(key)
            return self._add(self._snapshots.pop(name))

    def drop(self, key: str) -> None:
        """Forget a copy or a snapshot.

        Raises:
            UnknownCopyError: there is neither.
        """
        with _LOCK:
            if self._snapshots.pop(key, None) is None:
                copy = self.find(key)
                copy.is_dropped = True
                self._closed.append(copy.database)
                del self._copies[key]

    def database(self, key: str) -> bytes:
        """The database of a copy or a snapshot as bytes.

        Raises:
            UnknownCopyError: there is neither.
        """
        with _LOCK:
            if key in self._snapshots:
                return join(self._snapshots[key].database)
            return bytes(self.find(key).connection.serialize())

    def _data(self, seed: int) -> Blocks:
        """The database of a seed, which is kept, because the attempts of a task begin with the same seed."""
        if seed == 0:
            return self._image
        if seed not in self._varied:
            copy = Copy(self._open(self._image), seed, origin=self._image)
            with copy.bound("vary"):
                variation.vary(seed)
            self._varied[seed] = split(bytes(copy.connection.serialize()), self._image)
            self._closed.append(copy.database)
            if len(self._varied) > VARIED:
                self._varied.popitem(last=False)
        self._varied.move_to_end(seed)
        return self._varied[seed]

    def _open(self, data: Blocks) -> DatabaseWrapper:
        # a connection that served a copy keeps Django's functions and its page cache: making one costs six milliseconds
        if not self._closed:
            return open_database(join(data))
        database = self._closed.pop()
        database.connection.deserialize(join(data))
        return database

    def _add(self, snapshot: Snapshot) -> Copy:
        copy = Copy(
            self._open(snapshot.database),
            snapshot.seed,
            snapshot.modifiers,
            origin=snapshot.database,
            media=dict(snapshot.media),
            cache=dict(snapshot.cache),
            now=snapshot.now,
            writes=snapshot.writes,
            counts=Counter(snapshot.counts),
            opened={*snapshot.opened},
        )
        self._copies[copy.key] = copy
        return copy
