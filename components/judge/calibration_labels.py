"""The labels with which `waymark judge calibrate` compares judges, and the second expert, who is compared like a judge.

Labels are a file, AgentRewardBench's annotations, or what the states of worlds say. If the trajectories are
AgentRewardBench's folder, its annotations also have a split, aspects, and a second expert: the agreement of experts is
a ceiling for judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components.judge.calibration import Calibration
from components.judge.expert_annotations import Annotation, of_split, read_experts, second_expert
from components.judge.judges import available_judges
from components.judge.labels import CannotCompare, Labels, is_agent_reward_bench, read_labels, read_trajectories
from components.judge.truth import read_truth
from components.params import Params
from components.records import Outcome


@dataclass(frozen=True)
class CalibrationLabels:
    """Labels by trajectory id, with what is known beside them."""

    outcomes: Mapping[str, Outcome]
    left_out: list[str]
    """A sentence about each row that gives no label."""
    experts: Mapping[str, list[Annotation]] | None
    """The annotations of all experts by trajectory id; None if the labels are none of AgentRewardBench's."""
    is_benchmark: bool
    """The trajectories are AgentRewardBench's folder, in which each has the benchmark's own reward."""

    def judges(self, params: Params) -> list[str]:
        """The judges to compare if none is named: the available ones, with the benchmark's own reward."""
        first, *others = available_judges(params.judge)
        return [first, *(["functional"] if self.is_benchmark else []), *others]

    def second_expert(self, params: Params) -> Calibration | None:
        """The second expert as a judge; None without two experts."""
        if self.experts is None:
            return None
        return second_expert(self.experts, params.evaluation.bootstrap, params.seed)


def read_calibration_labels(trajectories: Path, labels: Path | None, split: str | None) -> CalibrationLabels:
    """The labels of trajectories.

    Args:
        trajectories: a file or folder that `read_trajectories` reads.
        labels: a file; None stands for the states of the worlds.
        split: the part of AgentRewardBench to keep, `dev` or `test`; None keeps both.

    Raises:
        CannotCompare: see `read_labels` and `read_truth`; or a split is asked for without AgentRewardBench's files.
        Unreadable: AgentRewardBench's annotations differ from the published form.
    """
    known = Labels(read_truth(read_trajectories(trajectories)), []) if labels is None else read_labels(labels)
    is_benchmark = labels is not None and is_agent_reward_bench(trajectories)
    experts: Mapping[str, list[Annotation]] | None = None
    outcomes: Mapping[str, Outcome] = known.outcomes
    if is_benchmark and labels is not None and _is_annotated(labels):
        experts = read_experts(labels)
    if split is not None:
        if experts is None or labels is None:
            raise CannotCompare("--split is of AgentRewardBench: give its folder and its annotations.csv")
        experts = of_split(experts, labels, split)
        outcomes = {key: label for key, label in outcomes.items() if key in experts}
    return CalibrationLabels(outcomes, known.left_out, experts, is_benchmark)


def _is_annotated(path: Path) -> bool:
    """Whether a file has the columns of AgentRewardBench's annotations."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return "trajectory_success" in file.readline()
