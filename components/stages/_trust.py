"""May this judge reward RL? Its agreement with the labels, before the first rollout (guard against reward hacking)."""

from __future__ import annotations

from pathlib import Path

from components.judge import Agreement, JudgeClients, JudgeFn, ModelJudge, agreement
from components.params import JudgeParams
from components.records import Outcome, Trajectory, Verdict
from components.stages._judging import is_audited
from components.stages._run import StageRun
from components.store import iter_table, read_json, read_table

ROLLOUTS, LABELS = Path("data/judge/trajectories.parquet"), Path("models/judge/model/verdicts.parquet")
"""What judge_rollouts leaves: trajectories that needed a judge, and the labels on them."""


class UntrustedJudge(RuntimeError):
    """The judge agrees too seldom with the labels to reward RL, or nobody can tell how often it does."""


def is_measured(params: JudgeParams) -> bool:
    """Whether the model that rewards is to be held against labels of the rules."""
    return params.reward == "model" and params.labels == "rules" and params.min_agreement > 0


def trust_distilled(path: Path, params: JudgeParams) -> None:
    """Raises:
    UntrustedJudge: by its `agreement.json`, it agrees too seldom.
    """
    accuracy = read_json(path)["accuracy"]
    if accuracy < params.min_agreement:
        raise UntrustedJudge(
            f"the distilled judge is right on {accuracy:.1%} of the held-out trajectories, judge.min_agreement is "
            f"{params.min_agreement:.1%}: give it more rollouts (judge.rollout_tasks), or set judge.reward to rules"
        )


async def trusted_model(run: StageRun, clients: JudgeClients) -> JudgeFn:
    """The model that rewards, held against the rules' labels first; its agreement is part of the stage's result.

    Raises:
        UntrustedJudge: it agrees too seldom, or nothing there can tell.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    params = run.params.judge
    model = await ModelJudge(params, clients).connect()
    if is_measured(params):
        found = await _measure(model, params)
        figures = {"judge_trust": found.model_dump(mode="json")}
        run.metrics(figures)
        run.result(figures)
        if found.accuracy < params.min_agreement:
            raise UntrustedJudge(
                f"{params.endpoint.model if params.endpoint else model.version} agrees with the rules on "
                f"{found.accuracy:.1%} of {found.n} labelled rollouts, judge.min_agreement is "
                f"{params.min_agreement:.1%}: name a better model in judge.endpoint or another judge.protocol "
                "(`waymark judge calibrate` compares them), or set judge.reward to rules"
            )
    elif params.min_agreement > 0:
        print(
            f"warning: the model that rewards also labels, so nothing holds it to judge.min_agreement "
            f"({params.min_agreement:.1%}): `waymark judge calibrate --labels FILE` does, with labels of your own",
            flush=True,
        )
    return model


async def _measure(model: ModelJudge, params: JudgeParams) -> Agreement:
    """Agreement on a fixed sample of the labelled rollouts. What the model could not be asked about says nothing of it
    and is left out."""
    known = {v.trajectory_id: v.outcome for v in read_table(LABELS, Verdict)}
    labels = {key: label for key, label in known.items() if label in (Outcome.SUCCESS, Outcome.FAILURE)}
    sample = (
        trajectory
        for trajectory in iter_table(ROLLOUTS, Trajectory)
        if trajectory.trajectory_id in labels and is_audited(trajectory, params.audit_share)
    )
    verdicts = await model(sample)
    said = [verdict for verdict in verdicts if verdict.outcome is not Outcome.ERROR]
    if not said:
        raise UntrustedJudge(
            f"of {len(labels)} labelled rollouts {len(verdicts)} are in the sample and none was judged, so nothing "
            "holds the model that rewards to judge.min_agreement: "
            + (
                f"see that judge.endpoint answers ({verdicts[0].rationale})"
                if verdicts
                else "raise judge.audit_share or judge.rollout_tasks"
            )
        )
    return agreement([labels[verdict.trajectory_id] for verdict in said], [verdict.outcome for verdict in said])
