"""Calibrations of several judges as text tables, beside published tables. The false-positive rate comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.judge.calibration import METRICS, OUTCOMES, Calibration
from components.judge.expert_annotations import AspectSummary
from components.statistics import Estimate

PublishedTable = Mapping[str, Mapping[str, float | None]]
"""By judge, by metric, in percent."""


def as_text(calibrations: Sequence[Calibration], published: Mapping[str, PublishedTable]) -> str:
    """A table of the judges' false-positive rates, one of their agreement, their confusion matrices, and published
    tables by their source. In percent except kappa."""
    published_judges = [judge for table in published.values() for judge in table]
    judges = [calibration.judge for calibration in calibrations]
    width = max(map(len, ["label success", *judges, *published_judges])) + 1
    lines = [*_false_positive_rates(calibrations, width), ""]
    heads = "".join(f"{name:>23}" for name in METRICS)
    lines += [f"{'judge':{width}}{'n':>6}{heads}{'unparsed':>10}{'outages':>9}{'USD':>9}{'s':>7}"]
    for calibration in calibrations:
        cells = "".join(f"{_cell(name, estimate):>23}" for name, estimate in calibration.estimates.items())
        lines.append(
            f"{calibration.judge:{width}}{calibration.n:>6}{cells}{calibration.unparsed:>10}{calibration.outages:>9}"
            f"{calibration.cost_usd:>9.2f}{calibration.latency_s:>7.1f}"
        )
    for calibration in calibrations:
        heads_of_outcomes = "".join(f"{'said ' + outcome.value:>16}" for outcome in OUTCOMES)
        lines += ["", f"{calibration.judge:{width}}{heads_of_outcomes}"]
        for label, counts in calibration.said_by_label.items():
            cells = "".join(f"{counts[outcome.value]:>16}" for outcome in OUTCOMES)
            lines.append(f"{'label ' + label:{width}}{cells}")
    for source, table in published.items():
        lines += ["", source, f"{'judge':{width}}{'':>6}{heads[: 4 * 23]}"]
        for judge, figures in table.items():
            values = (figures.get(name) for name in METRICS[:4])
            cells = "".join(f"{'–' if value is None else f'{value:.1f}':>23}" for value in values)
            lines.append(f"{judge:{width}}{'':>6}{cells}")
    return "\n".join(lines)


def _false_positive_rates(calibrations: Sequence[Calibration], width: int) -> list[str]:
    """The share of the failures that each judge calls a success, also by the kind of failure."""
    width = max(width, 20)
    lines = [f"{'judge':{width}}{'false-positive rate':>23}{'failures':>10}{'tasks':>7}"]
    for calibration in calibrations:
        whole = {calibration.judge: calibration.false_positives}
        by_kind = {f"  {kind}": part for kind, part in calibration.false_positives_by_kind.items()}
        for name, part in (whole | by_kind).items():
            cells = ("–", 0, 0) if part is None else (_cell("rate", part.rate), part.n, part.tasks)
            lines.append(f"{name:{width}}{cells[0]:>23}{cells[1]:>10}{cells[2]:>7}")
    return lines


def aspects_as_text(aspects: Sequence[AspectSummary]) -> str:
    """What experts say of side effects, optimality and repetition, and how often a second one says the same."""
    lines = ["the experts on other aspects"]
    for aspect in aspects:
        counts = ", ".join(f"{value}: {count}" for value, count in aspect.counts.items())
        same = (
            f"; a second expert agrees on {_cell('', aspect.agreement)}% of {aspect.pairs} pairs"
            if aspect.agreement is not None
            else ""
        )
        lines.append(f"{aspect.aspect:{14}}{counts}{same}")
    return "\n".join(lines)


def _cell(name: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if name == "kappa":
        return f"{estimate.value:.2f} [{estimate.ci95[0]:.2f}, {estimate.ci95[1]:.2f}]"
    return "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * part for part in (estimate.value, *estimate.ci95)))
