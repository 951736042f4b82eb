"""The page of a study, `reports/studies/NAME.html`, and the same figures as JSON beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from components.reports.charts import LineChart, line_chart
from components.reports.formats import duration, percent, points
from components.reports.html_pages import templates, write_html
from components.store import write_json
from components.study.comparison import ArmResult, StudyResult
from components.study.effects import Effect
from components.study.results import Curve, RunResult

REPORTS = Path("reports/studies")
LINES = 5
"""Arms on one chart, beside the base."""


def write_page(result: StudyResult, folder: Path = REPORTS) -> Path:
    """Write the page and the JSON; returns the page's path."""
    write_json(folder / f"{result.study}.json", result.model_dump(mode="json"))
    page = folder / f"{result.study}.html"
    template = templates().get_template("study.html.jinja")
    title, commits = f"Study: {result.study}", _commits(result.runs)
    write_html(page, template.render(title=title, result=result, charts=charts(result), commits=commits))
    return page


def summary(result: StudyResult) -> str:
    """The result for a terminal: a line per arm."""
    lines = [f"{result.study}: {result.question}", ""]
    for arm in result.arms:
        line = f"  {arm.arm}: {percent(arm.rate)} over {arm.finished} of {len(result.seeds)} seeds"
        if arm.sd is not None:
            line += f" (SD {100 * arm.sd:.1f})"
        if arm.actions_of_teacher is not None:
            line += f"; {arm.actions_of_teacher:.2f} times the teacher's actions per success"
        if arm.episodes is not None:
            line += f"; {arm.episodes:,.0f} episodes of RL"
        if arm.rl_seconds is not None:
            line += f" in {duration(arm.rl_seconds)}"
        if arm.gain is not None:
            line += f"; RL − SFT {points_with_interval(arm.gain)} points"
        if arm.effect is not None:
            line += f"; {points_with_interval(arm.effect)} points against {result.base}, p = {arm.effect.p_holm:.2g}"
        elif arm.arm != result.base:
            line += "; not compared yet: it needs two seeds that the base has finished, too"
        if arm.paper is not None:
            line += f"; the paper: {arm.paper.sign} ({arm.standing})"
        lines.append(line)
    unfinished = [run for run in result.runs if run.state != "finished"]
    lines += [f"  {run.name}: {run.state}" + (f" at {run.stage}" if run.stage else "") for run in unfinished]
    if result.falls:
        fall = result.falls[0]
        line = f"  RL's largest fall: {fall.family} in {fall.run}, {percent(fall.before)} → {percent(fall.after)}"
        lines += ["", f"{line}, p = {fall.p_value:.2g} (of {len(result.falls)} by 5 points or more)"]
    method = ["", result.method] if len(result.arms) > 1 else []
    return "\n".join([*lines, *method, ""])


def points_with_interval(effect: Effect) -> str:
    """An effect in percentage points with its interval."""
    return f"{points(effect.diff)} [{points(effect.ci95.low)}, {points(effect.ci95.high)}]"


def charts(result: StudyResult) -> list[LineChart]:
    """Learning curves, as means over the seeds of an arm. A curve ends where one of its seeds does: a mean over fewer
    seeds would jump. A chart has the base and some of the arms."""
    base, arms = result.arms[0], result.arms[1:]
    drawn = []
    for first in range(0, max(1, len(arms)), LINES):
        shown = [base, *arms[first : first + LINES]]
        drawn += [
            _chart("Validation success", "greedy, mean over seeds", shown, result.runs, lambda run: run.validation),
            _chart("Training reward", "mean over the pool and seeds", shown, result.runs, lambda run: run.training),
        ]
    return [chart for chart in drawn if chart is not None]


def _commits(runs: Sequence[RunResult]) -> list[str]:
    """The commits at which runs were finished, short, in the order of the runs."""
    return [*dict.fromkeys(re.sub(r"^([0-9a-f]{12})[0-9a-f]+", r"\1", run.commit) for run in runs if run.commit)]


def _chart(
    title: str, note: str, arms: Sequence[ArmResult], runs: Sequence[RunResult], curve: Callable[[RunResult], Curve]
) -> LineChart | None:
    by_arm = {
        arm.arm: [dict(curve(run).points) for run in runs if run.arm == arm.arm and curve(run).points] for arm in arms
    }
    x = sorted({at for curves in by_arm.values() for points_ in curves for at in points_})
    lines = {arm: [_mean(curves, at) for at in x] for arm, curves in by_arm.items()}
    known = [at for at in x if any(line[x.index(at)] is not None for line in lines.values())]
    return line_chart(title, x, lines, note) if known else None


def _mean(curves: Sequence[dict[float, float]], at: float) -> float | None:
    values = [points_[at] for points_ in curves if at in points_]
    return fmean(values) if values and len(values) == len(curves) else None
