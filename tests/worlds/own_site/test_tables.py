"""The rows that differ between two databases, against a comparison row by row in Python."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.records import RowChange
from components.worlds.effects import Changed
from components.worlds.own_site import tables
from components.worlds.own_site.site_file import OwnSiteError
from components.worlds.own_site.tables import Snapshot, copy_of, differences, file_rows, overwrite, query

VALUES = st.one_of(
    st.none(), st.sampled_from(["", "a", "A", "a ", "é", "É", "1", "1.0", "it's", '"']), st.integers(-2, 2)
)
ROWS = st.dictionaries(st.integers(1, 6), st.tuples(VALUES, VALUES), max_size=6)
KINDS = ["", "COLLATE NOCASE", "COLLATE RTRIM", "TEXT", "TEXT COLLATE NOCASE", "INTEGER"]


def database(script: str, rows: dict | None = None) -> bytes:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(script)
        for key, row in (rows or {}).items():
            made.execute("INSERT INTO item VALUES (?, ?, ?)", (key, *row))
        made.commit()
        return made.serialize()


def stored(content: bytes) -> dict[str, dict[str, str | None]]:
    """The rows as SQLite keeps them, which converts values to the column's type."""
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.deserialize(content)
        rows = opened.execute('SELECT id, name, "of ""two""" FROM item').fetchall()
    shown = [tuple(None if value is None else str(value) for value in row) for row in rows]
    return {str(row[0]): dict(zip(("id", "name", 'of "two"'), row, strict=True)) for row in shown}


def changed(before: bytes, after: bytes, **options: object) -> list[RowChange]:
    return differences(Snapshot({"app.db": before}), Snapshot({"app.db": after}), **options)


@given(before=ROWS, after=ROWS, kind=st.sampled_from(KINDS), is_keyed=st.booleans())
def test_exactly_the_rows_that_differ_are_found(before, after, kind, is_keyed):
    key = "id INTEGER PRIMARY KEY" if is_keyed else "id INTEGER"
    script = f'CREATE TABLE item ({key}, name {kind}, "of ""two""" {kind})'
    old, new = database(script, dict(sorted(before.items()))), database(script, dict(sorted(after.items())))
    found = changed(old, new, keys={"item": ["id"]})
    rows = stored(old), stored(new)
    expected = {key: (rows[0].get(key), rows[1].get(key)) for key in {*rows[0], *rows[1]}}
    assert {change.key: (change.before, change.after) for change in found} == {
        key: pair for key, pair in expected.items() if pair[0] != pair[1]
    }


def test_a_change_of_case_in_a_key_without_case_is_a_change():
    script = "CREATE TABLE item (id TEXT PRIMARY KEY COLLATE NOCASE, a, b) WITHOUT ROWID"
    found = changed(database(script, {"ann": (1, 2)}), database(script, {"Ann": (1, 2)}))
    assert [(change.key, change.before is None) for change in found] == [("Ann", True), ("ann", False)]


LINES = "CREATE TABLE line (id INTEGER PRIMARY KEY, product TEXT, number INTEGER); INSERT INTO line VALUES {}"


def lines(*rows: str) -> bytes:
    return database(LINES.format(", ".join(rows)))


def test_rows_with_a_key_in_common_are_changes_of_their_own():
    before = lines("(1, 'lamp', 1)")
    after = lines("(1, 'lamp', 1)", "(2, 'cup', 1)", "(3, 'cup', 1)", "(4, 'cup', 2)")
    options = {"keys": {"line": ["product"]}, "noise": ["line.id"]}
    assert [(change.key, change.before, change.after["number"]) for change in changed(before, after, **options)] == [
        ("cup", None, "1"), ("cup", None, "1"), ("cup", None, "2")
    ]  # fmt: skip
    later = lines("(7, 'cup', 2)", "(8, 'cup', 1)", "(9, 'lamp', 5)", "(10, 'cup', 1)")
    (lamp,) = changed(after, later, **options)
    assert (lamp.key, lamp.before["number"], lamp.after["number"]) == ("lamp", "1", "5")


def test_equal_rows_count_as_often_as_they_occur():
    script = "CREATE TABLE item (name TEXT, tag TEXT); INSERT INTO item VALUES {}"
    before = database(script.format("('cup', 'a')"))
    after = database(script.format("('cup', 'a'), ('cup', 'a'), ('cup', 'a')"))
    found = changed(before, after, keys={"item": ["name"]})
    assert [(change.before, change.after) for change in found] == [(None, {"name": "cup", "tag": "a"})] * 2


