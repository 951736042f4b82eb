"""The quality of a policy: success with intervals, paired comparison, pass@k, breakdowns, kinds of failure.

The records of intervals and rates are in `components.statistics`.
"""

from components.evaluation.actions import ActionSummary, summarise_actions
from components.evaluation.breakdowns import Slice
from components.evaluation.comparison import (
    Difference,
    PairedDifference,
    beats,
    deserves_promotion,
    exact_paired_p,
    paired_difference,
)
from components.evaluation.episodes import Episode, headline, join_verdicts, of_the_agent, scores
from components.evaluation.errors import EvaluationError
from components.evaluation.metrics import SuccessSummary, success
from components.evaluation.pass_at_k import pass_at_k
from components.evaluation.reasoning_markers import ReasoningMarker
from components.evaluation.taxonomy import GROUP, FailureGroup, FailureKind, failure_kind

__all__ = [
    "GROUP",
    "ActionSummary",
    "Difference",
    "Episode",
    "EvaluationError",
    "FailureGroup",
    "FailureKind",
    "PairedDifference",
    "ReasoningMarker",
    "Slice",
    "SuccessSummary",
    "beats",
    "deserves_promotion",
    "exact_paired_p",
    "failure_kind",
    "headline",
    "join_verdicts",
    "of_the_agent",
    "paired_difference",
    "pass_at_k",
    "scores",
    "success",
    "summarise_actions",
]
