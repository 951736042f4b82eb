"""Does the candidate become the champion? Only if it is better on the same tasks, interval and all; said either way."""

from __future__ import annotations

import asyncio
from pathlib import Path

from components import tracking
from components.evaluation import episodes, scores, success
from components.judge import needs_judge, rules_verdict
from components.records import Task, Trajectory, Verdict
from components.stages._episodes import load_policy, roll_out
from components.stages._promotion import compare
from components.stages._run import StageRun

NAME = "waymark-policy"


def evaluate_model(
    run: StageRun, model: Path, version: str, tasks: list[Task]
) -> tuple[list[Trajectory], list[Verdict]]:
    """Roll out one episode per task with a model, decoded as the recipe evaluates, and judge those that finished."""
    evaluation = run.params.evaluation
    policy = load_policy(run.params, model, version)
    limits = evaluation.max_steps, evaluation.max_response_tokens
    trajectories = asyncio.run(roll_out(run, tasks, 1, policy, version, evaluation.sampling, *limits))
    return trajectories, [rules_verdict(trajectory) for trajectory in trajectories if needs_judge(trajectory)]


def decide(run: StageRun, model: Path, trajectories: list[Trajectory], verdicts: list[Verdict]) -> None:
    """Move the alias `champion` to `model` if it beats the champion on the tasks of `trajectories`.

    The champion is evaluated here and now, on the same tasks and with the same code: figures from another day are no
    comparison. Without a champion, the candidate becomes the first.
    """
    version = run.tracker.register(model, NAME)
    champion = tracking.champion(run.params, NAME)
    if champion is None:
        run.tracker.decision(NAME, version, True, {"reason": "first champion"})
        print(f"champion: version {version} is the first")
        return
    if champion.version == version:
        print(f"champion: version {version} is the champion already")
        return
    foreign = champion.foreign_to(run.params)
    if foreign:
        run.tracker.decision(NAME, version, False, {"against": champion.version, "reason": foreign})
        print(
            f"champion: {foreign}, and stays; to change over, move the alias `champion` to {version} in the MLflow UI"
        )
        return
    tasks = [trajectory.task for trajectory in trajectories]
    theirs = evaluate_model(run, champion.path, f"champion:{champion.version}", tasks)
    evaluation = run.params.evaluation
    again = success(*theirs, evaluation.bootstrap, run.params.seed, evaluation.max_aborted)
    if not again.valid:
        # episodes that the environment ended count as failures: the champion would lose to a broken browser
        evidence = {"against": champion.version, "reason": "the champion's evaluation is invalid"}
        run.tracker.decision(NAME, version, False, evidence)
        print(
            f"champion: version {champion.version} stays; the environment ended {again.aborted} of its "
            f"{len(tasks)} episodes, so that the comparison is void: {again.terminations}"
        )
        return
    mine = [e for e in episodes(trajectories, verdicts) if e.split != "heldout"]
    other = [e for e in episodes(*theirs) if e.split != "heldout"]
    compare(run, NAME, version, champion.version, scores(mine), scores(other))
