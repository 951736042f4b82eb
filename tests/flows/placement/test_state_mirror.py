from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.placement import state_mirror
from flows.placement.shared_store import SharedStore, StoreError
from flows.placement.state_mirror import StateMirror


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def restored(store: SharedStore, into: Path) -> dict[str, bytes]:
    StateMirror(into, store).restore()
    return content(into)


def pieces(store: SharedStore) -> set[str]:
    """The pieces that the list in the store names."""
    listed = store.read_json("files.json") or {"files": {}}
    return {piece for copy in listed["files"].values() for piece, _ in copy["pieces"]}


NAMES = st.sampled_from(["key/journal.jsonl", "key/checkpoints/1.pt", "key/run_id", "other/journal.jsonl"])
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.binary(max_size=40)),
        st.tuples(st.just("append"), NAMES, st.binary(min_size=1, max_size=40)),
        st.tuples(st.just("remove"), NAMES, st.just(b"")),
        st.tuples(st.just("copy"), st.just(""), st.just(b"")),
        st.tuples(st.just("another machine"), st.just(""), st.just(b"")),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(CHANGES)
def test_what_is_restored_is_what_was_last_copied(changes):
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_mirror, "PIECE_BYTES", 16)
        patch.setattr(state_mirror, "MAX_SMALL", 3)
        patch.setattr(state_mirror, "TAIL_BYTES", 8)
        folder, store = Path(root) / "state", SharedStore(f"{root}/store")
        mirror, copied = StateMirror(folder, store), {}
        for number, (kind, name, data) in enumerate(changes):
            path = folder / name
            if kind == "copy":
                mirror.copy()
                copied = content(folder)
            elif kind == "another machine":
                folder = Path(root) / f"state-{number}"
                mirror = StateMirror(folder, store)
                mirror.restore()
                assert content(folder) == copied
            elif kind == "remove":
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                before = path.read_bytes() if kind == "append" and path.exists() else b""
                path.write_bytes(before + data)
        assert restored(store, Path(root) / "last") == copied
        assert pieces(store) <= {*store.names()}
        mirror.clear()
        assert store.names() == []


def test_a_journal_that_grows_costs_only_its_new_lines(tmp_path, monkeypatch):
    store, written, write = SharedStore(str(tmp_path / "store")), [], SharedStore.write

    def noted(self: SharedStore, name: str, data: bytes) -> None:
        written.append((name, data))
        write(self, name, data)

    monkeypatch.setattr(SharedStore, "write", noted)
    journal = tmp_path / "state/key/journal.jsonl"
    journal.parent.mkdir(parents=True)
    mirror = StateMirror(tmp_path / "state", store)
    lines = [f"line {number}\n".encode() for number in range(6)]
    for line in lines:
        with journal.open("ab") as file:
            file.write(line)
        assert mirror.copy() == 1
        assert mirror.copy() == 0
    assert [data for name, data in written if name.startswith("pieces/")] == lines
    assert restored(store, tmp_path / "again") == {"key/journal.jsonl": b"".join(lines)}


def test_later_work_in_a_clone_is_not_replaced_by_an_earlier_copy(tmp_path):
    store, folder = SharedStore(str(tmp_path / "store")), tmp_path / "state"

    def at_work(entry: str, end: float, text: str) -> None:
        (folder / entry).mkdir(parents=True, exist_ok=True)
        (folder / entry / "spans.json").write_text(json.dumps([[0.0, 1.0], [2.0, end]]))
        (folder / entry / "checkpoint").write_text(text)

    for entry in ("further", "behind", "removed"):
        at_work(entry, 5.0, "copied")
    mirror = StateMirror(folder, store)
    mirror.copy()
    at_work("further", 9.0, "by hand")
    at_work("behind", 4.0, "by hand")
    shutil.rmtree(folder / "removed")
    mirror = StateMirror(folder, store)
    mirror.restore()
    kept = {entry: (folder / entry / "checkpoint").read_text() for entry in ("further", "behind", "removed")}
    assert kept == {"further": "by hand", "behind": "copied", "removed": "copied"}
    mirror.copy()
    assert restored(store, tmp_path / "again")["further/checkpoint"] == b"by hand"


def test_weights_for_servers_are_left_out_and_delay_no_checkpoint(tmp_path, monkeypatch):
    store, write = SharedStore(str(tmp_path / "store")), SharedStore.write
    folder = tmp_path / "state"
    mirror = StateMirror(folder, store)

    def replaced(self: SharedStore, name: str, data: bytes) -> None:
        write(self, name, data)
        for path in folder.glob("key/served/*"):  # the next policy opens while the copy is made
            shutil.rmtree(path)

    monkeypatch.setattr(SharedStore, "write", replaced)
    for iteration in range(1, 4):
        for name in (f"checkpoints/{iteration}.pt", f"served/{iteration}/model.safetensors"):
            (folder / "key" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "key" / name).write_bytes(b"weights %d" % iteration)
        mirror.copy()
        copied = restored(store, tmp_path / f"machine-{iteration}")
        assert sorted(copied) == [f"key/checkpoints/{number}.pt" for number in range(1, iteration + 1)]


