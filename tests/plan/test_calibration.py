"""Calibration against runs whose rates are known: the folder is written from a simulation, and read back as rates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from components.cli.main import main
from components.params import RecipeError, parse
from components.params.placement import STAGES
from components.plan.calibration import calibrated, device_of
from components.plan.checkout_rates import CALIBRATION
from components.plan.finished_run import TABLES, VERDICTS, read_run
from components.plan.fit import recipe_with
from components.plan.hardware import Gpu, device_named
from components.plan.placement import Machine
from components.plan.rates import EVERY, Habits, MeasuredOn, default_rates, read_rates, write_rates
from components.plan.rollout_time import Batch, rollouts
from components.plan.setting import Setting
from components.plan.stages import iteration_time, stage_times
from components.records import Trajectory
from components.store import read_table, write_json, write_table
from tests.samples import a_task, a_trajectory, a_turn, shipped

CORES = 2
RATES = {
    "measured_on": MeasuredOn(device="cpu", devices=1, cores=CORES, objective="mm_grpo"),
    "step_core_s": 0.3,
    "step_wait_s": 0.0,
    "open_core_s": 0.6,
    "open_wait_s": 0.0,
    # the policy at half of its default speed in every respect
    "token_s": 0.012,
    "row_s": 0.001,
    "prefill_share": 0.25,
    "bandwidth_share": 0.25,
    "effective_share": {EVERY: 0.5},
    "trained_share": {"train_rl@short": 1.2, "train_rl@long": 0.9},
    "training_share": {EVERY: 0.1, "train_sft": 0.2, "distill_judge": 0.05, "train_rl@short": 0.15},
    "startup_s": {EVERY: 5.0, "train_sft": 9.0, "evaluate": 9.0, "judge_rollouts": 9.0, "distill_judge": 9.0},
    "habits": {EVERY: Habits(turns=0.5, response=0.25, judged=1.0)},
}
"""What the run is made with; what is not here has its default."""

CHAMPION_S = 400.0
"""Seconds in which the stage evaluate@rl evaluated the champion."""


def made_recipe() -> dict:
    raw = shipped("demo")
    raw["worlds"]["miniwob"] |= {"eval_per_family": 3, "heldout_per_family": 2}
    raw["teacher"] |= {"tasks": 20}
    raw["judge"]["distill"] |= {"rollout_tasks": 15}
    raw["rl"]["short"]["max_steps"] = raw["rl"]["long"]["max_steps"] = 4
    raw["rl"] |= {"effective_groups": 4, "max_sampled_groups": 40}
    return raw


def truth() -> Setting:
    params = parse(made_recipe())
    machine = Machine(device_named(None, False), 1)
    return Setting(params, machine, default_rates(params, machine.device).model_copy(update=RATES), CORES)


def played(setting: Setting, stage: str, episodes: int, most: int) -> list[Trajectory]:
    """Episodes whose mean seconds are those of the simulation. Half of the step limit are turns; a step takes half as
    long as opening the page, as in `RATES`."""
    wall_s = rollouts(setting, Batch(stage, episodes, most)).usage.busy["browsers"] / episodes
    turns = most // 2
    shape = setting.prompt_shape(stage)
    prompt = shape.instructions + shape.image + shape.text
    turn = {
        "token_ids": [7] * 24,
        "logprobs": [0.0] * 24,
        "prompt_tokens": prompt,
        "timings": {"policy": 0.4, "act": 0.7},
    }
    diagnostics = {"wall_s": wall_s, "start": {"navigate": 1.4}}
    made = [a_trajectory(a_task(number), diagnostics=diagnostics) for number in range(episodes)]
    steps = [a_turn(index, **turn) for index in range(turns)]
    return [trajectory.model_copy(update={"turns": steps}) for trajectory in made]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A folder as a run with these rates leaves it."""
    folder, setting = tmp_path_factory.mktemp("run"), truth()
    params = setting.params
    (folder / "params.yaml").write_text(yaml.safe_dump(made_recipe()))
    iterations = {name: iteration_time(setting, name) for name in ("short", "long")}
    results = {time.stage: {"wall_s": time.seconds} for time in stage_times(setting, iterations)}
    counts, _ = setting.counts()
    results["collect_tasks"]["collected"] = counts.collected
    for name, iteration in iterations.items():
        rolled, share = iteration.rolled, RATES["trained_share"][f"train_rl@{name}"]
        results[f"train_rl@{name}"]["iterations"] = [
            {
                "effective_groups": rolled.effective,
                "sampled_groups": 2 * rolled.effective,
                "turns_mean": rolled.turns,
                "response_tokens_mean": 24.0,
                "turns": share * rolled.effective * params.rl.group_size * rolled.turns,
                "rollout_s": iteration.parts["rollouts"].usage.seconds,
                "train_s": iteration.parts["update"].usage.seconds,
            }
        ] * 3
    sizes = {
        "teacher_rollouts": (params.teacher.tasks * params.teacher.attempts, params.teacher.max_steps),
        "judge_rollouts": (15 * params.judge.distill.rollout_attempts, params.evaluation.max_steps),
    }
    for stage, path in TABLES.items():
        episodes, most = sizes.get(stage, (counts.evaluation, params.evaluation.max_steps))
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_table(folder / path, Trajectory, played(setting, stage, episodes, most))
    results["evaluate@rl"]["wall_s"] += CHAMPION_S
    results["evaluate@rl"]["champion"] = {"version": 1, "harness_errors": 0, "wall_s": CHAMPION_S}
    results["judge_rollouts"]["trajectories"] = sizes["judge_rollouts"][0]
    for stage, result in results.items():
        (folder / "reports/stages").mkdir(parents=True, exist_ok=True)
        write_json(folder / f"reports/stages/{stage}.json", result)
    return folder


