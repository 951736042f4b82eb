"""May this judge reward RL? Its agreement with the labels, before the first rollout (guard against reward hacking)."""

from __future__ import annotations

from pathlib import Path

from components.judge import Agreement, JudgeClients, JudgeFn, ModelJudge, agreement
from components.judge.contest import read_labels, read_trajectories
from components.params import JudgeParams
from components.records import Outcome
from components.stages._judging import is_audited
from components.stages._run import StageRun
from components.store import read_json

ROLLOUTS, LABELS = Path("data/judge/trajectories.parquet"), Path("models/judge/model/verdicts.parquet")
"""What judge_rollouts leaves: trajectories that needed a judge, and the labels on them."""


class UntrustedJudge(RuntimeError):
    """The judge agrees too seldom with the labels to reward RL, or nobody can tell how often it does."""


def measured_on(params: JudgeParams) -> list[Path]:
    """Trajectories and the labels on them that the model that rewards is held against; nothing where it is not.

    Raises:
        UntrustedJudge: a file that the recipe names is not there.
    """
    if params.reward != "model" or params.min_agreement == 0:
        return []
    if params.trust_labels is None:
        return [ROLLOUTS, LABELS]
    named = {"trajectories": Path(params.trust_labels.trajectories), "labels": Path(params.trust_labels.labels)}
    if missing := [f"{key} {path}" for key, path in named.items() if not path.exists()]:
        raise UntrustedJudge(f"judge.trust_labels names {' and '.join(missing)}: not there, so nothing can be measured")
    return [*named.values()]


def trust_distilled(path: Path, params: JudgeParams) -> None:
    """Raises:
    UntrustedJudge: by its `agreement.json`, it agrees too seldom.
    """
    found = Agreement.model_validate(read_json(path))
    _hold(
        found,
        params,
        f"the distilled judge is right on {found.accuracy:.1%} of {found.n} held-out trajectories",
        "give it more rollouts (judge.rollout_tasks), or set judge.reward to rules",
    )


async def trusted_model(run: StageRun, clients: JudgeClients) -> JudgeFn:
    """The model that rewards, held against labels first; its agreement is part of the stage's result.

    Raises:
        UntrustedJudge: it agrees too seldom, or nothing there can tell.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    params = run.params.judge
    model = await ModelJudge(params, clients).connect()
    if measured_on(params):
        found = await _measure(model, params)
        figures = {"judge_trust": found.model_dump(mode="json")}
        run.metrics(figures)
        run.result(figures)
        labels = "the rules" if params.trust_labels is None else params.trust_labels.labels
        _hold(
            found,
            params,
            f"{params.endpoint.model if params.endpoint else model.version} agrees with {labels} on "
            f"{found.accuracy:.1%} of {found.n} labelled rollouts",
            "name a better model in judge.endpoint or another judge.protocol (`waymark judge calibrate` compares "
            "them), or set judge.reward to rules",
        )
    return model


def _hold(found: Agreement, params: JudgeParams, measured: str, fixes: str) -> None:
    """Hold a measured judge to `judge.min_agreement`, and to more than the share of the more frequent label: above it,
    where most attempts fail, more than half of what the judge calls a success is one.

    Raises:
        UntrustedJudge: the judge is right too seldom, or no more often than one that always says the same.
    """
    if found.accuracy < params.min_agreement:
        raise UntrustedJudge(f"{measured}, judge.min_agreement is {params.min_agreement:.1%}: {fixes}")
    if params.min_agreement > 0 and found.majority_accuracy == 1:
        raise UntrustedJudge(f"{measured}, whose labels are all the same: label successes and failures, or {fixes}")
    if params.min_agreement > 0 and found.accuracy <= found.majority_accuracy:
        raise UntrustedJudge(
            f"{measured}, where the more frequent label, said of each, is right on {found.majority_accuracy:.1%}: "
            f"{fixes}"
        )


async def _measure(model: ModelJudge, params: JudgeParams) -> Agreement:
    """Agreement on all of `judge.trust_labels`, or on a fixed sample of the rollouts that rules labelled. What the
    model could not be asked about says nothing of it and is left out."""
    table, file = measured_on(params)
    labels, share = read_labels(file), params.audit_share if params.trust_labels is None else 1.0
    verdicts = await model(
        one for one in read_trajectories(table) if one.trajectory_id in labels and is_audited(one, share)
    )
    said = [verdict for verdict in verdicts if verdict.outcome is not Outcome.ERROR]
    if not said:
        raise UntrustedJudge(
            f"of {len(labels)} labelled rollouts {len(verdicts)} are in the sample and none was judged, so nothing "
            "holds the model that rewards to judge.min_agreement: "
            + (
                f"see that judge.endpoint answers ({verdicts[0].rationale})"
                if verdicts
                else "raise judge.audit_share or judge.rollout_tasks"
                if params.trust_labels is None
                else f"name the trajectories that {file} labels, which are not in {table}"
            )
        )
    return agreement([labels[verdict.trajectory_id] for verdict in said], [verdict.outcome for verdict in said])
