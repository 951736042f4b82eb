"""What a policy is worth: success, paired comparisons, why episodes fail, the report of a run, a trajectory's page."""

from components.evaluation.metrics import (
    Difference,
    Episode,
    EvaluationError,
    Paired,
    SuccessSummary,
    beats,
    episodes,
    family,
    paired,
    scores,
    success,
)
from components.evaluation.report import Report, build, read_episodes, write_report
from components.evaluation.results import StageResults, read_results
from components.evaluation.taxonomy import FailureKind, failure_kind
from components.evaluation.view import write_page

__all__ = [
    "Difference",
    "Episode",
    "EvaluationError",
    "FailureKind",
    "Paired",
    "Report",
    "StageResults",
    "SuccessSummary",
    "beats",
    "build",
    "episodes",
    "failure_kind",
    "family",
    "paired",
    "read_episodes",
    "read_results",
    "scores",
    "success",
    "write_page",
    "write_report",
]
