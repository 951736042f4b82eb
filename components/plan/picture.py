"""A picture of the time of a run: its stages and its RL iterations by part, and the utilisation of each resource.

The format follows from the file's name: `.svg`, `.png` or `.pdf`, as matplotlib writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from components.plan.picture_file import require_picture_file
from components.plan.setting import RESOURCES
from components.plan.time_plan import TimePlan
from components.plan.time_text import duration

WIDTH, ROW = 11.0, 0.3
"""Inches."""
COLOURS = {
    "start-up": "#9a9a9a", "servers": "#c4c4c4", "tables": "#b8a17a", "rollouts": "#3b75af", "judging": "#e08b3e",
    "training": "#519e58", "update": "#519e58", "weights": "#8b6fb0", "checkpoint": "#c26a77", "validation": "#6fb7c4",
    "iterations": "#3b75af", "judge training": "#a9b552",
}  # fmt: skip
Rows = Mapping[str, Mapping[str, float]]


def draw(plan: TimePlan, title: str, path: Path) -> None:
    """Draw a plan into a file.

    Raises:
        RecipeError: the name of the file has another ending than `.svg`, `.png` or `.pdf`, or another file has it.
    """
    require_picture_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    stages: Rows = {stage.stage: stage.parts for stage in plan.stages}
    iterations: Rows = {
        f"RL {iteration.phase}": {name: timed.usage.seconds for name, timed in iteration.parts.items()}
        for iteration in plan.iterations
    }
    shares = {f"RL {iteration.phase}": iteration.utilisation for iteration in plan.iterations} or {
        stage.stage: stage.utilisation for stage in plan.stages
    }
    heights = [len(stages), max(1, len(iterations)), max(2, len(RESOURCES))]
    figure = Figure(figsize=(WIDTH, ROW * sum(heights) + 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, gridspec_kw={"height_ratios": heights})
    _stacked(axes[0], stages, f"{title}: {duration(plan.seconds)}, ${plan.cost.usd:,.0f}")
    _stacked(axes[1], iterations, "One RL iteration")
    _grouped(axes[2], shares)
    figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _stacked(axes: Axes, rows: Rows, title: str) -> None:
    """A bar per row, made of its parts in hours or minutes, with its length in words."""
    longest = max((sum(parts.values()) for parts in rows.values()), default=0.0)
    unit, size = ("hours", 3600.0) if longest >= 7200 else ("minutes", 60.0)
    for place, parts in enumerate(rows.values()):
        left = 0.0
        for part, seconds in parts.items():
            axes.barh(place, seconds / size, left=left, color=COLOURS.get(part, "#555555"))
            left += seconds / size
        axes.text(left, place, f" {duration(sum(parts.values()))}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left")
    shown = [part for part in COLOURS if any(parts.get(part) for parts in rows.values())]
    if shown:
        axes.legend(
            [Patch(color=COLOURS[part]) for part in shown],
            shown,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            fontsize=8,
        )


def _grouped(axes: Axes, rows: Rows) -> None:
    """A bar per resource and row: the share of the time in which it is busy."""
    names = [name for name in RESOURCES if any(name in shares for shares in rows.values())]
    height = 0.8 / max(1, len(rows))
    for index, (row, shares) in enumerate(rows.items()):
        places = [place + index * height for place in range(len(names))]
        axes.barh(places, [100 * shares.get(name, 0.0) for name in names], height=height, label=row)
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the time busy")
    axes.set_title("Utilisation", loc="left")
    if 1 < len(rows) < 5:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
