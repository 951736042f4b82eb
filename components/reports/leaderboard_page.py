"""The leaderboard as a page, as Markdown and as a table for MLflow: rows grouped by benchmark.

Within a benchmark the higher rate comes first; a run without a rate, such as an invalid one, comes last.
`leaderboard.md` and `leaderboard.html` show the results of the moment in which they are written. They are no DVC
outputs, because benchmark runs use live sites, which DVC cannot track.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.reports import published
from components.reports.formats import percent
from components.reports.html_pages import templates, write_html
from components.reports.leaderboard import Entry

COLUMNS = "benchmark mark model success ci95_low ci95_high tasks without_aborted set settings source note".split()
"""Of the table for MLflow; rates are shares of 1."""


def by_benchmark(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries by benchmark: first benchmarks with measured rows, then by name; the best rate first, runs
    without one last."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.benchmark, []).append(entry)
    measured = {name for name, group in groups.items() if any(entry.mark == "measured" for entry in group)}
    names = sorted(groups, key=lambda name: (name not in measured, name))
    return {name: sorted(groups[name], key=lambda entry: (entry.rate is None, -(entry.rate or 0.0))) for name in names}


def write_leaderboard(entries: Iterable[Entry], folder: Path) -> list[Path]:
    """Write `leaderboard.md` and `leaderboard.html`; returns their paths."""
    groups = by_benchmark(entries)
    text, page = folder / "leaderboard.md", folder / "leaderboard.html"
    template = templates().get_template("leaderboard.html.jinja")
    write_html(
        page,
        template.render(
            title="Waymark leaderboard", leaderboard=groups, titles=published.TITLES, left_out=published.left_out()
        ),
    )
    write_html(text, markdown(groups))
    return [text, page]


def table(entries: Iterable[Entry]) -> dict[str, list[Any]]:
    """The rows by `COLUMNS`."""
    rows = [
        (
            entry.benchmark,
            entry.mark,
            entry.model,
            entry.rate,
            *(entry.ci95 or (None, None)),
            entry.n,
            entry.without_aborted,
            entry.task_set,
            entry.settings,
            entry.source,
            entry.note,
        )
        for group in by_benchmark(entries).values()
        for entry in group
    ]
    return {name: [row[index] for row in rows] for index, name in enumerate(COLUMNS)}


def markdown(groups: Mapping[str, Sequence[Entry]]) -> str:
    """The leaderboard as Markdown, with a table per benchmark."""
    lines = [
        "# Leaderboard",
        "",
        "Success rates. Sets of the same name differ: read set and settings beside the number.",
    ]
    for name, group in groups.items():
        lines += [
            "",
            f"## {published.TITLES.get(name, name)}",
            "",
            "| | model | success | 95% interval | tasks | without aborted | set | settings | source |",
        ]
        lines.append("|---|---|---|---|---|---|---|---|---|")
        lines += [f"| {' | '.join(_cells(entry))} |" for entry in group]
    return "\n".join([*lines, "", "Not in the papers' text:", "", *(f"- {line}" for line in published.left_out()), ""])


def _cells(entry: Entry) -> list[str]:
    interval = " – ".join(percent(end) for end in entry.ci95) if entry.ci95 else ""
    settings = entry.settings + (f" ({entry.note})" if entry.note and entry.rate is not None else "")
    cells = [
        entry.mark,
        entry.model,
        ("nothing measured" if entry.measured_nothing else "invalid") if entry.rate is None else percent(entry.rate),
        entry.note if entry.rate is None else interval,
        "" if entry.n is None else str(entry.n),
        "" if entry.without_aborted is None else percent(entry.without_aborted),
        entry.task_set,
        settings,
        entry.source,
    ]
    return [re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in cells]
