from __future__ import annotations

import pytest

from flows.placement.shared_store import SharedStore, StoreError


@pytest.fixture(params=["folder", "bucket"])
def store(request, tmp_path) -> SharedStore:
    return SharedStore(str(tmp_path / "store") if request.param == "folder" else request.getfixturevalue("bucket"))


def test_files_are_written_replaced_listed_and_removed(store):
    assert store.read("stages/train@short/owner") is None
    assert store.names() == []
    store.write("stages/train@short/owner", b"first")
    store.write("stages/train@short/owner", b"second")
    store.child("stages").child("train@short").write_json("beat.json", {"count": 3})
    assert store.read("stages/train@short/owner") == b"second"
    assert store.read_json("stages/train@short/beat.json") == {"count": 3}
    assert store.child("stages").names() == ["train@short/beat.json", "train@short/owner"]
    store.remove(["stages/train@short/owner", "stages/absent"])
    assert store.names() == ["stages/train@short/beat.json"]


def test_another_process_sees_what_was_written_since_it_looked(store):
    other = SharedStore(store.url)
    assert (other.names(), other.read("a")) == ([], None)
    store.write("a", b"1")
    assert (other.names(), other.read("a")) == (["a"], b"1")


def test_parts_of_a_bucket_share_its_connections(bucket):
    store = SharedStore(bucket)
    part = store.child("stages").child("train")
    assert part._files is store._files
    part.write("owner", b"first")
    assert (store.read("stages/train/owner"), part.url) == (b"first", f"{bucket}/stages/train")


def test_a_store_out_of_reach_or_of_an_unknown_kind_is_an_error(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreError, match=r"placement\.store: .*/file/owner: (NotADirectory|FileExists)Error"):
        SharedStore(str(tmp_path / "file")).write("owner", b"")
    with pytest.raises(StoreError, match=r"placement\.store = nothing://at/all: Protocol not known"):
        SharedStore("nothing://at/all")
