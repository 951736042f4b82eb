"""`waymark --version`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from components.cli import version
from components.cli.main import main

ROOT = Path(__file__).parents[2]


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_version_names_the_commit_of_the_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    name, number, word, commit, *_ = printed(capsys).split()
    assert (name, word) == ("waymark", "commit")
    assert number.removesuffix(",").startswith(("0.", "1."))
    assert head.startswith(commit.removesuffix(","))


def test_changes_since_the_commit_are_said(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(version, "ROOT", tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    assert "commit" not in printed(capsys), "no checkout"
    (tmp_path / "file").write_text("one")
    for arguments in (["init", "-q"], ["add", "file"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    assert "changed since" not in printed(capsys)
    (tmp_path / "file").write_text("two")
    assert "changed since" in printed(capsys)
