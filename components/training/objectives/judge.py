"""Judge distillation: rationale and verdict of a labelled trajectory (OpenWebRL, section 4.3).

The loss is that of `objectives.supervised` with one sample per trajectory: the response is the label's rationale and
its verdict, the prompt is the question that the judge will get, and

    w_i = T / (2 T_c)      for T_c of the T response tokens of all trajectories, those with the verdict c of i

so that over an epoch both verdicts have the same share of the loss, however rare successes are, and however long the
rationales of each are. Where the tokens of steps differ in number, the shares differ by about 1%, since each step
divides by its own. The weights of tokens have mean 1. With `judge.distill.balance: false`, or where all verdicts are
the same, every w_i is 1.

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
        samples = [
            self.folder.sample(training_sample(trajectory, verdict, self.params, encoder))
            for trajectory, verdict in zip(trajectories, verdicts, strict=True)
        ]
        outcomes, tokens = [verdict.outcome for verdict in verdicts], [len(sample.response) for sample in samples]
        weights = balanced_weights(outcomes, tokens, self.params.judge.distill.balance)
        return [[WeightedSample(sample, weight)] for sample, weight in zip(samples, weights, strict=True)]


def balanced_weights(outcomes: Sequence[Outcome], tokens: Sequence[int], balance: bool) -> list[float]:
    """One weight for each labelled trajectory, success or failure.

    Args:
        tokens: the length of each response.
    """
    of_class = dict.fromkeys((Outcome.SUCCESS, Outcome.FAILURE), 0)
    for outcome, length in zip(outcomes, tokens, strict=True):
        of_class[outcome] += length
    if not balance or not all(of_class.values()):
        return [1.0] * len(outcomes)
    return [sum(tokens) / 2 / of_class[outcome] for outcome in outcomes]
