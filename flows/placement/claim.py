"""One pipeline at a time uses a store: `pipeline.json` says which, and counts up while it lives.

Clocks of machines differ, so a file is fresh if its count changes while one looks. A pipeline that was killed leaves
its file, and the next one waits until it is stale, `STALE_S` seconds. In the same clone it need not wait: it knows the
token of the one before, which has ended, because a pipeline holds the clone's lock (`flows.clone_lock`).
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from flows import process
from flows.crash_safe_dvc import StageFailed
from flows.placement.shared_store import SharedStore, StoreError

FILE = "pipeline.json"
"""In the store."""
FORMER = Path(".waymark/store_claim")
"""In the clone: the token of the last pipeline that claimed a store."""
BEAT_S = 5.0
STALE_S = 60.0
SETTLE_S = 2.0
"""Two pipelines that begin at once see each other's file after this time, at the latest."""


class StoreClaim:
    """The claim of this pipeline to a store, as a context. The pipeline must hold the clone's lock."""

    def __init__(self, store: SharedStore, root: Path) -> None:
        self._store, self._root = store, root
        self._token = uuid.uuid4().hex
        self._count = 0
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self.rival: str | None = None
        """Which pipeline has taken the store, because this one could not write to it for `STALE_S` seconds."""

    def __enter__(self) -> StoreClaim:
        """Claim the store.

        Raises:
            StageFailed: another pipeline uses it.
            StoreError: it cannot be read or written.
            process.Stopped: the flow was stopped meanwhile.
        """
        path = self._root / FORMER
        path.parent.mkdir(exist_ok=True)
        self._wait_until_stale(path.read_text() if path.exists() else "")
        path.write_text(self._token)
        self._write()
        self._settle()
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._beating.join()
        with contextlib.suppress(StoreError):
            if self._owner().get("token") == self._token:
                self._store.remove([FILE])

    def require(self) -> None:
        """Refuse to go on without the store.

        Raises:
            StageFailed: another pipeline has taken it.
        """
        if self.rival is not None:
            raise StageFailed(self.rival)

    def _wait_until_stale(self, former: str) -> None:
        seen = self._owner()
        ends = time.monotonic() + STALE_S
        if seen and seen.get("token") != former:
            print(f"{self._store.url}/{FILE} names {_name(seen)}: waits up to {STALE_S:.0f} s to see whether it lives")
            while time.monotonic() < ends:
                _sleep(min(1.0, STALE_S / 10))
                now = self._owner()
                if not now:
                    return
                if now != seen:
                    raise StageFailed(self._refusal(now))

    def _settle(self) -> None:
        ends = time.monotonic() + min(SETTLE_S, STALE_S / 10)
        while time.monotonic() < ends:
            _sleep(0.1)
        if (owner := self._owner()).get("token") != self._token:
            raise StageFailed(self._refusal(owner))

    def _beat(self) -> None:
        while not self._ended.wait(min(BEAT_S, STALE_S / 10)):
            with contextlib.suppress(StoreError):  # the next beat tries again
                owner = self._owner()
                if owner and owner.get("token") != self._token:
                    self.rival = self._refusal(owner)
                    return
                self._write()

    def _write(self) -> None:
        self._count += 1
        place = {"host": platform.node(), "clone": str(self._root.resolve()), "pid": os.getpid()}
        self._store.write_json(FILE, {"token": self._token, "count": self._count, **place})

    def _owner(self) -> dict[str, Any]:
        return self._store.read_json(FILE) or {}

    def _refusal(self, owner: dict[str, Any]) -> str:
        return (
            f"another pipeline uses {self._store.url}: {_name(owner)}; end it or name another folder in placement.store"
        )


def _name(owner: dict[str, Any]) -> str:
    return f"process {owner.get('pid')} on {owner.get('host')} in {owner.get('clone')}"


def _sleep(seconds: float) -> None:
    if process.stopping():
        raise process.Stopped("the flow was stopped")
    time.sleep(seconds)
