"""Rates from a finished run: `waymark plan RECIPE --calibrate RUN_DIR`, and at the end of the stage `report`.

Habits and shares of groups are means of what the run recorded. Rates of browsers and of the policy are found by
bisection: with them the simulated episodes take as long as the recorded ones, so that waiting for cores and for servers
is not counted twice. Rates of training follow from the update's seconds. What a stage took beside its simulated work is
its start-up. A part that the run does not have keeps its default.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from components.params import EndpointTeacherParams, RecipeError
from components.plan.checkout_rates import CALIBRATION, digest_of_run
from components.plan.checkpoint_size import checkpoint_bytes
from components.plan.finished_run import FinishedRun, Played, read_run
from components.plan.hardware import Gpu, device_named, device_of_gpu, gpus
from components.plan.placement import Machine, devices_of
from components.plan.rates import EVERY, Counts, Habits, MeasuredOn, Rates, default_rates, write_rates
from components.plan.rollout_time import Batch, rollouts
from components.plan.setting import Setting, tasks_digest
from components.plan.stages import IterationTime, StageTime, iteration_time, phases, stage_times

BISECTIONS = 16
POLICY_STAGES = ("judge_rollouts", "evaluate@base", "evaluate@sft", "evaluate@rl")
TRAINING_STAGES = ("train_sft", "distill_judge")


def calibrated(folder: Path, device: str | None = None, cores: int = 0) -> Rates:
    """The rates of a run.

    Args:
        device: on which it ran; None takes the default of its recipe.
        cores: that its browsers had; 0 takes the default.

    Raises:
        RecipeError: the folder has no finished stage, or the device is unknown.
    """
    run = read_run(folder)
    machine = Machine(device_named(device, run.params.model.device == "cuda"), devices_of(run.params))
    setting = Setting(run.params, machine, default_rates(run.params, machine.device), cores)
    for step in (_recorded, _with_browsers, _with_policy, _with_phases, _with_loading, _with_training, _with_startup):
        setting = step(setting, run)
    return setting.rates


def write_calibration(folder: Path, device: str | None = None, cores: int = 0) -> tuple[Path, Rates]:
    """Write the rates of a run into its folder; returns the file, too. The arguments are those of `calibrated`.

    Raises:
        RecipeError: as `calibrated`.
    """
    path, rates = folder / CALIBRATION, calibrated(folder, device, cores)
    write_rates(path, rates)
    return path, rates


def calibrate_finished_run(folder: Path, is_cuda: bool) -> str:
    """Write the rates of a run that has just finished on this machine; returns a line about that.

    A run is not worse without a calibration, so nothing is raised.
    """
    try:
        path, _ = write_calibration(folder, device_of(gpus()) if is_cuda else None)
    except RecipeError as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    else:
        return f"wrote {path}, which the next `waymark plan` uses"
    return f"note: no calibration was written for the next `waymark plan`: {reason}"


def device_of(cards: Iterable[Gpu]) -> str:
    """The name in `devices.json` of the GPUs of a machine.

    Raises:
        RecipeError: there are none, they differ, or the table does not have them.
    """
    names = sorted({card.name for card in cards})
    known = device_of_gpu(names[0]) if len(names) == 1 else None
    if known is None:
        listed = ", ".join(names) or "no GPU"
        raise RecipeError(
            f"nvidia-smi lists {listed}, and devices.json has no such device: name a similar one, "
            "`waymark plan RECIPE --calibrate . --device NAME`"
        )
    return known


def _changed(setting: Setting, **values: Any) -> Setting:
    return replace(setting, rates=setting.rates.model_copy(update=values))


def _recorded(setting: Setting, run: FinishedRun) -> Setting:
    """What the run recorded as it is: habits, shares of groups, numbers of tasks, the judge's and the disk's speed."""
    rates, params = setting.rates, run.params
    machine = setting.machine
    values: dict[str, Any] = {
        "source": f"the run {params.name} with seed {params.seed}",
        "measured_on": MeasuredOn(
            device=machine.device.name,
            devices=machine.count,
            cores=setting.units("train_rl")["cores"],
            models=(params.model.base, params.model.judge_base),
            on_web=bool(params.tasks.files),
            run=digest_of_run({name: float(row["wall_s"]) for name, row in run.results.items() if "wall_s" in row}),
            text=params.observation.text,
            viewport=params.browser.viewport,
            objective=params.rl.objective.name,
        ),
    }
    habits = dict(rates.habits)
    for stage, played in run.played.items():
        habits[stage] = _habits(setting, run, stage, played)
    shares, trained = {}, {}
    for name, phase in phases(setting).items():
        figures, stage = run.iterations(name), f"train_rl@{name}"
        effective, sampled = (sum(row[f"{kind}_groups"] for row in figures) for kind in ("effective", "sampled"))
        if not effective:
            continue
        turns = statistics.fmean(row["turns_mean"] for row in figures)
        tokens = statistics.fmean(row["response_tokens_mean"] for row in figures)
        judged = habits.get("judge_rollouts", habits[EVERY]).judged
        most = statistics.fmean(setting.step_limits(phase.max_steps))
        habits[stage] = _share(turns, most, tokens, params.agent.max_response_tokens, judged)
        shares[stage] = effective / sampled
        branched = sum(row.get("branches_used", 0.0) for row in figures) * turns / 2
        of_attempts = max(0.0, sum(row["turns"] for row in figures) - branched)
        trained[stage] = of_attempts / (effective * params.rl.group_size * turns)
    sft = habits.get("evaluate@sft")
    teacher = habits.get("teacher_rollouts")
    taught = run.played.get("teacher_rollouts")
    if sft and teacher and taught is not None and not taught.response_tokens:  # a script has no tokens
        habits["teacher_rollouts"] = teacher.model_copy(update={"response": sft.response})
    if sft:
        habits[EVERY] = sft
    values |= {"habits": habits, "effective_share": {**rates.effective_share, **shares}, "trained_share": trained}
    collected, evaluated = run.results.get("collect_tasks", {}), run.played.get("evaluate@sft")
    if collected.get("collected") and evaluated:
        values["counts"] = Counts(
            tasks=tasks_digest(params), collected=int(collected["collected"]), evaluation=evaluated.episodes
        )
    if run.judge_s:
        values["verdict_s"] = run.judge_s
    if run.side_by_side is not None:
        values |= {"side_by_side": run.side_by_side, "between_s": run.between_s}
    values |= _page_tokens(setting, run) | _storage(setting, run)
    return _changed(setting, **values)


def _habits(setting: Setting, run: FinishedRun, stage: str, played: Played) -> Habits:
    """The habits of a stage. The table of judge_rollouts has the finished episodes only; the others went on to the
    limit."""
    params = run.params
    most = statistics.fmean(setting.step_limits(_max_steps(run, stage), _is_evaluation(stage)))
    episodes = int(run.results[stage].get("trajectories", played.episodes)) if stage == "judge_rollouts" else 0
    turns, judged = played.turns, played.judged
    if episodes > played.episodes:
        turns = (played.episodes * turns + (episodes - played.episodes) * most) / episodes
        judged = played.episodes / episodes
    default = setting.rates.habits_of(EVERY).response * params.agent.max_response_tokens
    return _share(turns, most, played.response_tokens or default, params.agent.max_response_tokens, judged)


def _max_steps(run: FinishedRun, stage: str) -> int:
    """The step limit of a stage that has a table of trajectories."""
    return run.params.teacher.max_steps if stage == "teacher_rollouts" else run.params.evaluation.max_steps


def _is_evaluation(stage: str) -> bool:
    return stage.startswith("evaluate@")


def _share(turns: float, most: float, tokens: float, limit: int, judged: float) -> Habits:
    return Habits(turns=min(1.0, max(turns / most, 1e-3)), response=min(1.0, max(tokens / limit, 1e-3)), judged=judged)


def _page_tokens(setting: Setting, run: FinishedRun) -> dict[str, Any]:
    """Tokens of the first prompt beside instructions and screenshot."""
    firsts = [run.played[stage].first_prompt for stage in POLICY_STAGES if stage in run.played]
    if not firsts:
        return {}
    shape = setting.prompt_shape(EVERY)
    return {"page_tokens": max(0, round(statistics.fmean(firsts) - shape.instructions - shape.image))}


def _storage(setting: Setting, run: FinishedRun) -> dict[str, Any]:
    stages = [f"train_rl@{name}" for name in phases(setting)]
    seconds = sum(run.total(stage, "checkpoints", "seconds") for stage in stages)
    written = sum(len(run.results.get(stage, {}).get("checkpoints", [])) for stage in stages)
    size = checkpoint_bytes(setting.params, setting.training(setting.policy).trained_parameters)
    return {"storage_bytes_per_s": size * written / seconds} if seconds and written else {}


def _with_browsers(setting: Setting, run: FinishedRun) -> Setting:
    """Seconds of a browser step and of opening a page: those of the teacher, which is a script if that is possible."""
    stage = "teacher_rollouts" if "teacher_rollouts" in run.played else "evaluate@sft"
    played = run.played.get(stage)
    if played is None or not played.step_s:
        return setting
    opening = played.open_s / played.step_s
    if stage == "teacher_rollouts" and isinstance(run.params.teacher, EndpointTeacherParams) and played.policy_s:
        setting = _changed(setting, endpoint_tokens_per_s=max(1.0, played.response_tokens) / played.policy_s)
    units = setting.units(stage)
    if stage != "teacher_rollouts" or units["cores"] >= units["browsers"]:  # no step waits for a core
        core_s, wait_s = 0.1 * played.step_s, 0.9 * played.step_s
        return _changed(
            setting, step_core_s=core_s, step_wait_s=wait_s, open_core_s=opening * core_s, open_wait_s=opening * wait_s
        )

    def with_core_s(core_s: float) -> Setting:
        return _changed(setting, step_core_s=core_s, step_wait_s=0.0, open_core_s=opening * core_s, open_wait_s=0.0)

    def seconds(core_s: float) -> float:
        return _episodes_s(with_core_s(core_s), run, [stage])

    return with_core_s(_bisected(seconds, _measured_s(run, [stage]), (1e-4, 10 * played.step_s)))


def _with_policy(setting: Setting, run: FinishedRun) -> Setting:
    """One factor on all rates of reading prompts and decoding."""
    stages = [stage for stage in POLICY_STAGES[1:] if stage in run.played]
    if not stages:
        return setting
    rates = setting.rates

    def slower(factor: float) -> Setting:
        return _changed(
            setting,
            prefill_share=rates.prefill_share / factor,
            bandwidth_share=rates.bandwidth_share / factor,
            token_s=rates.token_s * factor,
            row_s=rates.row_s * factor,
        )

    def seconds(factor: float) -> float:
        return _episodes_s(slower(factor), run, stages)

    return slower(_bisected(seconds, _measured_s(run, stages), (1e-3, 1e3)))


def _measured_s(run: FinishedRun, stages: list[str]) -> float:
    """Recorded seconds of all episodes of some stages."""
    return sum(run.played[stage].episodes * run.played[stage].wall_s for stage in stages)


def _episodes_s(setting: Setting, run: FinishedRun, stages: list[str]) -> float:
    """The same by simulation: the seconds in which browsers are busy."""
    total = 0.0
    for stage in stages:
        episodes = run.played[stage].episodes
        batch = Batch(stage, episodes, _max_steps(run, stage), is_evaluation=_is_evaluation(stage))
        total += rollouts(setting, batch).usage.busy["browsers"]
    return total


def _with_phases(setting: Setting, run: FinishedRun) -> Setting:
    """Corrections of the rollouts of each phase, by their recorded seconds."""
    scales = {}
    for name, iteration in _iterations(setting, run).items():
        measured = statistics.fmean(row["rollout_s"] for row in run.iterations(name))
        simulated = iteration.parts["rollouts"].usage.seconds
        if measured and simulated:
            scales[f"train_rl@{name}"] = measured / simulated
    return _changed(setting, rollout_scale=scales)


def _iterations(setting: Setting, run: FinishedRun) -> dict[str, IterationTime]:
    """One iteration of each phase of which the run has figures."""
    return {name: iteration_time(setting, name) for name in phases(setting) if run.iterations(name)}


def _with_loading(setting: Setting, run: FinishedRun) -> Setting:
    """The start-up of a stage of which nothing else is known: that of the shortest stage."""
    walls = [wall for stage in run.results if (wall := run.wall_s(stage)) is not None]
    return _changed(setting, startup_s={EVERY: min(walls)})


def _with_training(setting: Setting, run: FinishedRun) -> Setting:
    """The shares of the peak that training stages reach."""
    shares = {}
    for name, iteration in _iterations(setting, run).items():
        measured = statistics.fmean(row["train_s"] for row in run.iterations(name))
        simulated, stage = iteration.parts["update"].usage.seconds, f"train_rl@{name}"
        if measured and simulated:
            shares[stage] = setting.rates.training_share_of(stage) * simulated / measured
    times = {time.stage: time for time in stage_times(setting, _all_iterations(setting))}
    loading = _loading_s(times, run) or setting.rates.startup_of(EVERY)
    for stage in TRAINING_STAGES:
        wall, work = run.wall_s(stage), times[stage].parts.get("training", 0.0)
        if wall is not None and work and wall > loading:
            shares[stage] = setting.rates.training_share_of(stage) * work / (wall - loading)
    return _changed(setting, training_share={**setting.rates.training_share, **shares})


def _with_startup(setting: Setting, run: FinishedRun) -> Setting:
    """What each stage took beside its simulated work."""
    setting = _changed(setting, startup_s={EVERY: setting.rates.startup_of(EVERY)})
    startup = {
        time.stage: max(0.0, wall - (time.seconds - time.parts.get("start-up", 0.0)))
        for time in stage_times(setting, _all_iterations(setting))
        if (wall := run.wall_s(time.stage)) is not None
    }
    return _changed(setting, startup_s={**setting.rates.startup_s, **startup})


def _all_iterations(setting: Setting) -> dict[str, IterationTime]:
    return {name: iteration_time(setting, name) for name, phase in phases(setting).items() if phase.iterations}


def _loading_s(times: dict[str, StageTime], run: FinishedRun) -> float | None:
    """Seconds of a stage that loads a model beside its work: the median of the stages that roll out a model."""
    rest = []
    for stage in POLICY_STAGES:
        wall = run.wall_s(stage)
        if wall is not None and stage in run.played:
            rest.append(
                max(0.0, wall - times[stage].parts.get("rollouts", 0.0) - times[stage].parts.get("judging", 0.0))
            )
    return statistics.median(rest) if rest else None


def _bisected(measure: Callable[[float], float], target: float, bounds: tuple[float, float]) -> float:
    """The value in bounds at which a growing measure reaches a target, as a factor of at most 1%."""
    low, high = bounds
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if measure(middle) < target else (low, middle)
    return (low * high) ** 0.5
