"""Train the judge on rationales and verdicts, and measure its agreement on tasks that it has not seen."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from components import quality, store, tracking
from components.judge import agreement
from components.judge.calibration import Calibration, calibrate
from components.judge.distilled import DistilledJudge, hold_out, require_room
from components.judge.labelled_trajectories import REHEARSED, LabelledTrajectories
from components.judge.mismatched import mismatched
from components.judge.other_answers import WithOtherAnswers
from components.judge.protocols import voted
from components.judge.rules import without_references
from components.lazy_records import Chain, Selection, TableRecords, where
from components.memory import free_models
from components.model import VLM, ImageFolder
from components.params import Params, load
from components.pipeline.curve import write_curve
from components.pipeline.judge_champion import decide_judge
from components.pipeline.launch import process_group
from components.pipeline.stage_run import local_model, stage
from components.records import Outcome, Task, Trajectory, Verdict
from components.store import read_table
from components.training.objectives.judge import JudgeDistillation
from components.training.supervised import LossReport, TrainedModel, no_report, train_model
from components.training.workers import Workers

POOLS = [Path("data/pools/eval.parquet"), Path("data/pools/heldout.parquet")]
RESAMPLES = 10_000
"""Of the bootstrap intervals in the result. They are no key of the recipe: a change of that would train the judge anew,
and RL with it."""
TEACHER = Path("data/teacher")
VOTE_TEMPERATURE = 0.3
"""Of the samples that vote beside the distilled judge's greedy verdict."""
DATA, OUT, CURVE = Path("data/judge"), Path("models/judge/distilled"), Path("reports/curves/judge.csv")


@dataclass(frozen=True)
class Split:
    """The trajectories that the judge learns from and those that it is measured on."""

    training: Sequence[Trajectory]
    """Read from the tables when they are accessed, but for those with the task of another one."""
    tested: Sequence[Trajectory]
    """Read from the table when they are accessed, too."""
    verdicts: dict[str, Verdict]
    """On all of them, by trajectory id."""
    available: int
    """Labelled trajectories in all, those with the task of another one among them."""

    @classmethod
    def read(cls, params: Params) -> Split:
        """Read the labelled trajectories and hold out a share of the tasks (`judge.distill.holdout_share`).

        The judge learns from the teacher's attempts, too. Agreement is measured on the policy's own attempts only.
        """
        rolled_out, verdicts = _labelled(DATA)
        teacher_attempts, teacher_verdicts = _labelled(TEACHER)
        distill, labels = params.judge.distill, verdicts | teacher_verdicts
        held_out = hold_out([t.task for t in rolled_out], distill, params.seed)
        training = where(Chain(rolled_out, teacher_attempts), lambda t: t.task_id not in held_out)
        examples, examples_labels = mismatched(training, labels, distill.mismatched, params.seed)
        learned: Sequence[Trajectory] = Chain(training, examples)
        if distill.other_answers:
            learned = WithOtherAnswers(learned, distill.other_answers, params.seed)
        return cls(
            training=learned,
            tested=where(rolled_out, lambda t: t.task_id in held_out),
            verdicts=labels | {label.trajectory_id: label for label in examples_labels},
            available=len(rolled_out) + len(teacher_attempts) + len(examples),
        )

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """The label of a trajectory, success or failure."""
        return self.verdicts[trajectory.trajectory_id].outcome


def main() -> None:
    """Run the stage on the main process, and serve its jobs on the others."""
    with process_group("components.stages.distill_judge") as workers:
        if workers.is_main:
            run_stage(workers)
        else:
            workers.serve_jobs()