@pytest.fixture(scope="module")
def rates(run):
    return calibrated(run, cores=CORES)


def test_a_calibrated_plan_of_the_same_recipe_gives_the_times_of_the_run(run, rates):
    setting = truth()
    recorded = read_run(run)
    guessed = Setting(recorded.params, setting.machine, rates, CORES)
    iterations = {name: iteration_time(guessed, name) for name in ("short", "long")}
    for time in stage_times(guessed, iterations):
        assert time.seconds == pytest.approx(recorded.wall_s(time.stage), rel=0.06), time.stage


def test_rates_of_browsers_come_back(rates):
    assert rates.step_core_s == pytest.approx(0.3, rel=0.05)
    assert rates.open_core_s == pytest.approx(0.6, rel=0.05)


def test_the_speed_of_the_policy_comes_back(run, rates):
    known, found = truth(), Setting(read_run(run).params, truth().machine, rates, CORES)
    for sequences in (1, 12):
        assert found.serving().token_s(sequences, 400) == pytest.approx(
            known.serving().token_s(sequences, 400), rel=0.1
        )


def test_shares_of_groups_and_habits_are_the_recorded_ones(rates):
    assert rates.effective_share_of("train_rl@short") == 0.5
    assert rates.trained_share == pytest.approx(RATES["trained_share"])
    for stage in ("teacher_rollouts", "judge_rollouts", "evaluate@rl", "train_rl@long"):
        assert rates.habits_of(stage).turns == pytest.approx(0.5)
        assert rates.habits_of(stage).response == pytest.approx(0.25)


def test_turns_of_training_tasks_are_a_share_of_the_limits_of_their_levels(run, tmp_path):
    # 2 turns of 2, 3 and 4 steps in RL; an evaluation has no other limit than its own
    folder = shutil.copytree(run, tmp_path / "run")
    raw = made_recipe()
    raw["tasks"]["horizon"] = {"easy": 2, "medium": 3, "hard": 9}
    (folder / "params.yaml").write_text(yaml.safe_dump(raw))
    rates = calibrated(folder, cores=CORES)
    assert rates.habits_of("train_rl@short").turns == pytest.approx(2 / 3)
    assert rates.habits_of("evaluate@rl").turns == pytest.approx(0.5)
    found = Setting(read_run(folder).params, truth().machine, rates, CORES)
    assert found.turns("train_rl@short", 4).mean == pytest.approx(2)


def test_training_that_was_measured_alone_has_its_share(rates):
    # the seconds of an update are recorded; those of SFT are what the stage took beside loading the model
    assert rates.training_share["train_rl@short"] == pytest.approx(0.15, rel=0.05)
    assert rates.training_share["train_sft"] == pytest.approx(0.2, rel=0.1)


def test_what_a_stage_took_beside_its_work_is_its_start_up(rates):
    assert rates.startup_of("label_trajectories") == pytest.approx(5.0, abs=0.1)
    assert rates.startup_of("train_sft") == pytest.approx(9.0, rel=0.1)


def test_the_evaluation_of_the_champion_is_in_no_rate(rates):
    assert rates.startup_of("evaluate@rl") == pytest.approx(rates.startup_of("evaluate@sft"), abs=2.0)


