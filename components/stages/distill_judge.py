"""Train the judge on rationale and verdict, and measure its agreement on tasks it has not seen."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path

import torch

from components import quality, store, tracking
from components.judge import agreement
from components.judge.calibration import Calibration, calibrate
from components.judge.distilled import DistilledJudge, hold_out, training_sample
from components.judge.protocols import voted
from components.params import Params, load
from components.policies import VLM, Encoder
from components.records import Outcome, Task, Trajectory, Verdict
from components.stages._curve import write_curve
from components.stages._judge_champion import decide_judge
from components.stages._launch import team
from components.stages._run import local_model, stage
from components.store import read_table
from components.training.objectives.judge import weights
from components.training.sft import Checked, Weighted, train
from components.training.sharding import shard, whole_state
from components.training.team import Team

POOLS = [Path("data/pools/eval.parquet"), Path("data/pools/heldout.parquet")]
TEACHER = Path("data/teacher")
VOTE_TEMPERATURE = 0.3
"""Of the samples that vote with the distilled judge's greedy word."""
DATA, OUT, CURVE = Path("data/judge"), Path("models/judge/distilled"), Path("reports/curves/judge.csv")


@dataclass(frozen=True)
class Split:
    """What the judge learns from and what it is measured on, with the verdicts on both by trajectory."""

    training: list[Trajectory]
    tested: list[Trajectory]
    verdicts: dict[str, Verdict]
    available: int
    """Labelled trajectories in all."""

    @classmethod
    def read(cls, params: Params) -> Split:
        rolled, verdicts = _labelled(DATA)
        taught, teacher_verdicts = _labelled(TEACHER)
        # the teacher's attempts are more to learn from; agreement is measured on the policy's own, on tasks held out
        held = hold_out([t.task for t in rolled], params.judge, params.seed)
        return cls(
            training=[t for t in [*rolled, *taught] if t.task_id not in held],
            tested=[t for t in rolled if t.task_id in held],
            verdicts=verdicts | teacher_verdicts,
            available=len(rolled) + len(taught),
        )

    def outcome(self, trajectory: Trajectory) -> Outcome:
        return self.verdicts[trajectory.trajectory_id].outcome


def main() -> None:
    with team("components.stages.distill_judge") as together:
        if together.leads:
            lead(together)
        else:
            together.follow()


def lead(together: Team) -> None:
    """The stage."""
    inputs = [folder / f"{table}.parquet" for folder in (DATA, TEACHER) for table in ("trajectories", "verdicts")]
    with stage("distill_judge", inputs=[*inputs, *local_model(load().model.judge_base)]) as run:
        params = run.params
        split = Split.read(params)
        tested, labels = split.tested, [split.outcome(t) for t in split.tested]
        run.check(
            "training",
            quality.trajectory_frame(split.training),
            evaluation=quality.task_frame(task for path in POOLS for task in read_table(path, Task)),
            max_rows=split.available,
        )
        base = VLM.load(params.model.judge_base, params.model)
        by_base = DistilledJudge(base, run.key, params).judge(tested)
        del base
        untrained = agreement(labels, [verdict.outcome for verdict in by_base])
        curve: list[dict[str, float]] = []

        def report(step: int, steps: int, loss: float) -> None:
            curve.append({"step": step, "loss": round(loss, 6)})
            run.metrics({"loss": loss}, step)
            run.progress(step, steps, f"loss {loss:.3f}")

        together.held["report"] = report
        vlm, state, checked = together.run(distill, params)
        vlm.publish(OUT, state=state)
        del vlm, state
        gc.collect()  # layers that were spread, and what spread them, hold each other
        vlm = VLM.load(OUT, params.model)
        judged = DistilledJudge(vlm, run.key, params).judge(tested)
        measured = agreement(labels, [verdict.outcome for verdict in judged])
        contest = {"base": by_base, "distilled": judged, "vote of three": _vote(vlm, tested, judged, params)}
        store.write_json(OUT / "agreement.json", measured.model_dump(mode="json"))
        write_curve(CURVE, curve)
        version = run.tracker.register(OUT, tracking.JUDGE)
        decide_judge(run, version, tested, labels, judged)
        run.result(
            measured.model_dump(mode="json")
            | {
                "untrained_accuracy": untrained.accuracy,
                "calibration": [
                    _held_against(name, tested, labels, said, params).model_dump(mode="json")
                    for name, said in contest.items()
                ],
                "trained_on": len(split.training),
                **checked.figures,
                "version": version,
                "losses": curve,
            }
        )


def distill(together: Team, params: Params) -> tuple[VLM, dict[str, torch.Tensor] | None, Checked]:
    """A job: train the judge, shared by all processes; the model, its state where it is spread over them, and whether
    it packed."""
    torch.manual_seed(params.seed)
    split = Split.read(params)
    vlm = VLM.load(params.model.judge_base, params.model, train=True)
    vlm.prepare(params.model, params.seed)
    if params.training.shard and together.size > 1:
        shard(vlm, together)
    encoder = Encoder(vlm)
    outcomes = [split.outcome(t) for t in split.training]
    data = [
        [Weighted(training_sample(t, split.verdicts[t.trajectory_id], params, encoder), weight)]
        for t, weight in zip(split.training, weights(outcomes, params.judge.balance), strict=True)
    ]
    report = together.held.get("report", lambda step, steps, loss: None)
    checked = train(vlm, encoder, data, params.judge.optim, params.seed, report, together)
    return vlm, whole_state(vlm), checked


def _vote(vlm: VLM, tested: list[Trajectory], greedy: list[Verdict], params: Params) -> list[Verdict]:
    """Two of three: the greedy word and two samples, the second of which is asked for only where the others differ."""

    def sample(seed: int, of: list[Trajectory]) -> list[Verdict]:
        return DistilledJudge(vlm, "sample", params, temperature=VOTE_TEMPERATURE, seed=seed).judge(of)

    votes = {one.trajectory_id: [one] for one in greedy}
    for first in sample(params.seed + 1, tested):
        votes[first.trajectory_id].append(first)
    undecided = [t for t in tested if voted(votes[t.trajectory_id]).outcome is Outcome.UNPARSED]
    for second in sample(params.seed + 2, undecided):
        votes[second.trajectory_id].append(second)
    return [voted(votes[trajectory.trajectory_id]) for trajectory in tested]


def _held_against(
    name: str, tested: list[Trajectory], labels: list[Outcome], said: list[Verdict], params: Params
) -> Calibration:
    tasks = [trajectory.task_id for trajectory in tested]
    return calibrate(name, tasks, labels, said, params.evaluation.bootstrap, params.seed)


def _labelled(folder: Path) -> tuple[list[Trajectory], dict[str, Verdict]]:
    """Trajectories with a verdict of success or failure, and the verdicts by trajectory."""
    verdicts = {verdict.trajectory_id: verdict for verdict in read_table(folder / "verdicts.parquet", Verdict)}
    known = {identity for identity, v in verdicts.items() if v.outcome in (Outcome.SUCCESS, Outcome.FAILURE)}
    return [t for t in read_table(folder / "trajectories.parquet", Trajectory) if t.trajectory_id in known], verdicts


if __name__ == "__main__":
    main()
