"""DVC sees the code: whatever a stage's results come from is among its `deps`, so that a change makes it stale."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flows import code_deps

ROOT = Path(__file__).resolve().parents[2]
DVC = (ROOT / "dvc.yaml").read_text()
STAGES = yaml.safe_load(DVC)["stages"]


def test_dvc_yaml_lists_the_code_that_stages_import():
    assert code_deps.rewrite(DVC) == DVC, "dvc.yaml lists other code than the stages import: run `make deps`"


def test_a_changed_import_changes_the_deps(tmp_path, monkeypatch):
    """`one` uses `two`, which names `page.js`, the script `child.py` and `prices.json`; no module uses `three`."""
    package = tmp_path / "components/work"
    package.mkdir(parents=True)
    (tmp_path / "components/stages").mkdir()
    (tmp_path / "components/stages/collect_tasks.py").write_text("from components.work.one import f\n")
    (package / "one.py").write_text("def f():\n    from components.work import two\n")
    (package / "two.py").write_text('FILES = \'page.js\', "child.py", "prices.json"\n')
    (package / "three.py").write_text("")
    for name in ("page.js", "child.py", "prices.json", "other.json"):
        (package / name).write_text("")
    (package / "other.js").write_text("")
    for name in ("four", "five"):
        (package / f"{name}.py").write_text("")
    monkeypatch.setattr(code_deps, "ROOT", tmp_path)
    assert code_deps.code_deps("collect_tasks") == [
        "components/stages/collect_tasks.py",
        "components/work/child.py",
        "components/work/one.py",
        "components/work/page.js",
        "components/work/prices.json",
        "components/work/two.py",
    ]


def test_only_the_deps_on_code_are_rewritten():
    text = DVC.replace("components/stages/curate_sft.py,", "components/nothing.py,")
    assert text != DVC
    assert code_deps.rewrite(text) == DVC


def test_every_stage_names_its_own_module():
    for name, stage in STAGES.items():
        assert f"components/stages/{name}.py" in (stage.get("do") or stage)["deps"]


@pytest.mark.slow
def test_check_says_what_to_run_and_changes_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "dvc.yaml").write_text(DVC.replace("components/stages/curate_sft.py,", "components/nothing.py,"))
    for folder in ("components", "flows"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    before = (tmp_path / "dvc.yaml").read_text()
    monkeypatch.setattr(code_deps, "ROOT", tmp_path)
    assert code_deps.main(["--check"]) == 1
    assert "make deps" in capsys.readouterr().err
    assert (tmp_path / "dvc.yaml").read_text() == before
    assert code_deps.main([]) == 0
    assert (tmp_path / "dvc.yaml").read_text() == DVC
