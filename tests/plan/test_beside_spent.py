"""What a run was planned to take, for its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.params import load
from components.plan import PlanOptions, TimeOptions, plan, time_plan, write_rates
from components.plan.beside_spent import planned_seconds
from components.plan.rates import default_rates


def test_planned_seconds_are_those_of_the_plan(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    planned = planned_seconds(params, tmp_path / "none.json")
    times = time_plan(params, plan(Path("smoke"), PlanOptions()).machine, TimeOptions())
    assert planned == {stage.stage: pytest.approx(stage.seconds, abs=0.1) for stage in times.stages}
    assert {"train_sft", "train_rl@short", "evaluate@rl"} <= set(planned)


def test_a_calibration_changes_what_is_planned(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    rates = default_rates(params, plan(Path("smoke")).machine.device)
    slower = rates.model_copy(update={"step_wait_s": rates.step_wait_s + 10})
    write_rates(tmp_path / "slower.json", slower)
    before, after = (planned_seconds(params, tmp_path / name) for name in ("none.json", "slower.json"))
    assert after["evaluate@rl"] > before["evaluate@rl"]
    (tmp_path / "damaged.json").write_text("{")
    assert planned_seconds(params, tmp_path / "damaged.json") == {}


def test_models_of_unknown_shape_are_not_planned(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    model = params.model.model_copy(update={"base": "somewhere/else"})
    assert planned_seconds(params.model_copy(update={"model": model}), tmp_path / "none.json") == {}
