"""What a run was planned to take, for its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.params import load
from components.plan import PlanOptions, TimeOptions, plan, time_plan, write_rates
from components.plan.checkout_rates import digest_of_run
from components.plan.hardware import device_named
from components.plan.placement import Machine
from components.plan.planned_and_spent import planned_seconds
from components.plan.rates import EVERY, MeasuredOn, default_rates

SPENT = {"train_sft": 61.0}


def test_planned_seconds_are_those_of_the_plan(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    planned = planned_seconds(params, SPENT, tmp_path / "none.json")
    times = time_plan(params, plan(Path("smoke"), PlanOptions()).machine, TimeOptions())
    assert planned == {stage.stage: pytest.approx(stage.seconds, abs=0.1) for stage in times.stages}
    assert {"train_sft", "train_rl@short", "evaluate@rl"} <= set(planned)


def test_a_calibration_changes_what_is_planned(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    rates = default_rates(params, plan(Path("smoke")).machine.device)
    slower = rates.model_copy(update={"step_wait_s": rates.step_wait_s + 10})
    write_rates(tmp_path / "slower.json", slower)
    before, after = (planned_seconds(params, SPENT, tmp_path / name) for name in ("none.json", "slower.json"))
    assert after["evaluate@rl"] > before["evaluate@rl"]
    (tmp_path / "damaged.json").write_text("{")
    assert planned_seconds(params, SPENT, tmp_path / "damaged.json") == {}


def test_a_calibrated_run_is_planned_on_the_machine_that_was_measured(tmp_path: Path) -> None:
    params = load("recipes/one-gpu.yaml")
    measured = MeasuredOn(device="B200", devices=1, cores=3)
    rates = default_rates(params, device_named("B200", True)).model_copy(update={"measured_on": measured})
    write_rates(tmp_path / "b200.json", rates)
    planned = planned_seconds(params, SPENT, tmp_path / "b200.json")
    times = {
        name: time_plan(params, Machine(device_named(name, True), 1), TimeOptions(rates, cores=3))
        for name in ("B200", "H100")
    }
    assert planned == {stage.stage: pytest.approx(stage.seconds, abs=0.1) for stage in times["B200"].stages}
    assert times["H100"].seconds > times["B200"].seconds + 60


def test_a_calibration_of_the_cpu_is_planned_with_its_cores(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    rates = default_rates(params, device_named(None, False))
    planned = []
    for cores in (1, 4):
        measured = MeasuredOn(device="cpu", devices=1, cores=cores)
        write_rates(tmp_path / "cpu.json", rates.model_copy(update={"measured_on": measured}))
        planned.append(planned_seconds(params, SPENT, tmp_path / "cpu.json"))
    assert planned[0]["teacher_rollouts"] > planned[1]["teacher_rollouts"]


@pytest.mark.parametrize(
    "measured",
    [
        MeasuredOn(device="H100", devices=1, cores=2),
        MeasuredOn(device="cpu", devices=1, cores=2, models=("a", "b")),
        MeasuredOn(device="cpu", devices=1, cores=2, on_web=True),
        MeasuredOn(device="cpu", devices=1, cores=2, run=digest_of_run(SPENT)),
    ],
    ids=["device", "models", "pages", "its own run"],
)
def test_rates_that_say_little_about_a_run_do_not_plan_it(measured: MeasuredOn, tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    rates = default_rates(params, device_named(None, False))
    slower = rates.model_copy(update={"startup_s": {EVERY: 500.0}, "measured_on": measured})
    write_rates(tmp_path / "slower.json", slower)
    assumed, planned = (planned_seconds(params, SPENT, tmp_path / name) for name in ("none.json", "slower.json"))
    assert planned == assumed
    like = MeasuredOn(device="cpu", devices=1, cores=2, models=(params.model.base, params.model.judge_base))
    write_rates(tmp_path / "slower.json", slower.model_copy(update={"measured_on": like}))
    assert planned_seconds(params, SPENT, tmp_path / "slower.json")["curate_sft"] == 500


def test_models_of_unknown_shape_are_not_planned(tmp_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    model = params.model.model_copy(update={"base": "somewhere/else"})
    assert planned_seconds(params.model_copy(update={"model": model}), SPENT, tmp_path / "none.json") == {}
