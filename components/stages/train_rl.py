"""RL on real pages with the recipe's objective: one phase of the horizon curriculum, `short` or `long`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch

from components import tracking
from components.endpoint import ANSWERS
from components.judge import JudgeClients, JudgeFn
from components.judge.served import open_distilled
from components.params import Params, load
from components.pipeline.curve import write_curve
from components.pipeline.judge_gate import measured_on, trust_distilled, trusted_model
from components.pipeline.labels import by_rules, open_auditor, open_labeller, report_spending
from components.pipeline.launch import process_group
from components.pipeline.rollouts import open_pool
from components.pipeline.stage_run import WORLD_SETTINGS, StageRun, stage
from components.policies import training_policies
from components.records import Task, Trajectory, Verdict
from components.rollout import SamplerState, TaskSampler
from components.store import digest, read_json, read_table
from components.training.health import health_line
from components.training.judge_retraining import AUDITED, RetrainedJudge, labelled_rollouts
from components.training.learner import OPTIMIZER, Learner
from components.training.objectives import objective_of
from components.training.rl import RLTrainer, TrainedPhase
from components.training.rl_rollouts import RolloutSetup, ValidationSetup
from components.training.selection import Choice, Comparison, Rollback
from components.training.validation import (
    Validation,
    validation_line,
    validation_metrics,
    validation_tables,
    warning_rows,
)
from components.training.workers import Replicas, Workers
from components.worlds import worlds_of

POOL, JUDGE = Path("data/pools/rl.parquet"), Path("models/judge/distilled")
VALIDATION = Path("data/pools/validation.parquet")
DEMONSTRATIONS = Path("data/sft/trajectories.parquet")
SAMPLER = "task_sampler.json"
PUBLISHED = "published_validation.json"
"""The validation of the policy in a model's directory, with which the next phase compares its own."""
SFT = Path("models/sft")
INIT = {"short": SFT, "long": Path("models/rl-short")}


def main(phase: str) -> None:
    """Run the stage on the main process, and serve its jobs on the others."""
    if phase not in INIT:
        raise SystemExit(f"unknown phase {phase!r}: one of {', '.join(INIT)}")
    with process_group("components.stages.train_rl", phase) as workers:
        if workers.is_main:
            run_stage(workers, phase)
        else:
            workers.serve_jobs()


def run_stage(workers: Workers, phase: str) -> None:
    """The stage, on the main process."""
    name = f"train_rl@{phase}"
    with stage(name, inputs=inputs_of(load(), phase)) as run:
        params = run.params
        worlds, pool = worlds_of(params), read_table(POOL, Task)
        worlds.require_independent(pool, f"rl.group_size = {params.rl.group_size}")
        if params.rl.branches is not None:
            worlds.require_replayable(pool)
        require_tasks(params, pool, read_table(VALIDATION, Task))
        torch.manual_seed(params.sampling_seed)
        demonstrations = DEMONSTRATIONS if objective_of(params).needs_demonstrations else None
        reference = reference_of(params, phase)
        learners = workers.replicate(Learner.load_model, INIT[phase], params, phase, demonstrations, reference)
        is_skipped = not (params.rl.short if phase == "short" else params.rl.long).iterations
        trained = _skipped(phase) if is_skipped else asyncio.run(_train(run, learners, phase))
        if trained.ended:
            print(f"the phase ends after {len(trained.figures)} iterations: {trained.ended}", flush=True)
        if trained.figures and not any(row["effective_groups"] for row in trained.figures):
            print("warning: no iteration of this phase had a group to learn from, so it changed nothing", flush=True)
        print(f"published: iteration {trained.published.iteration}, {trained.published.reason}", flush=True)
        state = learners.run(Learner.gathered_weights)
        optimizer = learners.run(Learner.optimizer_state) if phase == "short" else None
        carried: dict[str, object] = {} if optimizer is None else {OPTIMIZER: optimizer}
        learners.local.vlm.publish(Path(f"models/rl-{phase}"), files_of(trained), state, carried)
        write_curve(Path(f"reports/curves/rl-{phase}.csv"), trained.figures)
        version = run.tracker.register(Path(f"models/rl-{phase}"), tracking.POLICY)
        if params.judge.distill.retrain is not None and phase == "short":
            labelled_rollouts(run.state, len(trained.figures)).write(Path(f"models/rl-{phase}") / AUDITED)
        run.result({"iterations": trained.figures, "ended": trained.ended, "version": version})
        run.result(
            {
                "published": trained.published._asdict(),
                "rollbacks": [asdict(rollback) for rollback in trained.rollbacks],
                "checkpoints": trained.checkpoints,
                **validation_tables(trained.validations),
            }
        )


def files_of(trained: TrainedPhase) -> dict[str, object]:
    """What the next phase reads beside the weights, by name: the same for each run of the same seed."""
    files: dict[str, object] = {SAMPLER: asdict(trained.sampler)}
    if (record := trained.published_validation) is not None:
        files[PUBLISHED] = record.model_dump(mode="json") | {"seconds": 0.0}  # times differ between runs of one seed
    return files


def earlier_validation(model: Path) -> Validation | None:
    """The validation of the policy in a directory by the phase that trained it; None without any."""
    path = model / PUBLISHED
    return Validation.model_validate(read_json(path)) if path.exists() else None


