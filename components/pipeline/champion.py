"""Promotes a policy to champion if it is better on the same tasks, by the rule in `promotion`."""

from __future__ import annotations

from pathlib import Path

from components import tracking
from components.evaluation import headline, join_verdicts, of_the_agent, scores, success
from components.pipeline.evaluation import evaluate_model
from components.pipeline.promotion import ChampionEvaluation, Compared, NotComparable, Scores, promote_if_better
from components.pipeline.stage_run import StageRun
from components.records import Trajectory, Verdict
from components.rollout import harness_errors


def decide(run: StageRun, model: Path, trajectories: list[Trajectory], verdicts: list[Verdict]) -> None:
    """Move the alias `champion` to `model` if it beats the champion on the tasks of `trajectories`.

    The champion is evaluated now, on the same tasks and with the same code, because figures from another day are not
    comparable. `champion` in the stage's result has its version, its harness errors, and the seconds of its evaluation
    in the try of the stage that decided, which are part of the stage's own.
    """

    def measure(champion: tracking.ModelVersion) -> Compared:
        tasks = [trajectory.task for trajectory in trajectories]
        began = run.seconds
        evaluated = evaluate_model(run, champion.path, f"champion {champion.identity}", tasks)
        wall_s, errors = round(run.seconds - began, 2), harness_errors(t.termination for t in evaluated[0])
        evaluation = ChampionEvaluation(version=champion.version, harness_errors=errors, wall_s=wall_s)
        evaluation.report(run)
        summary = success(*evaluated, run.params.evaluation.max_aborted)
        if not summary.valid:
            # aborted episodes count as failures, so a broken browser would make the champion lose
            raise NotComparable(
                f"the champion's evaluation is invalid: {'; '.join(summary.problems)}: {summary.terminations}"
            )
        return Compared(_scores(trajectories, verdicts), _scores(*evaluated), evaluation)

    promote_if_better(run, tracking.POLICY, run.tracker.register(model, tracking.POLICY), measure)


def _scores(trajectories: list[Trajectory], verdicts: list[Verdict]) -> Scores:
    """Success by task; None where no judge decided, or where the environment ended the episode."""
    return scores(of_the_agent(headline(join_verdicts(trajectories, verdicts))))
