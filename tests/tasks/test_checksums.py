"""The `.dvc` files of public task sets, as a user meets them: DVC's own command, a server on loopback."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.params import TaskFile
from components.tasks.checksums import (
    ChangedSet,
    MissingSet,
    imported_files,
    read_import,
    require_pinned,
    require_sets,
)
from tests.loopback import Loopback

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT.parent / "shared" / "data"
SHIPPED = ROOT / "data" / "benchmarks"
FROM_PACKAGES = {"/visualwebarena_910.raw.json", "/webarena-verified.json"}
"""Sets that are copied out of a Python package, with their checksums in the recipes of their benchmarks."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Not in the tests' output."""


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which it is served."""
    folder = tmp_path / "origin"
    folder.mkdir()
    server = Loopback(partial(_Quiet, directory=str(folder)))
    yield folder, server.origin
    server.close()


def dvc(project: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "dvc", *arguments], cwd=project, check=True, capture_output=True, timeout=120)


def test_every_shipped_set_names_its_public_origin_and_is_ignored_by_git() -> None:
    found = imported_files(SHIPPED)
    assert len(found) == 10
    assert all(pin.url.startswith("https://raw.githubusercontent.com/") for pin in found)
    ignored = set((SHIPPED / ".gitignore").read_text().splitlines())
    assert ignored == {f"/{pin.file.name}" for pin in found} | FROM_PACKAGES


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published benchmark files are not here")
def test_pinned_checksums_are_those_of_the_published_files() -> None:
    for pin in imported_files(SHIPPED):
        data = (PUBLISHED / pin.file.name).read_bytes()
        held = yaml.safe_load((SHIPPED / f"{pin.file.name}.dvc").read_text())
        md5 = hashlib.md5(data).hexdigest()
        assert (pin.md5, pin.size, held["outs"][0]["md5"]) == (md5, len(data), md5)


@pytest.mark.slow
def test_dvc_update_fetches_a_set_and_a_change_at_its_origin_is_noticed(
    tmp_path: Path, origin: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served, address = origin
    published = b'{"web_name": "A", "id": "A--0", "ques": "Find a fern.", "web": "https://a.example/"}\n'
    (served / "WebVoyager_data.jsonl").write_bytes(published)
    project = tmp_path / "project"
    folder = project / "data" / "benchmarks"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    dvc(project, "init", "-q")
    shipped = yaml.safe_load((SHIPPED / "webvoyager_643.jsonl.dvc").read_text())
    shipped["deps"][0]["path"] = f"{address}/WebVoyager_data.jsonl"
    shipped["outs"][0]["size"] = len(published)
    shipped["outs"][0]["md5"] = shipped["meta"]["md5"] = hashlib.md5(published).hexdigest()
    beside = folder / "webvoyager_643.jsonl.dvc"
    beside.write_text(yaml.safe_dump(shipped, sort_keys=False))
    file = folder / "webvoyager_643.jsonl"
    monkeypatch.chdir(project)
    assert main.main(["tasks", "sets"]) == 0
    assert "missing" in capsys.readouterr().out

    dvc(project, "update", str(beside))
    assert file.read_bytes() == published
    assert main.main(["tasks", "sets"]) == 0
    assert "pinned" in capsys.readouterr().out
    require_pinned([file])

    (served / "WebVoyager_data.jsonl").write_bytes(published.replace(b"fern", b"big moss"))
    dvc(project, "update", str(beside))
    assert b"moss" in file.read_bytes()
    assert yaml.safe_load(beside.read_text())["outs"][0]["md5"] != read_import(beside).md5
    assert main.main(["tasks", "sets"]) == 1
    assert "changed" in capsys.readouterr().out
    with pytest.raises(ChangedSet, match="waymark tasks diff"):
        require_pinned([file])


def test_a_file_without_a_checksum_is_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text("{}")
    require_pinned([tmp_path / "own.jsonl", tmp_path / "nowhere.jsonl"])
    (tmp_path / "own.jsonl.dvc").write_text("outs:\n- md5: 00\n  path: own.jsonl\n")
    require_pinned([tmp_path / "own.jsonl"])
    with pytest.raises(ValueError, match="is not a DVC import"):
        read_import(tmp_path / "own.jsonl.dvc")


def test_a_missing_set_to_evaluate_on_is_refused_with_the_way_to_get_it(tmp_path: Path) -> None:
    there, pinned, other = (tmp_path / name for name in ("there.jsonl", "pinned.jsonl", "other.json"))
    there.touch()
    pinned.with_name("pinned.jsonl.dvc").touch()
    require_sets([TaskFile(path=str(there)), TaskFile(path=str(pinned), split="train")])
    with pytest.raises(
        MissingSet, match=r"pinned\.jsonl of tasks\.files is missing.*: `dvc update .*/pinned\.jsonl\.dvc`"
    ):
        require_sets([TaskFile(path=str(pinned))])
    with pytest.raises(MissingSet, match=r"other\.json .*: copy it there, or remove the entry.*`split: train`"):
        require_sets([TaskFile(path=str(there), answers=str(other), split="heldout")])
