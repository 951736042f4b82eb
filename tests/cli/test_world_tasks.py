"""`waymark world tasks`: the tasks of a world as a task file."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.cli.main import main
from components.tasks import load_files

KEYS = "{train: [click-button], train_per_family: 2, heldout: [click-link], heldout_per_family: 1, eval_per_family: 1}"


def test_the_tasks_of_a_section_are_read_back_from_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "tasks.jsonl"
    assert main(["world", "tasks", "miniwob", str(file), "--keys", KEYS, "--viewport", "160", "210"]) == 0
    assert "4 tasks (2 train, 1 eval, 1 heldout)" in capsys.readouterr().out
    loaded = load_files([file])
    assert not loaded.rejections
    assert [(task.split, task.website) for task in loaded.tasks] == [
        ("train", "miniwob/click-button"),
        ("train", "miniwob/click-button"),
        ("eval", "miniwob/click-button"),
        ("heldout", "miniwob/click-link"),
    ]
    assert len({task.task_id for task in loaded.tasks}) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["miniwob", "tasks.jsonl"], "miniwob makes no task: say with --keys which"),
        (["miniwob", "tasks.csv"], "tasks.csv: the file is in JSONL; give it a name that ends in .jsonl"),
        (["miniwob", "tasks.jsonl", "--keys", "{train_per_site: 3}"], "train_per_site = 3: unknown field"),
        (["miniwob", "tasks.jsonl", "--keys", "{train: [click-button"], "not YAML"),
        (["encyclopaedia", "tasks.jsonl", "--keys", "{kinds: [capitl], train: 9}"], "no questions of kind 'capitl'"),
        (
            ["encyclopaedia", "tasks.jsonl", "--keys", "{kinds: [symbol], train: 999}"],
            "lower worlds.encyclopaedia.train",
        ),
        (["no_such_world", "tasks.jsonl"], "no_such_world"),
    ],
)
def test_what_makes_no_file_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["world", "tasks", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