def test_a_long_journal_of_small_additions_is_written_about_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(state_mirror, "PIECE_BYTES", 1000)
    store, written, write = SharedStore(str(tmp_path / "store")), [], SharedStore.write

    def noted(self: SharedStore, name: str, data: bytes) -> None:
        written.append(len(data) if name.startswith("pieces/") else 0)
        write(self, name, data)

    monkeypatch.setattr(SharedStore, "write", noted)
    journal = tmp_path / "state/key/journal.jsonl"
    mirror = StateMirror(tmp_path / "state", store)
    journal.parent.mkdir(parents=True)
    for number in range(400):
        with journal.open("a") as file:
            file.write(f"{number:019}\n")
        mirror.copy()
    assert sum(written) < 3 * journal.stat().st_size
    assert len(pieces(store)) < 8 + state_mirror.MAX_SMALL + 1
    assert restored(store, tmp_path / "again") == {"key/journal.jsonl": journal.read_bytes()}


def test_a_list_that_could_not_be_written_is_written_by_the_next_copy(tmp_path, monkeypatch):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    mirror, write_json = StateMirror(state, store), SharedStore.write_json
    (state / "key").mkdir(parents=True)
    (state / "key/run_id").write_text("first")

    def refuses(self: SharedStore, name: str, value: dict) -> None:
        raise StoreError("out of reach")

    monkeypatch.setattr(SharedStore, "write_json", refuses)
    with pytest.raises(StoreError):
        mirror.copy()
    monkeypatch.setattr(SharedStore, "write_json", write_json)
    assert mirror.copy() == 1
    assert restored(store, tmp_path / "other") == {"key/run_id": b"first"}


class Uploads:
    """The pieces that are written to a store. `at` are actions before the piece with a number is written."""

    def __init__(self, patch: pytest.MonkeyPatch, at: dict[int, Callable[[], None]]) -> None:
        self.sizes: list[int] = []
        write = SharedStore.write

        def noted(store: SharedStore, name: str, data: bytes) -> None:
            if name.startswith("pieces/"):
                self.sizes.append(len(data))
                at.get(len(self.sizes), lambda: None)()
            write(store, name, data)

        patch.setattr(SharedStore, "write", noted)
        patch.setattr(state_mirror, "PIECE_BYTES", 10)


def make_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def stored_pieces(store: SharedStore) -> set[str]:
    return {name for name in store.names() if name.startswith("pieces/")}


def out_of_reach() -> None:
    raise StoreError("out of reach")


def test_a_copy_that_an_error_ended_goes_on_where_it_stopped(tmp_path, monkeypatch):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    mirror, uploads = StateMirror(state, store), Uploads(monkeypatch, {4: out_of_reach})
    make_files(state, {"key/checkpoints/1.pt": bytes(range(55))})
    with pytest.raises(StoreError):
        mirror.copy()
    assert mirror.copy() == 1
    assert uploads.sizes == [10, 10, 10, 10, 10, 10, 5]  # the fourth twice
    assert restored(store, tmp_path / "other") == {"key/checkpoints/1.pt": bytes(range(55))}
    assert stored_pieces(store) == pieces(store)


def test_what_was_copied_of_a_file_that_changed_meanwhile_is_removed(tmp_path, monkeypatch):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    mirror = StateMirror(state, store)
    Uploads(monkeypatch, {4: out_of_reach})
    make_files(state, {"key/checkpoints/1.pt": bytes(55)})
    with pytest.raises(StoreError):
        mirror.copy()
    make_files(state, {"key/checkpoints/1.pt": b"another"})
    mirror.copy()
    assert restored(store, tmp_path / "other") == {"key/checkpoints/1.pt": b"another"}
    assert stored_pieces(store) == pieces(store)


def test_pieces_that_a_lost_machine_did_not_list_are_removed(tmp_path, monkeypatch):
    store, old, new = SharedStore(str(tmp_path / "store")), tmp_path / "old", tmp_path / "new"
    lost, kept = StateMirror(old, store), {"key/journal.jsonl": b"line\n"}
    make_files(old, kept)
    lost.copy()
    Uploads(monkeypatch, {4: out_of_reach})
    make_files(old, {"key/checkpoints/1.pt": bytes(55)})
    with pytest.raises(StoreError):
        lost.copy()
    successor = StateMirror(new, store)
    successor.restore()
    assert len(stored_pieces(store)) == 4
    successor.copy()
    assert stored_pieces(store) == pieces(store)
    assert restored(store, tmp_path / "third") == kept


