"""Verdicts of the judge that rewards beside labels: the judge's gate in RL writes them, and the report shows them."""

from __future__ import annotations

from components.judge.calibration import Calibration, calibrate
from components.records import Outcome, Record, Verdict


class LabelledVerdict(Record):
    """A verdict on a labelled trajectory. The label is success or failure."""

    task_id: str
    label: Outcome
    verdict: Verdict


class LabelledVerdicts(Record):
    """A judge beside labels. `file` has the labels (`judge.trust.labels`); None: they are those of the rules."""

    judge: str
    file: str | None
    verdicts: list[LabelledVerdict]

    def calibration(self, bootstrap: int, seed: int) -> Calibration:
        """The judge's agreement with the labels.

        Args:
            bootstrap: resamples.

        Raises:
            NothingToCompare: all verdicts are errors.
        """
        return calibrate(
            self.judge,
            [case.task_id for case in self.verdicts],
            [case.label for case in self.verdicts],
            [case.verdict for case in self.verdicts],
            bootstrap,
            seed,
        )