def test_the_command_writes_a_calibration_that_it_reads_again(run, capsys):
    options = ["plan", "demo", "--cores", "2", "--format", "json"]
    assert main([*options, "--calibrate", str(run)]) == 0
    first = json.loads(capsys.readouterr().out)["time"]
    file = run / "reports/calibration.json"
    assert read_rates(file).source == "the run demo with seed 0"
    assert main([*options, "--calibration", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["time"] == first
    assert [stage["stage"] for stage in first["stages"]] == list(STAGES)


def test_a_calibration_names_its_machine(rates):
    recipe = truth().params
    measured = rates.measured_on
    assert measured is not None
    assert measured == MeasuredOn(
        device="cpu",
        devices=1,
        cores=CORES,
        models=(recipe.model.base, recipe.model.judge_base),
        on_web=False,
        run=measured.run,
        text="elements",
        viewport=(160, 210),
        objective="mm_grpo",
    )


def planned(rates, changes: dict) -> Setting:
    return Setting(recipe_with(Path("demo"), changes), truth().machine, rates, CORES)


@pytest.mark.parametrize("changes", [{"observation.text": "html"}, {"browser.viewport": [320, 210]}])
def test_measured_tokens_of_pages_hold_for_such_pages_only(rates, changes):
    measured, assumed = (rates.model_copy(update={"page_tokens": tokens}) for tokens in (7, None))
    older = measured.model_copy(update={"measured_on": rates.measured_on.model_copy(update={"text": None})})
    assert planned(measured, {}).prompt_shape(EVERY).text == 7
    for other, keys in ((measured, changes), (older, {})):
        assert planned(other, keys).prompt_shape(EVERY) == planned(assumed, keys).prompt_shape(EVERY)


def test_measured_shares_of_turns_hold_for_their_objective_only(rates):
    assumed = rates.model_copy(update={"trained_share": {}})
    for changes, is_same in (({}, False), ({"rl.objective": {"name": "rft"}}, True)):
        own, other = (iteration_time(planned(of, changes), "short") for of in (rates, assumed))
        assert (own == other) == is_same


def test_a_calibration_of_another_device_needs_the_device_by_name(rates, tmp_path, capsys):
    write_rates(tmp_path / "cpu.json", rates)
    options = ["plan", "demo-gpu", "--calibration", str(tmp_path / "cpu.json")]
    assert main(options) == 1
    assert "was measured on cpu, and the plan is for H100: name the device" in capsys.readouterr().err
    assert main([*options, "--device", "H100"]) == 0


def test_a_calibration_of_an_older_version_has_no_machine(rates, tmp_path, capsys):
    write_rates(tmp_path / "old.json", rates.model_copy(update={"measured_on": None}))
    assert "measured_on" not in (tmp_path / "old.json").read_text()
    assert main(["plan", "demo-gpu", "--calibration", str(tmp_path / "old.json")]) == 0


@pytest.fixture
def checkout(rates, tmp_path, monkeypatch) -> Path:
    """A checkout whose run has left its calibration. Recipes and models are those of this one."""
    for name in ("recipes", "data"):
        (tmp_path / name).symlink_to(Path(name).resolve())
    monkeypatch.chdir(tmp_path)
    write_rates(CALIBRATION, rates)
    return tmp_path


def planned_s(capsys, *options) -> tuple[float, str]:
    assert main(["plan", *options, "--format", "json", "--cores", "2"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out)["time"]["seconds"], err


def test_a_plan_uses_the_calibration_of_its_checkout_and_says_so(checkout, capsys):
    own, line = planned_s(capsys, "demo")
    rates_of = "with the rates of reports/calibration.json, which is of the run demo with seed 0"
    assert line == f"{rates_of}; --uncalibrated plans without them\n"
    assert planned_s(capsys, "demo", "--calibration", str(CALIBRATION)) == (own, "")
    assumed, line = planned_s(capsys, "demo", "--uncalibrated")
    assert (assumed != own, line) == (True, "")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["demo", "--device", "H100"], "it was measured on cpu, and the plan is for H100"),
        (["demo", "--set", "model.judge_base=data/city_base_model"], "its run had the models data/base_model and "),
        (
            ["demo", "--set", "tasks.files=[a.jsonl]"],
            "its run had generated pages, and the recipe has pages of the web",
        ),
    ],
)
def test_a_plan_of_another_kind_leaves_the_calibration_out(checkout, capsys, options, reason):
    seconds, line = planned_s(capsys, *options)
    assert line.startswith(f"reports/calibration.json is not used, because {reason}")
    assert line.endswith(": --calibration reports/calibration.json uses it all the same\n")
    CALIBRATION.unlink()
    assert planned_s(capsys, *options) == (seconds, "")


@pytest.mark.parametrize("text", ["{", "older"])
def test_a_plan_without_a_usable_calibration_is_made_by_assumptions(checkout, rates, capsys, text):
    if text == "older":
        write_rates(CALIBRATION, rates.model_copy(update={"measured_on": None}))
    else:
        CALIBRATION.write_text(text)
    seconds, line = planned_s(capsys, "demo")
    assert "not used" in line
    assert planned_s(capsys, "demo", "--uncalibrated") == (seconds, "")