def test_a_key_that_is_no_column_is_named():
    content = lines("(1, 'lamp', 1)")
    with pytest.raises(OwnSiteError, match=r"line: produkt is no column of the table, which has id, product"):
        changed(content, content, keys={"line": ["produkt"]})


def test_a_database_with_a_write_ahead_log_is_compared_and_overwritten(tmp_path):
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode=WAL")
        opened.executescript(LINES.format("(1, 'lamp', 1)"))
        before = copy_of(path)
        opened.execute("UPDATE line SET number = 2")
        opened.commit()
        found = changed(before, copy_of(path))
        assert [(change.before["number"], change.after["number"]) for change in found] == [("1", "2")]
        assert query(before, "SELECT number FROM line", {}) == [{"number": 1}]
        overwrite(path, before)
        assert opened.execute("SELECT number FROM line").fetchall() == [(1,)]


@pytest.mark.parametrize("name", ["C#x", "50%25 off", "a?b"])
def test_a_database_is_found_in_a_folder_of_any_name(tmp_path, name):
    (tmp_path / name).mkdir()
    path = tmp_path / name / "a.db"
    content = database("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one')")
    path.write_bytes(content)
    assert stored(copy_of(path)) == stored(content)
    assert [*tmp_path.iterdir()] == [tmp_path / name]


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM line"])
def test_a_database_that_stays_locked_is_an_error(tmp_path, monkeypatch, lock):
    monkeypatch.setattr(tables, "LOCKED_S", 0.2)
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(LINES.format("(1, 'lamp', 1)"))
    before = copy_of(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        for statement in lock.split("; "):
            opened.execute(statement).fetchall()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            overwrite(path, before)


def test_names_with_quotes_are_names():
    def one(value: int) -> bytes:
        return database(
            f'CREATE TABLE item (a, b, c); CREATE TABLE "say ""hi""" (n); INSERT INTO "say ""hi""" VALUES ({value})'
        )

    (change,) = changed(one(1), one(2))
    assert (change.table, change.before, change.after) == ('say "hi"', {"n": "1"}, {"n": "2"})


def test_a_table_that_an_episode_creates_or_removes_changes_its_rows():
    empty = "CREATE TABLE item (id INTEGER PRIMARY KEY, name, b)"
    more = f"{empty}; CREATE TABLE note (id INTEGER PRIMARY KEY, text); INSERT INTO note VALUES (1, 'x')"
    (added,) = changed(database(empty), database(more))
    assert (added.table, added.before, added.after) == ("note", None, {"id": "1", "text": "x"})
    (removed,) = changed(database(more), database(empty))
    assert (removed.table, removed.before, removed.after) == ("note", {"id": "1", "text": "x"}, None)


@pytest.mark.parametrize("noise", ["item.name", "it*.name"])
def test_columns_of_noise_do_not_count(noise):
    script = "CREATE TABLE item (id INTEGER PRIMARY KEY, name, b)"
    before, after = database(script, {1: ("x", 1), 2: ("x", 1)}), database(script, {1: ("y", 1), 2: ("y", 2)})
    (change,) = changed(before, after, noise=[noise])
    assert (change.key, change.before, change.after) == ("2", {"id": "2", "b": "1"}, {"id": "2", "b": "2"})


def test_a_file_that_vanishes_while_files_are_read_is_no_row(tmp_path, monkeypatch):
    for name in ("a.txt", "b.tmp"):
        (tmp_path / name).write_text(name)
    read = type(tmp_path).read_bytes

    def gone(path):
        if path.suffix == ".tmp":
            path.unlink()
        return read(path)

    monkeypatch.setattr(type(tmp_path), "read_bytes", gone)
    assert file_rows(tmp_path, ["*"]) == {"a.txt": {"path": "a.txt", "text": "a.txt"}}


def test_a_change_of_files_says_which_file(tmp_path):
    """An effect can then ask for the file, `where: {path: notes/a.txt}`."""
    (tmp_path / "notes").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "notes" / name).write_text("old")
    before = file_rows(tmp_path, ["notes/*.txt"])
    (tmp_path / "notes/a.txt").write_text("new")
    after = file_rows(tmp_path, ["notes/*.txt"])
    (change,) = differences(Snapshot({}, {"files": before}), Snapshot({}, {"files": after}))
    assert Changed("files", {"path": "notes/a.txt"}, {"text": "new"}).matches(change)
    assert not Changed("files", {"path": "notes/b.txt"}, {"text": "new"}).matches(change)
