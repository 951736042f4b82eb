"""The report's detailed tables: the same figures of several policies side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.evaluation.breakdowns import AXES, Slice
from components.evaluation.metrics import SuccessSummary, Usage
from components.evaluation.reasoning_markers import MarkerShare, MarkerSummary, ReasoningMarker
from components.evaluation.state_summary import StateSummary
from components.evaluation.taxonomy import GROUP, PUBLISHED, FailureGroup, FailureKind
from components.reports import published

GROUP_NAMES = {
    FailureGroup.ACCESS: "access and environment",
    FailureGroup.REASONING: "reasoning and constraints",
    FailureGroup.GROUNDING: "grounding and interaction",
    FailureGroup.TASK: "task or judge",
    FailureGroup.UNCLEAR: "unclear from the record",
}

Policies = Mapping[str, SuccessSummary]


@dataclass(frozen=True)
class GroupRow:
    """A group of failures: counts by policy, and the share that the paper reports."""

    name: str
    counts: dict[str, int]
    published: float | None


@dataclass(frozen=True)
class MarkerRow:
    """A reasoning marker's shares by policy, and the paper's figures as text."""

    measured: dict[str, MarkerShare]
    published: str


@dataclass(frozen=True)
class Analysis:
    """The tables by the names of their rows. `axes` is by axis, value and policy; `ks` are the k of pass@k."""

    groups: list[GroupRow]
    kinds: dict[str, str]
    axes: dict[str, dict[str, dict[str, Slice]]]
    ks: list[str]
    usage: dict[str, dict[str, str]]
    markers: dict[str, MarkerRow]
    state: dict[str, dict[str, str]]


def analyse(success: Policies) -> Analysis:
    """The tables of these policies, by policy name. Axes with one value are left out, as are websites (shown by
    family)."""
    return Analysis(
        groups=_groups(success),
        kinds=_kinds(success),
        axes={axis: values for axis in AXES if axis != "website" and len(values := _axis(success, axis)) > 1},
        ks=sorted({k for summary in success.values() for k in summary.pass_at_k}, key=int),
        usage=_usage(
            {policy: summary.usage for policy, summary in success.items() if summary.usage is not None}, success
        ),
        markers=_markers(
            {policy: summary.markers for policy, summary in success.items() if summary.markers is not None}
        ),
        state=_state({policy: summary.state for policy, summary in success.items() if summary.state is not None}),
    )


def _groups(success: Policies) -> list[GroupRow]:
    return [
        GroupRow(
            name=name,
            counts={policy: summary.failure_groups.get(group, 0) for policy, summary in success.items()},
            published=PUBLISHED.get(group),
        )
        for group, name in GROUP_NAMES.items()
    ]


def _kinds(success: Policies) -> dict[str, str]:
    """The group of each kind that occurred, in the order of the groups."""
    seen = {kind for summary in success.values() for kind in summary.failures}
    known = {kind.value: GROUP_NAMES[GROUP[kind]] for kind in FailureKind if kind in seen}
    return known | dict.fromkeys(sorted(seen - known.keys()), "")


def _axis(success: Policies, axis: str) -> dict[str, dict[str, Slice]]:
    values: dict[str, dict[str, Slice]] = {}
    for policy, summary in success.items():
        for part in summary.slices(axis):
            values.setdefault(part.value, {})[policy] = part
    return values


def _usage(usage: Mapping[str, Usage], success: Policies) -> dict[str, dict[str, str]]:
    """Rows in which at least one policy has a figure other than 0."""
    if usage.keys() != success.keys():
        return {}

    def row(values: Iterable[float | None], digits: int) -> dict[str, str]:
        return dict(zip(usage, ("–" if value is None else f"{value:,.{digits}f}" for value in values), strict=True))

    figures: dict[str, tuple[list[float | None], int]] = {
        "turns": ([success[policy].turns_mean for policy in usage], 1),
        "prompt tokens": ([took.prompt_tokens_mean for took in usage.values()], 0),
        "response tokens": ([success[policy].response_tokens_mean for policy in usage], 0),
        "seconds of the policy": ([took.policy_s_mean for took in usage.values()], 2),
        "seconds of the browser": ([took.browser_s_mean for took in usage.values()], 2),
        "seconds in all": ([took.wall_s_mean for took in usage.values()], 2),
        "policy, USD": ([took.policy_usd for took in usage.values()], 2),
        "judge's tokens per verdict": ([took.judge_tokens_mean for took in usage.values()], 0),
        "judge's seconds per verdict": ([took.judge_s_mean for took in usage.values()], 2),
        "judge, USD": ([took.judge_usd for took in usage.values()], 2),
    }
    return {label: row(values, digits) for label, (values, digits) in figures.items() if any(values)}


def _state(summaries: Mapping[str, StateSummary]) -> dict[str, dict[str, str]]:
    """Rows on what episodes changed, for policies that were evaluated on worlds with state."""
    if not summaries:
        return {}
    return {
        "episodes with a side effect": {name: f"{part.side_effect_rate:.1%}" for name, part in summaries.items()},
        "expected effects that were there": {name: f"{part.credit_mean:.1%}" for name, part in summaries.items()},
        "actions per action of the oracle": {
            name: "–" if part.detour is None else f"{part.detour:.2f}" for name, part in summaries.items()
        },
    }


def _markers(summaries: Mapping[str, MarkerSummary]) -> dict[str, MarkerRow]:
    rows = {
        marker.value: MarkerRow(
            {policy: summary.of[marker.value] for policy, summary in summaries.items()}, _published(marker.value)
        )
        for marker in ReasoningMarker
    }
    none = MarkerRow({policy: summary.none for policy, summary in summaries.items()}, _published("none"))
    return {**rows, "none of them": none} if summaries else {}


def _published(marker: str) -> str:
    """The paper's figures for a marker, such as `14.5% → 21.4%, 332 → 542 tokens`."""
    rows = [row for row in published.rows() if row.metric == "reasoning proxies"]
    parts = []
    for unit, sign in (("percent", "%"), ("tokens", "")):
        values = [f"{row.values[marker]:g}{sign}" for row in rows if row.unit == unit and marker in row.values]
        if values:
            parts.append(" → ".join(values) + (" tokens" if unit == "tokens" else ""))
    return ", ".join(parts) or "–"
