"""Evaluation of one model on the test tasks, for the stage `evaluate` and for the nightly schedule."""

from __future__ import annotations

import asyncio
from pathlib import Path

from components.evaluation import success
from components.judge import needs_judge
from components.pipeline.closed_output import say
from components.pipeline.labels import label, require_labeller
from components.pipeline.rollouts import EpisodeLimits, roll_out
from components.pipeline.stage_run import StageRun
from components.policies import open_model
from components.records import Task, Trajectory, Verdict
from components.rollout import commonest_reason, episode_specs, harness_errors
from components.worlds import worlds_of

POOLS = [Path("data/pools/eval.parquet"), Path("data/pools/heldout.parquet")]
"""The tasks that are evaluated on."""
HELDOUT_TAG = "waymark.heldout"
"""The tag of a stage's MLflow run that says why its held-out tasks were not measured."""


class InvalidEvaluation(RuntimeError):
    """The environment ended too many episodes, or too few were judged: no rate would describe the model."""


def evaluate_model(
    run: StageRun, model: Path, version: str, tasks: list[Task]
) -> tuple[list[Trajectory], list[Verdict]]:
    """Roll out one episode per task with a model, sampled and limited as `evaluation` says, and judge the finished
    episodes.

    Raises:
        EndpointError: a model that labels has no key in the environment; raised before the first episode.
    """
    require_labeller(run.params)
    evaluation = run.params.evaluation
    policy = open_model(model, run.params, version, run.state)
    limits = EpisodeLimits(evaluation.sampling, evaluation.max_steps, run.params.evaluation_agent)
    episodes = episode_specs(tasks, 1, version, run.params.seed)
    trajectories = list(asyncio.run(roll_out(run, episodes, policy, limits)))
    return trajectories, label(run, (trajectory for trajectory in trajectories if needs_judge(trajectory)))


def summarise(run: StageRun, trajectories: list[Trajectory], verdicts: list[Verdict]) -> None:
    """Write the stage's figures. Held-out tasks that the judge left without a verdict are reported as not measured.

    Raises:
        InvalidEvaluation: more than `evaluation.max_aborted` of the episodes were ended by the environment or not
            judged, or so many of the held-out ones were ended by the environment, or it ended most of a family.
    """
    evaluation = run.params.evaluation
    summary = success(trajectories, verdicts, evaluation.max_aborted)
    run.evaluation(trajectories, verdicts)
    tasks = " and ".join(sorted({trajectory.task.source for trajectory in trajectories}))
    meaning = {world.name: world.clean_success for world in worlds_of(run.params)}
    figures = summary.model_dump(mode="json", exclude_none=True)
    run.result({"recipe": run.params.name, "tasks": tasks, "clean_success": meaning, **figures})
    run.result({"harness_errors": harness_errors(t.termination for t in trajectories)})
    if summary.heldout_problems:
        reason = "; ".join(summary.heldout_problems)
        run.tracker.tags({HELDOUT_TAG: f"not measured: {reason}"})
        say(f"{run.name}: the held-out tasks are not measured: {reason}")
    else:
        run.tracker.remove_tag(HELDOUT_TAG)
    if not summary.valid:
        ended = [trajectory for trajectory in trajectories if not trajectory.termination.is_agents_doing]
        reason = f"; the environment ended most by {commonest_reason(ended)}" if ended else ""
        raise InvalidEvaluation(
            f"{run.name}: {'; '.join(summary.problems)}: {summary.terminations}{reason}; fix the cause and run again"
        )