def test_journals_do_not_wait_for_a_large_checkpoint(tmp_path, monkeypatch):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    seen: list[dict[str, bytes]] = []

    def look() -> None:
        seen.append(restored(store, tmp_path / f"other-{len(seen)}"))
        with (state / "key/journal.jsonl").open("ab") as file:
            file.write(b"next\n")

    mirror = StateMirror(state, store)
    Uploads(monkeypatch, {2: look, 4: look, 6: look})  # 1, 3 and 5 are the journal's
    make_files(state, {"key/checkpoints/1.pt": bytes(25), "key/journal.jsonl": b"line\n"})
    mirror.copy()
    assert [files.get("key/journal.jsonl") for files in seen] == [b"line\n", b"line\nnext\n", b"line\nnext\nnext\n"]
    assert content(state) == restored(store, tmp_path / "last")


def test_a_journal_stays_until_the_checkpoint_in_its_place_is_there(tmp_path, monkeypatch):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"

    def finish_the_second_iteration() -> None:
        make_files(state, {"key/checkpoints/2.pt": b"two", "key/episodes-3.jsonl": b"third\n"})
        (state / "key/episodes-2.jsonl").unlink()
        (state / "key/checkpoints/1.pt").unlink()

    mirror = StateMirror(state, store)
    Uploads(monkeypatch, {4: finish_the_second_iteration})
    make_files(state, {"key/checkpoints/1.pt": bytes(55), "key/episodes-2.jsonl": b"second\n"})
    mirror.copy()
    journals = {"key/episodes-2.jsonl": b"second\n", "key/episodes-3.jsonl": b"third\n"}
    assert restored(store, tmp_path / "meanwhile") == {"key/checkpoints/1.pt": bytes(55), **journals}
    mirror.copy()
    assert restored(store, tmp_path / "then") == content(state)
    assert "key/episodes-2.jsonl" not in content(state)


def test_a_machine_that_was_replaced_in_the_middle_of_a_copy_does_no_harm(tmp_path):
    """It has asked whether it may write, is frozen, and writes its list when another machine has gone on."""
    store, old, new = SharedStore(str(tmp_path / "store")), tmp_path / "old", tmp_path / "new"
    (old / "key").mkdir(parents=True)
    replaced = StateMirror(old, store)
    for text in ("a", "b", "c"):
        (old / "key/spans.json").write_text(text)
        (old / "key/journal.jsonl").write_text("line\n")
        replaced.copy()
    successor = StateMirror(new, store)
    successor.restore()
    (new / "key/journal.jsonl").write_text("line\nnext\n")
    successor.copy()
    (old / "key/spans.json").write_text("d")
    replaced.copy()
    assert pieces(store) <= {*store.names()}
    successor.copy()
    assert pieces(store) <= {*store.names()}
    wanted = {"key/spans.json": b"c", "key/journal.jsonl": b"line\nnext\n"}
    assert restored(store, tmp_path / "third") == wanted


def test_unfinished_files_locks_and_states_of_other_recipes_are_left_out(tmp_path):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    for name in ("old/journal.jsonl", "key/journal.jsonl", "key/lock", "key/.2.pt.77.part", "key/.model.part/a.bin"):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(name)
    os.utime(state / "old/journal.jsonl", (1, 1))
    os.utime(state / "old", (1, 1))
    mirror = StateMirror(state, store)
    (state / "key/journal.jsonl").write_text("written since")
    mirror.copy()
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mine").mkdir(parents=True)
    (elsewhere / "mine/journal.jsonl").write_text("of another recipe")
    kept = {"key/journal.jsonl": b"written since", "mine/journal.jsonl": b"of another recipe"}
    assert restored(store, elsewhere) == kept


def test_a_copy_that_is_no_longer_needed_leaves_nothing(tmp_path):
    store = SharedStore(str(tmp_path / "store"))
    mirror = StateMirror(tmp_path / "state", store)
    (tmp_path / "state/key").mkdir(parents=True)
    (tmp_path / "state/key/run_id").write_text("first")
    mirror.copy()
    StateMirror(tmp_path / "other", store).clear()
    assert store.names() == []
    assert restored(store, tmp_path / "other") == {}


def test_who_has_been_replaced_writes_nothing_and_a_lost_piece_is_an_error(tmp_path):
    store, state = SharedStore(str(tmp_path / "store")), tmp_path / "state"
    is_last = [True]
    mirror = StateMirror(state, store, lambda: is_last[0])
    (state / "key").mkdir(parents=True)
    (state / "key/run_id").write_text("first")
    mirror.copy()
    is_last[0] = False
    (state / "key/run_id").write_text("second")
    assert mirror.copy() == 0
    assert restored(store, tmp_path / "other") == {"key/run_id": b"first"}
    shutil.rmtree(tmp_path / "store/pieces")
    with pytest.raises(StoreError, match="is missing: another machine writes"):
        StateMirror(state, store).restore()
    assert (state / "key/run_id").read_text() == "second"
