"""The stage `report` of a finished run: what it leaves beside the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from components.cli.main import main as waymark
from components.params import load
from components.plan.checkout_rates import CALIBRATION
from components.plan.rates import read_rates
from components.stages import report
from components.store import read_json, write_json
from tests.samples import shipped

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(run_on_disk, tmp_path, mlflow_database, monkeypatch) -> Path:
    """A checkout whose stages before the report have finished."""
    shutil.copytree(run_on_disk.root, tmp_path, dirs_exist_ok=True)
    (tmp_path / "reports/stages/report.json").unlink()
    shutil.copytree(tmp_path / "data/evaluation/sft", tmp_path / "data/teacher")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    (tmp_path / "data/base_model").symlink_to(ROOT / "data/base_model")
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.dump(shipped("demo")))
    return tmp_path


def planned(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[str, str]:
    assert waymark(["plan", "params.yaml", *options]) == 0
    return capsys.readouterr()


@pytest.mark.slow
def test_a_finished_run_improves_the_next_plan(checkout, capsys):
    assumed, _ = planned(capsys)
    assert "no rate was measured" in assumed
    report.main()
    assert f"wrote {CALIBRATION}, which the next `waymark plan` uses" in capsys.readouterr().out
    rates = read_rates(CALIBRATION)
    assert rates.source == f"the run demo with seed {load().seed}"
    assert rates.startup_of("report") == pytest.approx(read_json(Path("reports/stages/report.json"))["wall_s"])
    text, line = planned(capsys)
    assert f"the rates are those of {rates.source}" in text
    assert f"with the rates of {CALIBRATION}" in line
    assert planned(capsys, "--uncalibrated") == (assumed, "")


@pytest.mark.slow
def test_a_run_that_cannot_be_calibrated_is_finished_all_the_same(checkout, capsys):
    write_json(Path("reports/stages/judge_rollouts.json"), {"wall_s": 60.0, "trajectories": 9})
    Path("data/judge").mkdir()
    Path("data/judge/trajectories.parquet").write_text("cut short")
    report.main()
    assert "note: no calibration was written for the next `waymark plan`" in capsys.readouterr().out
    assert not CALIBRATION.exists()
    assert Path("reports/demo.html").exists()


@pytest.mark.slow
def test_a_report_that_is_drawn_again_is_not_planned_by_its_own_run(checkout):
    def planned_s() -> dict[str, float]:
        report.main()
        return {name: stage["planned_s"] for name, stage in read_json(Path("reports/demo.json"))["stages"].items()}

    first = planned_s()
    assert CALIBRATION.exists()
    assert planned_s() == first
    result = Path("reports/stages/train_sft.json")
    write_json(result, read_json(result) | {"wall_s": 75.0})
    assert planned_s()["train_sft"] == pytest.approx(61.0, abs=0.5), "by the run before, which took 61 s"
