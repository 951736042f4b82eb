"""Judge distillation: rationale and verdict of a labelled trajectory (OpenWebRL, section 4.3).

The loss is that of `objectives.supervised` with one sample per trajectory: the response is the label's rationale and
its verdict, the prompt is the question that the judge will get, and

    w_i = N / (2 N_c)      for N_c of the N trajectories with the verdict c of i

so that both verdicts weigh the same, however rare successes are. With `judge.distill.balance: false`, or where all
verdicts are the same, every w_i is 1.

Deviation: the paper does not mention weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from components.judge.distilled import training_sample
from components.model import Encoder, ImageFolder
from components.params import Params
from components.records import Outcome, Trajectory, Verdict
from components.training.objectives.supervised import SupervisedObjective, WeightedSample


@dataclass(frozen=True)
class JudgeDistillation(SupervisedObjective):
    """The verdict on each trajectory, with weights that balance successes and failures."""

    params: Params
    verdicts: Mapping[str, Verdict]
    """By trajectory id; those on the given trajectories are successes or failures."""
    folder: ImageFolder
    """Where the screenshots of the samples are, so that no process holds all of them in memory."""

    @override
    def samples(self, trajectories: Sequence[Trajectory], encoder: Encoder) -> list[list[WeightedSample]]:
        verdicts = [self.verdicts[trajectory.trajectory_id] for trajectory in trajectories]
        weights = balanced_weights([verdict.outcome for verdict in verdicts], self.params.judge.distill.balance)
        return [
            [WeightedSample(self.folder.sample(training_sample(trajectory, verdict, self.params, encoder)), weight)]
            for trajectory, verdict, weight in zip(trajectories, verdicts, weights, strict=True)
        ]


def balanced_weights(outcomes: Sequence[Outcome], balance: bool) -> list[float]:
    """One weight for each labelled trajectory, success or failure."""
    count = {outcome: outcomes.count(outcome) for outcome in (Outcome.SUCCESS, Outcome.FAILURE)}
    if not balance or not all(count.values()):
        return [1.0] * len(outcomes)
    return [len(outcomes) / 2 / count[outcome] for outcome in outcomes]