@pytest.mark.parametrize(
    ("cards", "name"),
    [
        (["NVIDIA L4"], "L4"),
        (["NVIDIA A100-SXM4-80GB"] * 2, "A100-80"),
        ([], None),
        (["NVIDIA L40S"], None),
        (["NVIDIA L4", "NVIDIA H200"], None),
    ],
)
def test_a_finished_run_is_calibrated_on_the_gpus_that_it_had(cards, name):
    gpus = [Gpu(card, 24e9) for card in cards]
    if name is None:
        with pytest.raises(RecipeError, match=r"name a similar one, `waymark plan RECIPE --calibrate . --device NAME`"):
            device_of(gpus)
    else:
        assert device_of(gpus) == name


def test_numbers_of_tasks_hold_for_the_same_tasks_only(run, rates):
    own = Setting(read_run(run).params, truth().machine, rates, CORES)
    other = Setting(parse(shipped("demo")), truth().machine, rates, CORES)
    assert own.counts()[0] == rates.counts
    assert other.counts()[0].evaluation == 12 * 18 + 2 * 20


@pytest.mark.parametrize(("begins", "concurrent", "pause"), [([0, 8, 16], 1, 3.0), ([0, 8, 9], 2, 3.5)])
def test_the_run_says_how_many_stages_ran_at_once(run, tmp_path, begins, concurrent, pause):
    """Each stage takes 5 s. A result of an earlier run, and one with two tries, say nothing about this."""
    folder = shutil.copytree(run, tmp_path / "run")
    names = ["filter_tasks", "dedup_tasks", "evaluate@base"]
    spans = {name: [[begin, begin + 5]] for name, begin in zip(names, begins, strict=True)}
    spans |= {"curate_sft": [[1, 2]], "train_sft": [[1, 2], [3, 4]]}
    for name, own in spans.items():
        path = folder / f"reports/stages/{name}.json"
        pipeline = "earlier" if name == "curate_sft" else "this"
        path.write_text(json.dumps({**json.loads(path.read_text()), "spans": own, "pipeline": pipeline}))
    rates = calibrated(folder, cores=CORES)
    assert (rates.side_by_side, rates.between_s) == (concurrent, pause)


def test_what_a_run_does_not_have_keeps_its_default(run, tmp_path):
    (tmp_path / "params.yaml").write_text((run / "params.yaml").read_text())
    (tmp_path / "reports/stages").mkdir(parents=True)
    write_json(tmp_path / "reports/stages/curate_sft.json", {"wall_s": 7.0})
    partial = calibrated(tmp_path, cores=CORES)
    defaults = default_rates(truth().params, truth().machine.device)
    assert partial.startup_of("curate_sft") == 7.0
    for name in ("step_core_s", "token_s", "habits", "effective_share", "side_by_side", "between_s"):
        assert getattr(partial, name) == getattr(defaults, name), name


def test_the_tokens_of_an_endpoints_answers_are_those_that_it_billed(run, tmp_path):
    stage, folder = "teacher_rollouts", shutil.copytree(run, tmp_path / "run")
    table = folder / TABLES[stage]
    billed = [
        trajectory.model_copy(
            update={
                "turns": [turn.model_copy(update={"token_ids": [], "logprobs": []}) for turn in trajectory.turns],
                "diagnostics": trajectory.diagnostics | {"response_tokens": 24.0 * len(trajectory.turns)},
            }
        )
        for trajectory in read_table(table, Trajectory)
    ]
    write_table(table, Trajectory, billed)
    assert read_run(folder).played[stage].response_tokens == read_run(run).played[stage].response_tokens == 24


def test_a_verdict_is_measured_only_if_an_endpoint_labelled(run, tmp_path):
    """The rules labelled the run, so a question keeps its assumed time, and a verdict takes as many as it has."""
    assert calibrated(run, cores=CORES).verdict_s is None
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / VERDICTS).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"tokens": [900, 0], "latency_s": [30.0, 0.0]}), folder / VERDICTS)
    assert calibrated(folder, cores=CORES).verdict_s == 30.0


def test_tables_of_another_version_are_refused_with_their_name(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    table = folder / TABLES["teacher_rollouts"]
    rows = pq.read_table(table)
    pq.write_table(rows.append_column("mood", pa.array(["good"] * rows.num_rows)), table)
    with pytest.raises(RecipeError, match=r"teacher/trajectories.parquet was written by another version"):
        calibrated(folder, cores=CORES)


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    with pytest.raises(RecipeError, match="has no finished stage"):
        calibrated(tmp_path)
    assert main(["plan", "demo", "--calibrate", str(tmp_path)]) == 1
    assert "dvc repro" in capsys.readouterr().err