def require_tasks(params: Params, pool: Sequence[Task], validation: Sequence[Task]) -> None:
    """Refuses, before any model is loaded, settings of RL that do not fit the tasks.

    Raises:
        ValueError: the message says what to change.
    """
    TaskSampler(pool, params.task_seed, params.rl.task_sampling)
    if problem := objective_of(params).problem(pool):
        raise ValueError(problem)
    if params.rl.validation.every and not any(task.split == "validation" for task in validation):
        raise ValueError(
            f"rl.validation.every = {params.rl.validation.every} asks for validations, and {VALIDATION} has no task of "
            "the trained families: set rl.validation.every to 0, or add tasks of the split validation"
        )


def reference_of(params: Params, phase: str) -> Path | None:
    """The directory of the policy to which the KL of the objective refers, if the phase begins with another one."""
    return SFT if params.rl.objective.refers_to_sft and INIT[phase] != SFT else None


def inputs_of(params: Params, phase: str) -> list[Path]:
    """What the phase reads under this recipe. DVC's deps name all of it except the files of `judge.trust.labels`."""
    inputs = [POOL, VALIDATION, WORLD_SETTINGS, INIT[phase]]
    if (params.rl.validation.every and INIT[phase] != SFT) or reference_of(params, phase) is not None:
        inputs.append(SFT)
    if params.judge.reward == "distilled":
        inputs.append(JUDGE)
    inputs += measured_on(params.judge)
    if objective_of(params).needs_demonstrations:
        inputs.append(DEMONSTRATIONS)
    return inputs


def _skipped(phase: str) -> TrainedPhase:
    """The result of a phase of 0 iterations, which needs no browser, judge or server."""
    earlier = SamplerState.of(read_json(INIT[phase] / SAMPLER)) if phase == "long" else SamplerState()
    return TrainedPhase([], earlier, Choice(0, "the model with which the phase begins: it has no iterations"))


async def _train(run: StageRun, learners: Replicas[Learner], phase: str) -> TrainedPhase:
    params, learner = run.params, learners.local

    def report(figures: dict[str, float], trajectories: list[Trajectory], verdicts: list[Verdict]) -> None:
        run.metrics(figures, int(figures["iteration"]))
        if figures["iteration"] == 1:
            run.traces(trajectories, verdicts)
        print(health_line(figures, learner.objective.summary(figures)), flush=True)
        if figures.get("judge_agreement", 1.0) < params.judge.trust.min_agreement:
            print(
                f"warning: the judge that rewards agrees with the auditor on {figures['judge_agreement']:.1%} of the "
                f"audited trajectories, less than judge.trust.min_agreement = {params.judge.trust.min_agreement:.1%}: "
                "read some of them to see what the policy is rewarded for",
                flush=True,
            )

    def report_rollback(rollback: Rollback, comparison: Comparison) -> None:
        run.metrics({"rolled_back_to": rollback.to}, rollback.iteration)
        text = f"validation changed by {comparison}: the phase goes back to iteration {rollback.to}"
        print(f"warning: {text}", flush=True)

    gathered = partial(learners.run, Learner.gathered_weights, params.model.lora is not None)
    released = partial(learners.run, Learner.release_memory)
    serving = training_policies(learner.vlm, learner.encoder, INIT[phase], params, run.state, gathered, released)
    async with (
        JudgeClients(params.judge.model, run.state, ANSWERS) as clients,
        _open_judge(run, clients, phase) as reward,
    ):
        audit = await open_auditor(params, clients)
        watched = None
        if params.rl.validation.every:
            labeller, earlier = await open_labeller(params, clients), earlier_validation(INIT[phase])
            watched = ValidationSetup(read_table(VALIDATION, Task), labeller, SFT, earlier)
        async with open_pool(params) as pool, serving as open_policy:
            judges_batches = params.judge.reward == "distilled" and params.judge.distill.vllm is None
            retrained = reward if isinstance(reward, RetrainedJudge) else None
            trainer = RLTrainer(
                learners,
                params.rl.short if phase == "short" else params.rl.long,
                f"rl-{phase}",
                RolloutSetup(read_table(POOL, Task), pool, open_policy, reward, audit, judges_batches, retrained),
                run.state,
                run.progress,
                report,
                earlier=SamplerState.of(read_json(INIT[phase] / SAMPLER)) if phase == "long" else None,
                validation=watched,
                report_validation=partial(_report_validation, run),
                report_rollback=report_rollback,
            )
            if limits := trainer.limits_of_warnings:
                print(f"note: {limits}", flush=True)
                run.result({"limits_of_warnings": limits})
            trained = await trainer.run()
        report_spending(run, clients)
        return trained


def _report_validation(run: StageRun, validations: list[Validation]) -> None:
    """The newest validation with its warnings: on the screen and in MLflow, whose table has all warnings until now."""
    newest = validations[-1]
    run.metrics({"validation": validation_metrics(newest)}, newest.iteration)
    print(validation_line(newest), flush=True)
    for warning in newest.warnings:
        print(f"warning: {warning.text}", flush=True)
    if rows := warning_rows(validations):
        run.tracker.table("warnings", {name: [row[name] for row in rows] for name in rows[0]})


@asynccontextmanager
async def _open_judge(run: StageRun, clients: JudgeClients, phase: str) -> AsyncIterator[JudgeFn]:
    """The judge that rewards, as `judge.reward` says."""
    params = run.params
    match params.judge.reward:
        case "rules":
            yield by_rules(params, clients)
        case "model":
            yield await trusted_model(run, clients)
        case "distilled":
            trust_distilled(JUDGE / "agreement.json", params.judge)
            if params.judge.distill.retrain is not None:
                yield RetrainedJudge(JUDGE, params, run.state, INIT[phase] / AUDITED if phase == "long" else None)
                return
            async with open_distilled(JUDGE, digest(JUDGE), params, run.state) as judge:
                yield judge


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
