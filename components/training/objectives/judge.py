"""Judge distillation: rationale and verdict of a labelled trajectory (OpenWebRL, section 4.3).

The loss is that of `objectives.sft` over one sample per trajectory: y_i is the label's rationale and its verdict, x_i
the question that the judge will be asked, and

    w_i = N / (2 N_c)      for N_c of the N trajectories with the verdict c of i

so that both verdicts weigh the same, however rare successes are. With `judge.balance: false`, or where all verdicts are
the same, every w_i is 1.

Deviation: the paper says nothing of weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.records import Outcome


def weights(outcomes: Sequence[Outcome], balance: bool) -> list[float]:
    """One for each labelled trajectory, success or failure."""
    count = {outcome: outcomes.count(outcome) for outcome in (Outcome.SUCCESS, Outcome.FAILURE)}
    if not balance or not all(count.values()):
        return [1.0] * len(outcomes)
    return [len(outcomes) / 2 / count[outcome] for outcome in outcomes]
