"""The report of a run: `reports/<name>.json` for machines and one HTML page for people.

Steps: read the results of the stages (`stage_results.read_results`), read the evaluated episodes without their images
(`read_episodes`), pair them task by task (`build`), and draw the page with eight example trajectories (`write_report`).
Only the last step reads images.

The page is one file of less than `MAX_BYTES`: screenshots are reduced step by step until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.evaluation.actions import ActionSummary, summarise_actions
from components.evaluation.comparison import PairedDifference, beats, paired_difference
from components.evaluation.episodes import Episode, headline, join_verdicts, scores
from components.evaluation.errors import EvaluationError
from components.evaluation.metrics import SuccessSummary
from components.judge.calibration import Calibration
from components.records import Record, Trajectory, Verdict
from components.reports import published
from components.reports.analysis import analyse
from components.reports.charts import LineChart, line_chart
from components.reports.examples import Example, choose_examples
from components.reports.html_pages import templates, write_html
from components.reports.leaderboard import published_entries, run_entries
from components.reports.leaderboard_page import by_benchmark
from components.reports.rl_validation import columns, family_lines, validation_chart
from components.reports.stage_results import POLICIES, RLIteration, StageResults
from components.reports.time_spent import time_spent
from components.reports.viewer import Limits, view
from components.statistics import SuccessRate
from components.store import iter_table, read_table

MAX_BYTES = 3_000_000
LIMITS = (
    Limits(turns=8, width=640, text=4000),
    Limits(turns=6, width=400, text=1500),
    Limits(turns=4, width=280, text=500),
)
JUDGES = {"Qwen3-VL-8B-Instruct", "OpenWebRL-Judge-8B"}
"""The published judges on the page: the base model and the judge that was trained from it."""
PAIRS = {"sft_minus_base": ("sft", "base"), "rl_minus_sft": ("rl", "sft")}


class StageReport(Record):
    """A stage's wall time. `ran` is false for a result of an earlier pipeline run (another recipe or commit)."""

    wall_s: float
    ran: bool
    planned_s: float | None = None
    """Wall time by `waymark plan`; None if the stage was not planned."""


class TaskReport(Record):
    """Numbers of tasks after each stage."""

    collected: int
    filtered: int
    dedup_sft: int
    dedup_rl: int
    rejected: int


class SuccessReport(SuccessRate):
    """One policy's success on the evaluated tasks.

    `completed` is the share of tasks that were done, whatever else the agent did. `actions` is the mean number of
    actions of a success, `actions_of_teacher` its ratio to the teacher's on the same families.
    """

    rate_without_aborted: float | None
    completed: float | None
    actions: float | None
    actions_of_teacher: float | None


class JudgeReport(Record):
    """The distilled judge's agreement with labels."""

    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    majority_accuracy: float
    untrained_accuracy: float


class RewardingJudgeReport(Record):
    """The agreement of the model that rewarded with labels. `labels` is their file; None: rules labelled."""

    labels: str | None
    calibration: Calibration


class Report(Record):
    """`reports/<name>.json`. Times are in seconds, rates are shares of 1; `rl` has the iterations of both phases.

    `paired` is over the tasks that have a verdict for both policies; its `n` may be less than a policy's own.
    `rewarding_judge` is None if no model rewarded, or if it was not measured (`judge.trust`).
    """

    wall_s: float
    stages: dict[str, StageReport]
    tasks: TaskReport
    success: dict[str, SuccessReport]
    paired: dict[str, PairedDifference]
    judge: JudgeReport
    rewarding_judge: RewardingJudgeReport | None
    rl: list[RLIteration]


def read_episodes(evaluation: Path) -> dict[str, list[Episode]]:
    """The evaluated episodes of every policy, from `<evaluation>/<policy>/{trajectories,verdicts}.parquet`."""
    episodes = {}
    for policy in POLICIES:
        table = evaluation / policy / "trajectories.parquet"
        if not table.exists():
            raise EvaluationError(f"{table} is missing; run `dvc repro evaluate@{policy}`")
        episodes[policy] = join_verdicts(
            iter_table(table, Trajectory), read_table(table.with_name("verdicts.parquet"), Verdict)
        )
    return episodes


