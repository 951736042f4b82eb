"""One pipeline at a time uses a store."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flows.crash_safe_dvc import StageFailed
from flows.placement import claim
from flows.placement.claim import StoreClaim
from flows.placement.shared_store import SharedStore

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from flows.placement.claim import StoreClaim
from flows.placement.shared_store import SharedStore
with StoreClaim(SharedStore(sys.argv[1]), Path(sys.argv[2])):
    print("claimed", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedStore:
    for clone in ("one", "two"):
        (tmp_path / clone).mkdir()
    monkeypatch.setattr(claim, "STALE_S", 5.0)
    return SharedStore(str(tmp_path / "store"))


def kill_one_that_holds(store: SharedStore, clone: Path) -> None:
    """A pipeline claims the store, and is killed."""
    command = [sys.executable, "-c", HOLDER, store.url, str(clone)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "claimed\n"
        holder.kill()


def test_a_second_pipeline_is_refused_while_the_first_lives(store, tmp_path):
    with StoreClaim(store, tmp_path / "one") as first:
        with pytest.raises(
            StageFailed, match=rf"another pipeline uses {store.url}: .*/one; end it or name another folder"
        ):
            StoreClaim(store, tmp_path / "two").__enter__()
        first.require()
    assert store.names() == []
    began = time.monotonic()
    with StoreClaim(store, tmp_path / "two"):
        assert time.monotonic() - began < claim.STALE_S, "it waits for a pipeline that has ended"


@pytest.mark.slow
def test_a_pipeline_that_was_killed_holds_other_clones_up_for_a_while(store, tmp_path):
    kill_one_that_holds(store, tmp_path / "one")
    began = time.monotonic()
    with StoreClaim(store, tmp_path / "two"):
        assert time.monotonic() - began >= claim.STALE_S


def test_a_pipeline_that_was_killed_is_followed_at_once_in_its_clone(store, tmp_path):
    kill_one_that_holds(store, tmp_path / "one")
    began = time.monotonic()
    with StoreClaim(store, tmp_path / "one"):
        assert time.monotonic() - began < claim.STALE_S


@pytest.mark.slow
def test_of_two_pipelines_that_begin_at_once_one_at_most_goes_on(store, tmp_path):
    def claimed(clone: str) -> bool:
        try:
            with StoreClaim(store, tmp_path / clone) as own:
                time.sleep(3)
                return own.rival is None
        except StageFailed:
            return False

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(claimed, ["one", "two"])) == [False, True]


def test_a_pipeline_whose_store_was_taken_meanwhile_goes_no_further(store, tmp_path):
    with StoreClaim(store, tmp_path / "one") as frozen:
        store.write_json(claim.FILE, {"token": "other", "count": 1, "host": "two", "clone": "/two", "pid": 7})
        ends = time.monotonic() + 20
        while frozen.rival is None and time.monotonic() < ends:
            time.sleep(0.05)
        with pytest.raises(StageFailed, match="process 7 on two in /two"):
            frozen.require()
    assert store.read_json(claim.FILE)["token"] == "other", "the claim of the other pipeline was removed"
