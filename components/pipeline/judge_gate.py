"""Decides before the first rollout whether a judge may reward RL, by its agreement with labels.

This guards against reward hacking: a policy learns to please a judge that is often wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from components.judge import Agreement, JudgeClients, JudgeFn, ModelJudge, agreement
from components.judge.labelled_verdicts import LabelledVerdict, LabelledVerdicts
from components.judge.labels import read_labels, read_trajectories
from components.params import JudgeParams
from components.pipeline.labels import is_audited
from components.pipeline.stage_run import StageRun
from components.records import Outcome, Trajectory
from components.store import read_json

ROLLOUTS, LABELS = Path("data/judge/trajectories.parquet"), Path("models/judge/model/verdicts.parquet")
"""The outputs of judge_rollouts: trajectories that needed a judge, and their labels."""
MAX_ERRORS = 0.25
"""The largest share of verdicts that may be errors, as that of a validation of RL (`training.selection`)."""


class UntrustedJudge(RuntimeError):
    """The judge agrees too seldom with the labels to reward RL, or its agreement cannot be measured."""


def measured_on(params: JudgeParams) -> list[Path]:
    """The files of labelled trajectories on which the model that rewards is measured; none if it is not measured.

    Raises:
        UntrustedJudge: a file that the recipe names does not exist.
    """
    if params.reward != "model" or params.trust.min_agreement == 0:
        return []
    if params.trust.labels is None:
        return [ROLLOUTS, LABELS]
    named = {"trajectories": Path(params.trust.labels.trajectories), "file": Path(params.trust.labels.file)}
    if missing := [f"{key} {path}" for key, path in named.items() if not path.exists()]:
        raise UntrustedJudge(
            f"judge.trust.labels names {' and '.join(missing)}, which does not exist: the judge cannot be measured"
        )
    return [*named.values()]


def trust_distilled(path: Path, params: JudgeParams) -> None:
    """Check the agreement of the distilled judge, which is in the file `path`.

    Raises:
        UntrustedJudge: it agrees too seldom.
    """
    measured = Agreement.model_validate(read_json(path))
    _require_agreement(
        measured,
        params,
        f"the distilled judge agrees with the labels on {measured.accuracy:.1%} of {measured.n} held-out trajectories",
        "give it more rollouts (judge.distill.rollout_tasks), or set judge.reward to rules",
    )


async def trusted_model(run: StageRun, clients: JudgeClients) -> JudgeFn:
    """The model that rewards, after its agreement with labels was measured; the figures are in the stage's result.

    Raises:
        UntrustedJudge: it agrees too seldom, or no labelled rollout could be judged.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; answers so far are kept.
    """
    params = run.params.judge
    assert params.model is not None
    model = await ModelJudge(params.model, clients).connect()
    if measured_on(params):
        compared = await _compare(model, params)
        measured = _agreement(compared)
        figures = {"judge_trust": measured.model_dump(mode="json")}
        run.metrics(figures)
        run.result(figures | {"judge_verdicts": compared.model_dump(mode="json")})
        labels = "the rules" if params.trust.labels is None else params.trust.labels.file
        _require_agreement(
            measured,
            params,
            f"{params.model.endpoint.model} agrees with {labels} on "
            f"{measured.accuracy:.1%} of {measured.n} labelled rollouts",
            "name a better model in judge.model.endpoint or another judge.model.protocol (`waymark judge calibrate` "
            "compares them), or set judge.reward to rules",
        )
    return model


def _require_agreement(measured: Agreement, params: JudgeParams, finding: str, fixes: str) -> None:
    """Require `judge.trust.min_agreement`, and more than the share of the more frequent label.

    Above that share, where most attempts fail, more than half of the judge's successes are labelled as successes.

    Args:
        finding: the first clause of the error, with the figures.
        fixes: the last clause of the error, what the user can do.

    Raises:
        UntrustedJudge: the judge agrees too seldom, or not more often than a judge that always gives the same verdict.
    """
    if measured.accuracy < params.trust.min_agreement:
        raise UntrustedJudge(
            f"{finding}, less than judge.trust.min_agreement = {params.trust.min_agreement:.1%}: {fixes}"
        )
    if params.trust.min_agreement > 0 and measured.majority_accuracy == 1:
        raise UntrustedJudge(f"{finding}, whose labels are all the same: label successes and failures, or {fixes}")
    if params.trust.min_agreement > 0 and measured.accuracy <= measured.majority_accuracy:
        raise UntrustedJudge(
            f"{finding}, and a judge that always gives the more frequent label agrees on "
            f"{measured.majority_accuracy:.1%}: {fixes}"
        )


async def _compare(model: ModelJudge, params: JudgeParams) -> LabelledVerdicts:
    """Judge all of `judge.trust.labels`, or a fixed sample of the rollouts that rules labelled, without episodes that
    the environment ended: no judge is asked about these.

    Rationales are left out: they can be long, and the answers are kept.
    """
    assert params.model is not None
    named = params.trust.labels
    table, file = measured_on(params)
    labels, share = read_labels(file).outcomes, params.trust.audit_share if named is None else 1.0
    tasks: dict[str, str] = {}

    def labelled() -> Iterator[Trajectory]:
        for trajectory in read_trajectories(table, labels):
            is_judged = trajectory.trajectory_id in labels and trajectory.termination.is_agents_doing
            if is_judged and is_audited(trajectory, share):
                tasks[trajectory.trajectory_id] = trajectory.task_id
                yield trajectory

    verdicts = await model(labelled())
    errors = sum(verdict.outcome is Outcome.ERROR for verdict in verdicts)
    if MAX_ERRORS * len(verdicts) < errors < len(verdicts):
        raise UntrustedJudge(
            f"of {len(verdicts)} labelled rollouts {errors} could not be judged, and of the others no agreement can be "
            "measured: run again when judge.model.endpoint answers"
        )
    if all(verdict.outcome is Outcome.ERROR for verdict in verdicts):
        raise UntrustedJudge(
            f"of {len(labels)} labelled rollouts {len(verdicts)} are in the sample and none was judged, so the model "
            "that rewards cannot be compared with judge.trust.min_agreement: "
            + (
                f"check that judge.model.endpoint answers ({verdicts[0].rationale})"
                if verdicts
                else "raise judge.trust.audit_share or judge.distill.rollout_tasks"
                if named is None
                else f"name the trajectories that {file} labels, which are not in {table}, or label episodes that "
                "the environment did not end"
            )
        )
    return LabelledVerdicts(
        judge=params.model.endpoint.model,
        file=None if named is None else named.file,
        verdicts=[
            LabelledVerdict(
                task_id=tasks[verdict.trajectory_id],
                label=labels[verdict.trajectory_id],
                verdict=verdict.model_copy(update={"rationale": ""}),
            )
            for verdict in verdicts
        ],
    )


def _agreement(compared: LabelledVerdicts) -> Agreement:
    """Agreement with the labels. A trajectory that the model could not judge because of an error is left out."""
    judged = [case for case in compared.verdicts if case.verdict.outcome is not Outcome.ERROR]
    return agreement([case.label for case in judged], [case.verdict.outcome for case in judged])