def read_teacher(folder: Path) -> ActionSummary | None:
    """The actions of the teacher's successes, from `<folder>/{trajectories,verdicts}.parquet`; None without any."""
    verdicts = read_table(folder / "verdicts.parquet", Verdict)
    return summarise_actions(join_verdicts(iter_table(folder / "trajectories.parquet", Trajectory), verdicts))


def elapsed(spans: list[tuple[float, float]]) -> float:
    """Seconds in which at least one stage worked: concurrent stages count once, pauses do not count."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return round(total, 2)


def with_plan(report: Report, planned_s: Mapping[str, float], champion_s: float) -> Report:
    """The report with the planned seconds of each stage beside those that it took.

    Args:
        champion_s: seconds of `evaluate@rl` that count as planned: the champion's evaluation, which no plan has.
    """
    planned_s = {name: seconds + champion_s * (name == "evaluate@rl") for name, seconds in planned_s.items()}
    stages = {
        name: stage.model_copy(update={"planned_s": planned_s.get(name)}) for name, stage in report.stages.items()
    }
    return report.model_copy(update={"stages": stages})


def build(
    results: StageResults,
    evaluated: dict[str, list[Episode]],
    teacher: ActionSummary | None,
    bootstrap: int,
    seed: int,
    pipeline: str,
) -> Report:
    """Gather the numbers. Paired differences are over the tasks of the headline rates, without held-out families if
    others were evaluated.

    Args:
        evaluated: the episodes by policy.
        teacher: the actions of its successes; None if there are none.
        bootstrap: resamples.
        pipeline: the pipeline run that the report is of.
    """
    by_task = {policy: scores(headline(episodes)) for policy, episodes in evaluated.items()}
    return Report(
        wall_s=elapsed(results.spans),
        stages={
            name: StageReport(wall_s=seconds, ran=results.pipelines[name] == pipeline)
            for name, seconds in results.wall_s.items()
        },
        tasks=TaskReport(
            collected=results.collected.collected,
            filtered=results.filtered.kept,
            dedup_sft=results.dedup.sft,
            dedup_rl=results.dedup.rl,
            rejected=results.collected.rejected,
        ),
        success={name: _success(results.success[name], teacher) for name in POLICIES},
        paired={name: paired_difference(by_task[a], by_task[b], bootstrap, seed) for name, (a, b) in PAIRS.items()},
        judge=JudgeReport(**_fields(results.judge, JudgeReport)),
        rewarding_judge=_rewarding_judge(results, bootstrap, seed),
        rl=results.iterations,
    )


def write_report(
    report: Report, results: StageResults, evaluated: dict[str, list[Episode]], evaluation: Path, name: str, path: Path
) -> int:
    """Draw the page to `path`; returns its size in bytes."""
    examples = choose_examples(evaluated)
    records = _read_examples(evaluation, examples)
    tasks = " and ".join(sorted({episode.source for episodes in evaluated.values() for episode in episodes}))
    measured = [entry for policy in POLICIES for entry in run_entries(name, tasks, policy, results.success[policy])]
    template = templates().get_template("report.html.jinja")
    for limits in LIMITS:
        html = template.render(
            name=name,
            title=f"Waymark report: {name}",
            report=report,
            results=results,
            policies=POLICIES,
            better={key: beats(difference) for key, difference in report.paired.items()},
            families=_families(results),
            heldout_families=_families(results, heldout=True),
            analysis=analyse(results.success),
            leaderboard=by_benchmark([*measured, *published_entries(ablations=False)]),
            charts=_charts(results),
            time_spent=time_spent(results.iterations, results.watched),
            validations=columns(results.watched),
            watched_families=family_lines(results.watched),
            examples=[view(*records[example.trajectory_id], example.heading, limits) for example in examples],
            published=published,
            shape=published.shape(),
            judges=[row for row in published.table("OpenWebRL", "3", "judge agreement") if row.model in JUDGES],
        )
        if len(html.encode("utf-8", "backslashreplace")) < MAX_BYTES:
            break
    return write_html(path, html)


def _success(summary: SuccessSummary, teacher: ActionSummary | None) -> SuccessReport:
    own = summary.actions
    figures = _fields(summary, SuccessReport) | {
        "actions": own.mean if own is not None else None,
        "actions_of_teacher": own.ratio(teacher) if own is not None and teacher is not None else None,
    }
    return SuccessReport(**figures)


def _rewarding_judge(results: StageResults, bootstrap: int, seed: int) -> RewardingJudgeReport | None:
    compared = results.rewarding_judge
    if compared is None:
        return None
    return RewardingJudgeReport(labels=compared.file, calibration=compared.calibration(bootstrap, seed))


def _fields(source: Any, target: type[Record]) -> dict[str, Any]:
    return {name: value for name, value in source.model_dump().items() if name in target.model_fields}


def _families(results: StageResults, heldout: bool = False) -> list[str]:
    """Families, sorted by the success of RL."""
    summaries = [results.success[name].heldout if heldout else results.success[name] for name in POLICIES]
    rates = {family: share.rate for summary in summaries if summary for family, share in summary.families.items()}
    return sorted(rates, key=lambda family: (-rates[family], family))


def _read_examples(evaluation: Path, examples: Sequence[Example]) -> dict[str, tuple[Trajectory, Verdict | None]]:
    pairs: dict[str, tuple[Trajectory, Verdict | None]] = {}
    for policy in {example.policy for example in examples}:
        ids = {example.trajectory_id for example in examples if example.policy == policy}
        folder = evaluation / policy
        verdicts = {verdict.trajectory_id: verdict for verdict in read_table(folder / "verdicts.parquet", Verdict)}
        for trajectory in iter_table(folder / "trajectories.parquet", Trajectory):
            if trajectory.trajectory_id in ids:
                pairs[trajectory.trajectory_id] = trajectory, verdicts.get(trajectory.trajectory_id)
    return pairs


def _charts(results: StageResults) -> list[LineChart]:
    rl = results.iterations
    x = [iteration.iteration for iteration in rl]
    breaks = {x[i] - 0.5: rl[i].phase for i in range(1, len(rl)) if rl[i].phase != rl[i - 1].phase}

    def over_rl(title: str, lines: dict[str, list[float | None]], note: str, zero: bool = True) -> LineChart | None:
        return line_chart(title, x, lines, note, zero, breaks) if rl else None

    def column(read: Callable[[RLIteration], float | None]) -> list[float | None]:
        return [read(iteration) for iteration in rl]

    charts = [
        validation_chart(results.watched, [iteration.phase for iteration in rl]),
        over_rl(
            "Mean reward",
            {"whole pool": column(lambda i: i.pool_reward), "as sampled": column(lambda i: i.reward_mean)},
            "running mean over the pool's websites, and of the rollouts scored",
        ),
        over_rl(
            "Judge's reward and true success",
            {
                "called success by the judge": column(lambda i: i.judge_success),
                "by the auditor": column(lambda i: i.audited_success),
            },
            "shares of the audited attempts; a growing distance is reward without success",
        ),
        over_rl(
            "Judge against the auditor",
            {"precision": column(lambda i: i.judge_precision), "agreement": column(lambda i: i.judge_agreement)},
            "shares of the judge's successes, and of all audited attempts",
        ),
        over_rl(
            "Groups",
            {
                "with a reward spread": column(lambda i: i.effective_groups),
                "sampled": column(lambda i: i.sampled_groups),
            },
            "of tasks, per iteration",
        ),
        over_rl(
            "Completed, and something else done",
            {"share": column(lambda i: i.overdone_share)},
            "share of the rollouts; they are no successes",
        ),
        over_rl("Turns per episode", {"turns": column(lambda i: i.turns_mean)}, "mean"),
        over_rl("Response tokens per turn", {"tokens": column(lambda i: i.response_tokens_mean)}, "mean"),
        over_rl("Clipped tokens", {"share": column(lambda i: i.clip_fraction)}, "share of the trained tokens"),
        over_rl(
            "Probability ratio",
            {"ratio": column(lambda i: i.ratio_mean)},
            "mean over the updates, 1 is on-policy",
            zero=False,
        ),
        over_rl(
            "Trainer − rollout gap",
            {"nats": column(lambda i: i.logprob_gap_max)},
            "largest before the first update, in nats",
        ),
        over_rl(
            "Seconds per iteration",
            {"rollout": column(lambda i: i.rollout_s), "train": column(lambda i: i.train_s)},
            "wall time",
        ),
        *(
            line_chart(
                f"{title} loss",
                [step for step, _ in curve],
                {"loss": [loss for _, loss in curve]},
                "per optimiser step",
            )
            for title, curve in (("SFT", results.losses.get("sft")), ("Judge", results.losses.get("judge")))
            if curve
        ),
    ]
    return [chart for chart in charts if chart is not None]
