"""A stage's state: unfinished work goes on, finished work of other code is forgotten, other inputs start anew."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import pytest
import yaml

from components import store
from components.params import complete, load
from components.pipeline import stage_code, stage_run
from components.pipeline.stage_run import RecipeChanged, StageBusy, reopen, stage
from components.store import read_json
from components.worlds import worlds_of
from tests.samples import shipped

RECIPE = Path(__file__).parents[2] / "recipes/smoke.yaml"


@pytest.fixture(autouse=True)
def project(tmp_path, mlflow_database, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(complete(RECIPE))
    Path("input").write_text("one")
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: {"components/work.py": Path("work.py")})
    Path("work.py").write_text("this code")


def work(fail: bool = False, occasion: str = "", adds: bool = False, name: str = "worker") -> list[str]:
    """A stage that adds a line to its state each time it runs; returns the lines there are."""
    with stage(name, inputs=[Path("input")], occasion=occasion) as run:
        if adds:
            reopen(run.state)
        notes = run.state / "notes"
        notes.write_text((notes.read_text() if notes.exists() else "") + "line\n")
        if fail:
            raise RuntimeError("cut short")
        run.result({"lines": notes.read_text().count("\n")})
    return notes.read_text().split()


def cut_short(name: str = "worker") -> None:
    with pytest.raises(RuntimeError, match="cut short"):
        work(fail=True, name=name)


@pytest.mark.slow
def test_partial_work_continues_even_with_other_code():
    cut_short()
    Path("work.py").write_text("mended code")
    assert len(work()) == 2


def test_finished_work_is_kept_for_the_same_code_and_dropped_otherwise():
    assert len(work()) == 1
    assert len(work()) == 2
    Path("work.py").write_text("other code")
    assert len(work()) == 1


def test_a_stage_that_begins_anew_after_its_end_counts_its_own_time_alone():
    def spans(keeps_work: bool, fail: bool = False) -> int:
        with contextlib.suppress(RuntimeError), stage("trained", [Path("input")], keeps_work=keeps_work) as run:
            if fail:
                raise RuntimeError("cut short")
        return len(read_json(run.state / "spans.json"))

    assert [spans(False, fail=True), spans(False), spans(False)] == [1, 2, 1]
    assert spans(True) == 2


def test_finished_work_is_kept_by_a_command_that_loads_other_files(monkeypatch):
    assert len(work()) == 1
    Path("more.py").write_text("loaded by another command")
    files = {"components/work.py": Path("work.py"), "components/more.py": Path("more.py")}
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: files)
    assert len(work()) == 2
    Path("work.py").write_text("other code")
    assert len(work()) == 1


def test_finished_work_whose_deletion_was_cut_short_is_not_taken_up(monkeypatch):
    assert len(work()) == 1
    Path("work.py").write_text("other code")

    def killed(path: Path, missing_ok: bool = False) -> None:
        os.unlink(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            work()
    assert len(work()) == 1


def test_work_that_is_added_to_finished_work_goes_on_with_other_code():
    assert len(work()) == 1
    with pytest.raises(RuntimeError, match="cut short"):
        work(fail=True, adds=True)
    Path("work.py").write_text("mended code")
    assert len(work()) == 3


def test_other_inputs_parameters_or_occasions_start_new_work():
    cut_short()
    Path("input").write_text("two")
    assert len(work()) == 1
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("seed: 0", "seed: 5"))
    assert len(work()) == 1
    assert len(work(occasion="tonight")) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("experiment: waymark", "experiment: other"),
        ("min_positive: 0.0", "min_positive: 0.01"),
        ("max_aborted: 0.1", "max_aborted: 0.2"),
        ("bootstrap: 1000", "bootstrap: 2000"),
        ("promotion_min_tasks: 10", "promotion_min_tasks: 5"),
    ],
)
def test_where_figures_go_and_what_only_judges_change_no_work(old, new):
    cut_short()
    text = Path("params.yaml").read_text()
    assert old in text
    Path("params.yaml").write_text(text.replace(old, new))
    assert len(work()) == 2


@pytest.mark.parametrize(("old", "new"), [("seed: 0", "seed: 5"), ("name: smoke", "name: other")])
def test_a_key_that_dvc_yaml_does_not_name_for_a_stage_changes_no_work(old, new):
    Path("dvc.yaml").write_text("stages: {worker: {cmd: x, params: [rl.short]}, frozen: {cmd: x}}")
    cut_short()
    text = Path("params.yaml").read_text()
    assert old in text
    Path("params.yaml").write_text(text.replace(old, new))
    assert len(work()) == 2
    Path("params.yaml").write_text(text.replace("max_steps: 3", "max_steps: 5"))
    assert len(work()) == 1, "a key that dvc.yaml names"


def test_the_keys_of_a_variant_are_its_own():
    Path("dvc.yaml").write_text('stages: {worker: {foreach: [short, long], do: {cmd: x, params: ["rl.${key}"]}}}')
    cut_short("worker@short")
    text = Path("params.yaml").read_text()
    Path("params.yaml").write_text(text.replace("max_steps: 3", "max_steps: 5"))
    assert len(work(name="worker@short")) == 1
    raw = yaml.safe_load(text)
    raw["rl"]["long"]["iterations"] += 1
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    assert len(work(name="worker@short")) == 2


def test_what_is_no_stage_of_dvc_yaml_depends_on_the_whole_recipe():
    Path("dvc.yaml").write_text("stages: {other: {cmd: x, params: [rl.short]}}")
    cut_short()
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("seed: 0", "seed: 5"))
    assert len(work()) == 1


def test_a_raised_limit_continues_the_work_and_another_model_does_not():
    def ask(model: str, max_usd: float) -> None:
        raw = shipped("smoke")
        money = {"max_usd": max_usd, "usd_per_million_prompt": 1.0}
        endpoint = {"url": "http://127.0.0.1:9/v1", "model": model, "key_variable": None, **money}
        raw["judge"]["model"] = {"endpoint": endpoint, "voters": [endpoint, endpoint]}
        raw["teacher"] = {"policy": "endpoint", "endpoint": endpoint, "tasks": 4}
        Path("params.yaml").write_text(yaml.safe_dump(raw))

    ask("a", 1.0)
    cut_short()
    ask("a", 2.0)
    assert len(work()) == 2
    ask("b", 2.0)
    assert len(work()) == 1


def test_wall_time_adds_up_over_runs(monkeypatch):
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(stage_run.time, "monotonic", lambda: float(next(clock)))
    cut_short()
    [[begin, end]] = read_json(next(Path(".waymark/state/worker").glob("*/spans.json")))
    work()
    result = read_json(Path("reports/stages/worker.json"))
    assert result["wall_s"] > end - begin > 0
    assert result["spans"][0] == [begin, end]
    assert len(result["spans"]) == 2


def test_the_second_run_in_a_process_does_not_count_the_first():
    work()
    time.sleep(0.3)
    began = time.time()
    work(occasion="second")
    spans = read_json(Path("reports/stages/worker.json"))["spans"]
    assert spans[-1][0] >= began - 0.1


def test_a_second_process_for_the_same_work_is_refused():
    with stage("worker", inputs=[Path("input")]), pytest.raises(StageBusy, match="already running"):
        work()


def test_the_time_of_a_killed_try_counts_though_it_reports_no_progress(monkeypatch):
    monkeypatch.setattr(stage_run, "SAVED_EVERY_S", 0.1)
    with stage("worker", inputs=[Path("input")]) as run:
        saved = run.state / "spans.json"
        began = time.monotonic()
        while not saved.exists() or read_json(saved)[-1][1] - read_json(saved)[-1][0] < 0.5:
            assert time.monotonic() - began < 30, "nothing is written while the stage computes"
            time.sleep(0.05)


def test_times_are_saved_again_after_an_error_of_writing(monkeypatch):
    monkeypatch.setattr(stage_run, "SAVED_EVERY_S", 0.05)
    fails = Mock(side_effect=[OSError(errno.ENOSPC, "No space left on device"), *[DEFAULT] * 10_000])
    monkeypatch.setattr(stage_run.store, "write_json", fails)
    with stage_run._Clock(Path("spans.json")).running():
        began = time.monotonic()
        while fails.call_count < 3:
            assert time.monotonic() - began < 30, "the thread ended at the error"
            time.sleep(0.05)


@pytest.mark.parametrize(("name", "command"), [("worker", "dvc repro worker"), ("nightly", "dvc repro")])
def test_a_missing_input_names_the_command_that_makes_it(name, command):
    Path("dvc.yaml").write_text("stages: {worker: {cmd: x}}")
    Path("input").unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} needs input; run `{command}`, which makes them first"):
        work(name=name)


def digest() -> str:
    return json.dumps(stage_code.digests(stage_code.code_files([])))


def test_the_digest_of_the_code_sees_our_modules(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    before = digest()
    assert before == digest()
    other = tmp_path / "_run.py"
    other.write_text(Path(stage_code.__file__).read_text() + "\n# changed\n")
    (tmp_path / "store.py").touch()
    monkeypatch.setattr(stage_code.store, "__file__", str(tmp_path / "store.py"))
    monkeypatch.setattr(stage_code, "__file__", str(other))
    changed = digest()
    other.write_text(other.read_text() + "# again\n")
    assert len({before, changed, digest()}) == 3


@pytest.mark.parametrize("name", ["judge/verified/evaluate.py", "policies/vllm/engine/server.py"])
def test_the_digest_of_the_code_sees_scripts_of_other_interpreters(monkeypatch, tmp_path, name):
    monkeypatch.undo()
    script = tmp_path / name
    assert (Path(stage_code.store.__file__).parent / name).exists()
    (tmp_path / "store.py").touch()
    monkeypatch.setattr(stage_code.store, "__file__", str(tmp_path / "store.py"))
    script.parent.mkdir(parents=True)
    script.write_text("one")
    before = digest()
    script.write_text("two")
    assert digest() != before


@pytest.mark.slow
def test_code_that_changes_until_a_stage_ends_is_named(capsys, monkeypatch):
    """DVC records the code that is there at the end, and a stage that was cut short goes on with any code."""
    work()
    assert "code_changed" not in read_json(Path("reports/stages/worker.json"))
    with stage("worker", inputs=[Path("input")]) as run:
        Path("work.py").write_text("edited while it ran")
    assert read_json(Path("reports/stages/worker.json"))["code_changed"] == ["components/work.py"]
    assert f"delete {run.state} and type `dvc repro -f -s worker`, then `dvc repro`" in capsys.readouterr().err
    Path("input").write_text("two")
    cut_short()
    Path("work.py").write_text("mended before it went on")
    work()
    assert read_json(Path("reports/stages/worker.json"))["code_changed"] == ["components/work.py"]
    Path("input").write_text("three")
    cut_short()
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: {})
    work()
    assert read_json(Path("reports/stages/worker.json"))["code_changed"] == ["components/work.py"], "gone from there"
    Path("input").write_text("four")
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: {"components/store.py": Path(store.__file__)})
    cut_short()
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: {})
    work()
    assert "code_changed" not in read_json(Path("reports/stages/worker.json"))


@pytest.mark.slow
def test_finished_work_is_dropped_when_an_unloaded_file_of_a_world_changes(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "waymark_quay"
    (package / "tasks").mkdir(parents=True)
    head = "from components.worlds import World\n\n\nclass Quay(World):\n"
    (package / "__init__.py").write_text(f'{head}    name = "quay"\n    independent_episodes = True\n')
    (package / "tasks/mooring.py").write_text("EFFECTS = 1\n")
    recipe = yaml.safe_load(Path("params.yaml").read_text())
    recipe["worlds"]["waymark_quay:Quay"] = {}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    names = set(stage_code.code_files(worlds_of(load())))
    assert {"quay/__init__.py", "quay/tasks/mooring.py", "components/store.py"} <= names
    assert not any(str(tmp_path) in name for name in names), "a state may go on on another machine"
    work()
    (package / "notes.log").write_text("no source")
    assert len(work()) == 2
    (package / "tasks/mooring.py").write_text("EFFECTS = 2\n")
    assert len(work()) == 1


STAGES = "stages: {worker: {cmd: x, params: [seed, rl.short]}, many: {foreach: [a], do: {cmd: x, params: [rl.short]}}}"


def changed_meanwhile(name: str, old: str, new: str) -> None:
    """Run a stage during which a line of params.yaml changes."""
    with stage(name, inputs=[Path("input")]):
        text = Path("params.yaml").read_text()
        assert text.count(old) >= 1
        Path("params.yaml").write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "old", "new"), [("worker", "seed: 0", "seed: 5"), ("many@a", "max_steps: 3", "max_steps: 5")]
)
def test_a_recipe_that_changes_while_a_stage_runs_is_not_recorded(name, old, new):
    """DVC would record the values that params.yaml has when the command ends."""
    Path("dvc.yaml").write_text(STAGES)
    former = Path("params.yaml").read_text()
    with pytest.raises(RecipeChanged, match="put the former recipe in use again"):
        changed_meanwhile(name, old, new)
    assert not Path(f"reports/stages/{name}.json").exists()
    Path("params.yaml").write_text(former)
    with stage(name, inputs=[Path("input")]):
        pass
    assert Path(f"reports/stages/{name}.json").exists()


def test_a_key_that_a_stage_does_not_read_may_change_while_it_runs():
    Path("dvc.yaml").write_text(STAGES)
    changed_meanwhile("many@a", "seed: 0", "seed: 5")
    assert Path("reports/stages/many@a.json").exists()


def test_two_runs_of_one_name_report_their_progress_at_once(tmp_path):
    """As benchmarks of two models do, which have states of their own."""
    program = (
        "import sys; from components.pipeline.stage_run import StageRun, _Clock; from pathlib import Path\n"
        "run = StageRun('benchmark', None, '', Path(), None, _Clock(Path(f'spans-{sys.argv[1]}.json')))\n"
        "for _ in range(400): run.progress(1, 1)"
    )
    environment = {**os.environ, "PYTHONPATH": str(RECIPE.parents[1])}
    commands = [[sys.executable, "-c", program, name] for name in ("one", "two")]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for command in commands]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert read_json(tmp_path / ".waymark/progress/benchmark.json")["done"] == 1
