"""The interface of the objectives of supervised training: they turn trajectories into weighted samples.

`training.supervised.train` minimises, over the samples i of an optimiser step,

    loss = - sum_i w_i sum_k log pi(y_ik | x_i, y_i<k)  /  sum_i |y_i|

where y_i is the response, x_i the prompt and w_i the sample's weight. The divisor has no weights: they would cancel in
a step whose samples all weigh the same, and a rare class would lose what its weight gives it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from components.model import Encoder, Sample
from components.records import Trajectory


@dataclass(frozen=True)
class WeightedSample:
    """A prompt with its response, and the weight of the response's tokens in the loss."""

    sample: Sample
    weight: float = 1.0


class SupervisedObjective(ABC):
    """What supervised training learns from trajectories."""

    @abstractmethod
    def samples(self, trajectories: Sequence[Trajectory], encoder: Encoder) -> list[list[WeightedSample]]:
        """The samples, in lists whose members stay together and in order when an epoch is shuffled."""
