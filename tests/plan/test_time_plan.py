"""Times of whole recipes: what a change of the recipe or of the machine does to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from components.cli.main import main
from components.params import RecipeError
from components.params.placement import STAGES
from components.plan import MANY_EPISODES, PlanOptions, TimeOptions, plan, simulated_episodes, time_plan
from components.plan.hardware import Device
from components.plan.picture import COLOURS, draw
from components.plan.placement import Machine
from components.plan.rates import EVERY, default_rates, read_rates, write_rates
from components.plan.rollout_time import Batch, judged_by_model
from components.plan.setting import Setting
from components.plan.stages import _labels, iteration_time
from components.plan.training_time import trained_turns

LARGE, SMALL = Path("openwebrl-4b"), Path("demo")
SLOW_JUDGE = {"endpoint": {"url": "http://127.0.0.1:1/v1", "model": "judge", "max_in_flight": 1}}
FAST_JUDGE = {"endpoint": {**SLOW_JUDGE["endpoint"], "max_in_flight": 32}}
CORES = Device("cpu", 16e9, 120e9, 20e9, True)


def setting(recipe=LARGE, device="H100", devices=None, rates=None, **changed) -> Setting:
    settings = {key.replace("__", "."): value for key, value in changed.items()}
    planned = plan(recipe, PlanOptions(settings, device, devices))
    machine = planned.machine if recipe == LARGE else Machine(CORES, 1)
    return Setting(
        planned.recipe, machine, rates or default_rates(planned.recipe, machine.device), 2 if recipe == SMALL else 0
    )


def iteration_s(**changed) -> float:
    return iteration_time(setting(**changed), "short").seconds


def part_s(part: str, **changed) -> float:
    return iteration_time(setting(**changed), "short").parts[part].usage.seconds


@pytest.fixture(scope="module")
def small():
    chosen = setting(SMALL)
    return time_plan(chosen.params, chosen.machine, TimeOptions(cores=2))


@pytest.mark.parametrize(("own_server", "times"), [(True, 1), (False, 3)])
def test_voters_on_servers_of_their_own_are_asked_at_the_same_time(own_server, times):
    endpoint = SLOW_JUDGE["endpoint"]
    voters = [
        {**endpoint, "url": f"http://127.0.0.1:{port}/v1" if own_server else endpoint["url"], "model": f"voter-{port}"}
        for port in (2, 3)
    ]

    def seconds(model: dict) -> float:
        chosen = setting(judge__reward="model", judge__trust__min_agreement=0.0, judge__model=model)
        return judged_by_model(chosen, "label_trajectories", 20, 5).usage.seconds

    assert seconds({**SLOW_JUDGE, "voters": voters}) == pytest.approx(times * seconds(SLOW_JUDGE))


def test_the_stages_are_those_of_the_dag():
    names = []
    for name, stage in yaml.safe_load(Path("dvc.yaml").read_text())["stages"].items():
        if not stage.get("frozen"):
            names += [f"{name}@{variant}" for variant in stage["foreach"]] if "foreach" in stage else [name]
    assert sorted(STAGES) == sorted(names)


def test_an_iteration_of_the_paper_takes_about_as_long_as_published():
    # 300 B200 hours for 90 iterations: 25 minutes on 8 of them (OpenWebRL, section 5.1)
    assert 12 < iteration_s(device="B200") / 60 < 50


def test_a_phase_has_about_as_many_trajectories_as_published():
    # 54K in 90 iterations
    assert 450 < iteration_time(setting(), "short").rolled.trajectories < 750


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("rollouts", {"inference__vllm__servers": 1}),
        ("rollouts", {"browser__concurrency": 20}),
        ("rollouts", {"rl__short": {"iterations": 90, "max_steps": 30}}),
        ("rollouts", {"observation__screenshots": 3}),
        ("update", {"observation__screenshots": 3}),
        ("update", {"training__processes": 2}),
        ("update", {"rl__objective": {"name": "mm_grpo", "ppo_epochs": 4}}),
        ("update", {"rl__objective": {"name": "mm_grpo", "kl": 0.01}}),
        ("update", {"model__train_vision": True}),
        ("judging", {"judge__distill__screenshots": 6}),
        ("judging", {"judge__reward": "model", "judge__trust__min_agreement": 0.0, "judge__model": SLOW_JUDGE}),
    ],
)  # fmt: skip
def test_a_heavier_recipe_takes_longer(part, change):
    assert part_s(part, **change) > 1.05 * part_s(part)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("update", {"model__lora": {"rank": 16, "alpha": 32}}),
        ("update", {"model__gradient_checkpointing": False}),
        ("update", {"device": "B200"}),
        ("rollouts", {"device": "B200"}),
        ("judging", {"model__judge_base": "Qwen/Qwen3-VL-4B-Instruct"}),
        ("checkpoint", {"model__lora": {"rank": 16, "alpha": 32}}),
    ],
)
def test_a_lighter_recipe_takes_less_time(part, change):
    assert part_s(part, **change) < 0.95 * part_s(part)


def test_a_judge_without_servers_has_the_speed_of_our_own_generator():
    """29, 54 and 166 ms for a step of 1, 8 and 32 sequences of a model of 4B, measured on an H200."""
    alone = setting(model__judge_base="Qwen/Qwen3-VL-4B-Instruct", judge__distill__vllm=None, device="H200")
    for sequences, measured in ((1, 0.029), (8, 0.054), (32, 0.166)):
        assert alone.judging().token_s(sequences, 1000) == pytest.approx(measured, rel=0.2)
    assert alone.serving().token_s(8, 1000) < 0.01, "the policy has servers"
    small = setting(model__judge_base="data/base_model", judge__distill__vllm=None, device="H200")
    assert 0.4 < small.judging().token_s(32, 300) / 0.0052 < 2.5, "the demo's base, on the same card"
    served = setting(model__judge_base="Qwen/Qwen3-VL-4B-Instruct", judge__distill__vllm={"first_gpu": 7})
    assert served.judging().token_s(8, 1000) < 0.01


@pytest.mark.slow
def test_one_gpu_of_24_gib_takes_several_times_as_long():
    refused = plan(LARGE, PlanOptions(device="RTX-4090", devices=1))
    assert refused.remedy is not None
    small = plan(LARGE, PlanOptions(refused.remedy, "RTX-4090", devices=1))
    assert small.fits
    rates = default_rates(small.recipe, small.machine.device)
    alone = iteration_time(Setting(small.recipe, small.machine, rates), "short")
    assert alone.seconds > 3 * iteration_s()
    assert alone.parts["update"].usage.seconds > 4 * part_s("update")


def test_rollouts_that_overlap_with_updates_shorten_an_iteration():
    apart, overlapped = (iteration_time(setting(rl__max_staleness=steps), "short") for steps in (0, 1))
    rolled = sum(overlapped.parts[name].usage.seconds for name in ("rollouts", "judging"))
    assert overlapped.seconds == max(rolled, apart.seconds - rolled)
    assert overlapped.seconds < apart.seconds


RETRAIN = {"every": 4, "share": 0.5, "rehearsed": 100, "optim": {"epochs": 2, "lr": 1e-4, "batch_size": 16}}


def test_the_trainings_of_a_judge_in_rl_take_time_and_memory():
    """Each is on the labels of all iterations before it: after 4 and 8 of 12, and before the long phase."""

    def retraining(**changed: object) -> tuple[float, float]:
        chosen = setting(SMALL, judge__reward="distilled", judge__distill__retrain=RETRAIN | changed)
        stages = {stage.stage: stage for stage in time_plan(chosen.params, chosen.machine, TimeOptions(cores=2)).stages}
        short, long = (stages[f"train_rl@{phase}"].parts["judge training"] for phase in ("short", "long"))
        assert stages["train_rl@short"].parts.keys() <= COLOURS.keys(), "the picture's legend has each part"
        return short, long

    short, long = retraining()
    assert 0 < short < long
    assert max(retraining(share=0.1)) < short
    judged = plan(SMALL, PlanOptions({"judge.reward": "distilled", "judge.distill.retrain": RETRAIN}))
    rows = {row.stage: {part.name for part in row.parts} for row in judged.memory if row.role == "trainer"}
    assert {"weights", "optimiser", "distilled judge", "judge's optimiser"} <= rows["train_rl, judge training"]
    assert "train_rl, judge training" not in {row.stage for row in plan(SMALL, PlanOptions()).memory}


def test_an_update_trains_on_the_turns_of_effective_groups():
    chosen = setting()
    rolled = iteration_time(chosen, "short").rolled
    assert trained_turns(chosen, rolled, "train_rl@short") == rolled.effective * 5 * rolled.turns


def test_rejection_fine_tuning_trains_on_one_attempt_per_group():
    chosen = setting(
        rl__objective={"name": "rft", "demonstrations": 0.5}, rl__shuffle="turns", curate__max_trajectories=100
    )
    rolled = iteration_time(chosen, "short").rolled
    assert trained_turns(chosen, rolled, "train_rl@short") == pytest.approx((rolled.effective + 50) * rolled.turns)


def test_an_update_of_rejection_fine_tuning_is_packed_as_in_sft():
    def update_s(shuffle: str) -> float:
        return part_s("update", rl__objective={"name": "rft"}, rl__shuffle="turns", sft__shuffle=shuffle)

    assert update_s("trajectories") < 0.8 * update_s("turns")


def test_failed_tasks_get_their_further_attempts():
    plain, more = (
        iteration_time(setting(rl__extra_attempts=count, rl__open_groups=None), "short").rolled for count in (0, 5)
    )
    assert more.trajectories == plain.trajectories + 5 * round(0.3 * plain.groups)


@pytest.mark.parametrize("open_groups", [None, 48])
def test_branches_are_episodes_and_train_a_part_of_their_turns(open_groups):
    chosen = setting(rl__open_groups=open_groups, rl__branches={"per_group": 2, "continuations": 3})
    plain, more = (iteration_time(of, "short").rolled for of in (setting(rl__open_groups=open_groups), chosen))
    assert more.branches == more.trajectories - plain.trajectories == 6 * plain.effective
    added = trained_turns(chosen, more, "train_rl@short") - trained_turns(setting(), plain, "train_rl@short")
    assert added == pytest.approx(6 * plain.effective * plain.turns / 2)
    assert more.rollouts.usage.seconds > plain.rollouts.usage.seconds


def test_parts_of_a_stage_add_up_to_its_time(small):
    for stage in small.stages:
        assert stage.seconds == pytest.approx(sum(stage.parts.values())), stage.stage
        assert all(0 < share <= 1 + 1e-9 for share in stage.utilisation.values()), stage.stage
    assert small.stage_seconds == pytest.approx(sum(stage.seconds for stage in small.stages))


def test_a_phase_is_its_iterations_and_its_validations(small):
    # 12 iterations; validations at 0, 6 and 12
    phase = next(stage for stage in small.stages if stage.stage == "train_rl@short")
    iteration = small.iterations[0]
    rest = phase.parts["start-up"] + phase.parts["validation"]
    assert phase.seconds == pytest.approx(12 * iteration.seconds + rest)


def test_validations_are_labelled_by_the_endpoint():
    """The endpoint answers 32 questions at a time, the distilled judge one."""
    chosen = setting(judge__reward="distilled", judge__labels="model", judge__model=FAST_JUDGE)
    assert (chosen.units("train_rl@short")["judge"], chosen.units("train_rl@short")["auditor"]) == (1, 32)
    labels = _labels(chosen, Batch("train_rl@short", 64, 10))
    assert labels.usage.busy.keys() == {"auditor"}
    assert labels.usage.seconds == pytest.approx(labels.usage.busy["auditor"] / 32, rel=0.5)


def test_the_policy_in_the_process_answers_all_browsers_at_once():
    chosen = setting(SMALL, browser__concurrency=96)
    assert chosen.slots(400) == 96
    assert replace(chosen, more={"browsers": 2.0}).slots(400) == 192


@pytest.mark.parametrize("open_groups", [None, 10])
def test_an_iteration_whose_context_is_full_early_is_shorter(open_groups):
    phase = {"rl__open_groups": open_groups, "rl__short": {"iterations": 12, "max_steps": 20}}
    long, short = (
        iteration_time(setting(SMALL, agent__max_context_tokens=tokens, **phase), "short") for tokens in (4096, 400)
    )
    assert short.rolled.turns < 4 < 8 < long.rolled.turns
    assert short.rolled.rollouts.usage.seconds < 0.7 * long.rolled.rollouts.usage.seconds


def test_the_bottleneck_is_what_shortens_an_iteration_most(small):
    assert small.bottleneck == min(small.changes, key=small.changes.get)
    assert all(change <= 1.1 for change in small.changes.values())


@pytest.mark.slow
def test_costs_are_hours_times_prices():
    chosen = setting(rl__short={"iterations": 2, "max_steps": 5}, rl__long={"iterations": 0, "max_steps": 5})
    times = time_plan(chosen.params, chosen.machine, TimeOptions(device_hour=2.0, browser_hour=0.5))
    hours = times.seconds / 3600
    assert times.side_by_side == 1  # a stage may fill the GPUs
    assert times.seconds == pytest.approx(times.stage_seconds + len(STAGES) * chosen.rates.between_s)
    assert times.cost.device_hours == pytest.approx(8 * hours)
    assert times.cost.device_usd == pytest.approx(16 * hours)
    assert times.cost.browser_usd == pytest.approx(0.5 * times.cost.browser_hours)
    assert times.cost.browser_hours <= 80 * hours


@pytest.mark.slow
def test_a_teacher_behind_an_endpoint_costs_what_the_recipe_says():
    none = {"iterations": 0, "max_steps": 5}
    endpoint = "teacher.endpoint.usd_per_million"
    short = {"rl.short": none, "rl.long": none, "teacher.tasks": 50}
    dear = short | {f"{endpoint}_prompt": 1.0, f"{endpoint}_completion": 2.0}
    free, paid = (plan(LARGE, PlanOptions(settings)) for settings in (short, dear))
    before, after = (time_plan(planned.recipe, planned.machine) for planned in (free, paid))
    tokens = next(stage.timed.tokens for stage in after.stages if stage.stage == "teacher_rollouts")
    added = after.cost.endpoint_usd - before.cost.endpoint_usd
    assert added == pytest.approx((tokens.prompt + 2 * tokens.response) / 1e6)


def test_a_recipe_without_gpu_costs_nothing_by_default(small):
    assert small.cost.usd == 0
    assert small.cost.browser_hours > 0


def test_rates_survive_a_file(tmp_path):
    rates = setting(SMALL).rates
    write_rates(tmp_path / "rates.json", rates)
    assert read_rates(tmp_path / "rates.json") == rates
    (tmp_path / "rates.json").write_text('{"source": "me"}')
    with pytest.raises(RecipeError, match="is no calibration"):
        read_rates(tmp_path / "rates.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"[" * 5000])
def test_a_file_that_is_no_calibration_is_named(tmp_path, content):
    (tmp_path / "rates.json").write_bytes(content)
    with pytest.raises(RecipeError, match=r"rates\.json is no calibration: write one with"):
        read_rates(tmp_path / "rates.json")


def test_a_stage_takes_the_rates_of_its_variant_first():
    rates = default_rates(setting(SMALL).params, CORES).model_copy(
        update={"startup_s": {EVERY: 1.0, "evaluate": 2.0, "evaluate@rl": 3.0}}
    )
    assert [rates.startup_of(stage) for stage in ("report", "evaluate@sft", "evaluate@rl")] == [1.0, 2.0, 3.0]


@pytest.mark.slow
def test_a_picture_shows_every_stage(tmp_path, small):
    draw(small, "demo", tmp_path / "plan.svg")
    root = ElementTree.parse(tmp_path / "plan.svg").getroot()
    text = (tmp_path / "plan.svg").read_text()
    assert root.tag.endswith("svg")
    assert all(f"<!-- {stage} -->" in text for stage in STAGES)
    for _ in range(2):  # a picture of its kind is replaced
        draw(small, "demo", tmp_path / "plan.svg")
    draw(small, "demo", tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(RecipeError, match="must end in"):
        draw(small, "demo", tmp_path / "plan.gif")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder.svg", "folder.svg is a folder: name a file, such as"),
        ("mine.svg", "mine.svg exists and is no .svg picture: name a new file"),
        ("mine.png", "mine.png exists and is no .png picture: name a new file"),
        ("notes.txt", "the name must end in .svg, .png or .pdf"),
    ],
)
def test_a_picture_replaces_pictures_alone(capsys, tmp_path, name, why):
    """Refused before the recipe is read, because a plan takes time."""
    (tmp_path / "folder.svg").mkdir()
    mine = [tmp_path / name for name in ("mine.svg", "mine.png", "notes.txt")]
    for file in mine:
        file.write_text("mine")
    assert main(["plan", "no such recipe", "--picture", str(tmp_path / name)]) == 1
    assert why in capsys.readouterr().err
    assert {file.read_text() for file in mine} == {"mine"}


def test_the_command_prints_memory_then_time(capsys, tmp_path):
    assert main(["plan", "demo", "--uncalibrated", "--cores", "2", "--picture", str(tmp_path / "plan.svg")]) == 0
    text = capsys.readouterr().out
    assert text.index("Memory of each device") < text.index("Time and cost: ")
    assert "(no rate was measured: expect to be wrong by a factor of 2 to 4)" in text
    assert all(
        word in text for word in ("RL iteration, short", "Bottleneck: ", "browser hours", "no rate was measured")
    )
    assert (tmp_path / "plan.svg").exists()


def test_json_has_memory_and_time(capsys):
    assert main(["plan", "demo", "--format", "json", "--browser-hour", "0.1"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["memory"]
    assert [stage["stage"] for stage in values["time"]["stages"]] == list(STAGES)
    assert values["time"]["cost"]["browser_usd"] == pytest.approx(0.1 * values["time"]["cost"]["browser_hours"])


@pytest.mark.slow
def test_servers_that_run_elsewhere_are_named_as_unpriced():
    away = plan(LARGE, PlanOptions({"inference.vllm.urls": ["http://a:1", "http://b:1"]}, devices=4))
    line = "the servers that run elsewhere have no price here: 2 of inference.vllm.urls"
    assert line in time_plan(away.recipe, away.machine).assumptions


def test_no_server_is_unpriced_if_the_run_starts_all(small):
    assert not [line for line in small.assumptions if "no price" in line]


def test_more_trainers_leave_the_rollouts_as_they_are():
    known = iteration_time(setting(), "short")
    more = replace(setting(), more={"trainer": 2.0})
    assert iteration_time(more, "short", known.rolled).seconds == iteration_time(more, "short").seconds


def test_only_a_long_simulation_is_announced():
    episodes = {name: simulated_episodes(plan(Path(name), PlanOptions(device="H200")).recipe) for name in (
        "browseragent-8b", "openwebrl-4b", "webgym-8b")}  # fmt: skip
    assert episodes["browseragent-8b"] == 4800 * 4 >= MANY_EPISODES
    assert max(episodes["openwebrl-4b"], episodes["webgym-8b"]) < MANY_EPISODES