def run_stage(workers: Workers) -> None:
    """The stage, on the main process."""
    inputs = [folder / f"{table}.parquet" for folder in (DATA, TEACHER) for table in ("trajectories", "verdicts")]
    inputs += local_model(load().model.judge_base)
    with stage("distill_judge", inputs, keeps_work=False) as run:
        params = run.params
        split = Split.read(params)
        tested, labels = split.tested, [split.outcome(t) for t in split.tested]
        run.check(
            "training",
            quality.trajectory_frame(split.training),
            evaluation=quality.task_frame(task for path in POOLS for task in read_table(path, Task)),
            max_rows=split.available,
            learns_responses=False,
        )
        base = VLM.load(params.model.judge_base, params.model)
        untrained_judge = DistilledJudge(base, run.key, params)
        limit = params.judge.distill.max_response_tokens
        if cut := require_room(split.verdicts.values(), untrained_judge.encoder, limit):
            print(f"warning: {cut:.0%} of the answers to learn exceed judge.distill.max_response_tokens", flush=True)
        base_verdicts = untrained_judge.judge(tested)
        del base, untrained_judge
        free_models()
        untrained = agreement(labels, [verdict.outcome for verdict in base_verdicts])
        curve: list[dict[str, float]] = []

        def report(step: int, steps: int, loss: float) -> None:
            curve.append({"step": step, "loss": round(loss, 6)})
            run.metrics({"loss": loss}, step)
            run.progress(step, steps, f"loss {loss:.3f}")

        checkpoint = run.checkpoint = run.state / "training.pt"
        trained = workers.run(distill, params, checkpoint, report=report)
        shutil.rmtree(screenshots_of(checkpoint).path, ignore_errors=True)
        trained.vlm.publish(OUT, state=trained.state)
        packing = trained.packing.figures
        del trained
        free_models()
        vlm = VLM.load(OUT, params.model)
        verdicts = DistilledJudge(vlm, run.key, params).judge(tested)
        measured = agreement(labels, [verdict.outcome for verdict in verdicts])
        compared = {"base": base_verdicts, "distilled": verdicts, "vote of three": _vote(vlm, tested, verdicts, params)}
        store.write_json(OUT / "agreement.json", measured.model_dump(mode="json"))
        write_curve(CURVE, curve)
        version = run.tracker.register(OUT, tracking.JUDGE)
        if (retrain := params.judge.distill.retrain) is not None:
            examples = LabelledTrajectories(split.training, split.verdicts)
            examples.sample(retrain.rehearsed, params.seed).write(OUT / REHEARSED)
        decide_judge(run, version, tested, labels, verdicts)
        run.result(
            measured.model_dump(mode="json")
            | {
                "untrained_accuracy": untrained.accuracy,
                "calibration": [
                    _calibration(name, tested, labels, judged, params).model_dump(mode="json")
                    for name, judged in compared.items()
                ],
                "trained_on": len(split.training),
                "cut_answers": cut,
                **packing,
                "version": version,
                "losses": curve,
            }
        )


def distill(workers: Workers, params: Params, checkpoint: Path, report: LossReport = no_report) -> TrainedModel:
    """Job: train the judge."""
    split = Split.read(params)
    objective = JudgeDistillation(params, split.verdicts, screenshots_of(checkpoint))
    optim, base = params.judge.distill.optim, params.model.judge_base
    return train_model(workers, base, params, optim, objective, split.training, report, checkpoint)


def screenshots_of(checkpoint: Path) -> ImageFolder:
    """The screenshots of the training set, which all processes read."""
    return ImageFolder(checkpoint.with_name("screenshots"))


def _vote(vlm: VLM, tested: Sequence[Trajectory], greedy: list[Verdict], params: Params) -> list[Verdict]:
    """Two of three verdicts: the greedy one and two samples. The second is drawn only where the others differ."""

    def sample(seed: int, trajectories: Sequence[Trajectory]) -> list[Verdict]:
        return DistilledJudge(vlm, "sample", params, temperature=VOTE_TEMPERATURE, seed=seed).judge(trajectories)

    votes = {verdict.trajectory_id: [verdict] for verdict in greedy}
    for first in sample(params.seed + 1, tested):
        votes[first.trajectory_id].append(first)
    undecided = [t for t in tested if voted(votes[t.trajectory_id]).outcome is Outcome.UNPARSED]
    for second in sample(params.seed + 2, undecided):
        votes[second.trajectory_id].append(second)
    return [voted(votes[trajectory.trajectory_id]) for trajectory in tested]


def _calibration(
    name: str, tested: Sequence[Trajectory], labels: list[Outcome], verdicts: list[Verdict], params: Params
) -> Calibration:
    """How often the verdicts agree with the labels, with an interval over tasks."""
    tasks = [trajectory.task_id for trajectory in tested]
    return calibrate(name, tasks, labels, verdicts, RESAMPLES, params.seed)


def _labelled(folder: Path) -> tuple[Sequence[Trajectory], dict[str, Verdict]]:
    """Trajectories with a verdict of success or failure, and the verdicts by trajectory, as a judge can learn them."""
    verdicts = {verdict.trajectory_id: verdict for verdict in read_table(folder / "verdicts.parquet", Verdict)}
    known = {identity for identity, v in verdicts.items() if v.outcome in (Outcome.SUCCESS, Outcome.FAILURE)}
    trajectories = TableRecords(folder / "trajectories.parquet", Trajectory)
    places = []
    for place, trajectory in enumerate(trajectories):  # once: every access reads the trajectory again
        if (identity := trajectory.trajectory_id) in known:
            places.append(place)
            verdicts[identity] = without_references(trajectory, verdicts[identity])
    return Selection(trajectories, places), verdicts


if __name__ == "__main__":
    main()
