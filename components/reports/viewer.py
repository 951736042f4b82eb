"""A trajectory as a page: by turn the screenshot, the reasoning, the calls and the feedback; then the verdict.

The page is one file without scripts and network access (its content policy forbids both). All text of the model or of
web pages is escaped, a call that was not run has no mark, and a note replaces an unreadable image. The report
shows its examples through the same partial template, `templates/_trajectory.html.jinja`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat, zip_longest
from pathlib import Path
from typing import Any

from components.agent.protocols import recorded_protocol
from components.browser.feedback import TOO_LATE, failed, refused
from components.browser.tools import SCALE, Click, Drag, Hover, Scroll, parse_arguments
from components.records import ToolCall, Trajectory, Turn, Verdict
from components.reports.formats import duration
from components.reports.html_pages import data_uri, picture_size, templates, write_html
from components.store import iter_named_table

PAGE_MARK = b'<meta name="generator" content="waymark view">'
"""In the head of a trajectory's page, and of no other page."""
_HEAD = 1000
TINY = 480
"""Viewports up to this width, in px, are shown enlarged and pixelated."""


@dataclass(frozen=True)
class Limits:
    """Limits that keep a page small; None sets no limit. `turns` is a count, `width` in px, `text` in characters."""

    turns: int | None = None
    width: int | None = None
    text: int | None = None


@dataclass(frozen=True)
class Mark:
    """The place of a call on the screenshot, in percent of its width and height."""

    kind: str
    number: int
    x: float
    y: float
    x2: float = 0.0
    y2: float = 0.0


@dataclass(frozen=True)
class CallView:
    """A tool call with its feedback."""

    number: int
    name: str
    arguments: list[tuple[str, str]]
    error: str | None
    status: str
    """The feedback's first word, `Succeed` or `Failed`, or empty."""
    feedback: str
    """The feedback without its first word."""


@dataclass(frozen=True)
class TurnView:
    """A turn."""

    number: int
    url: str
    tabs: list[str]
    screenshot: str
    viewport: tuple[int, int]
    marks: list[Mark]
    thought: str
    response: str
    calls: list[CallView]
    parse_error: str | None
    text: str | None
    facts: list[str]


@dataclass(frozen=True)
class TrajectoryView:
    """A trajectory with its verdict."""

    trajectory: Trajectory
    verdict: Verdict | None
    label: str
    family: str
    turns: list[TurnView]
    skipped: int
    final: str | None
    """The page after the last call; None if it looks the same as the last turn's."""
    tiny: int | None
    """Width in px of a viewport so small that its pixels are shown whole."""
    wide: bool


def write_page(trajectory: Trajectory, verdict: Verdict | None, path: Path | str) -> None:
    """Write the page of one trajectory, without limits, published by rename."""
    example = view(trajectory, verdict)
    write_html(
        path, templates().get_template("trajectory.html.jinja").render(example=example, title=trajectory.task.intent)
    )


def is_page(path: Path) -> bool:
    """Whether `write_page` wrote a file, so that another page may replace it."""
    with path.open("rb") as file:
        return PAGE_MARK in file.read(_HEAD)


def view(trajectory: Trajectory, verdict: Verdict | None, label: str = "", limits: Limits = Limits()) -> TrajectoryView:
    """The values for the partial template. `label` is the heading; by default it is the policy."""
    turns = trajectory.turns if limits.turns is None else trajectory.turns[: limits.turns]
    final, last = trajectory.final_screenshot, trajectory.turns[-1].observation.screenshot if trajectory.turns else None
    moved = final is not None and (last is None or final.sha256 != last.sha256)
    width, height = _size(trajectory)
    return TrajectoryView(
        trajectory=trajectory,
        verdict=verdict,
        label=label or trajectory.policy,
        family=trajectory.task.family,
        turns=[_turn(turn, trajectory.protocol, limits) for turn in turns],
        skipped=len(trajectory.turns) - len(turns),
        final=data_uri(final, limits.width) if final is not None and moved else None,
        tiny=width if width <= TINY else None,
        wide=width > height,
    )


def find_trajectory(tables: Iterable[Path], trajectory_id: str | None) -> tuple[Path, Trajectory] | None:
    """The first trajectory of this id (None: of any) and the table that has it; None if no table has it.

    Raises:
        UnreadableTable: a file is no table of trajectories.
    """
    for table in tables:
        for trajectory in iter_named_table(table, Trajectory):
            if trajectory_id in (None, trajectory.trajectory_id):
                return table, trajectory
    return None


def verdict_beside(table: Path, trajectory: Trajectory) -> Verdict | None:
    """The trajectory's verdict in the `verdicts.parquet` of the same folder, if there is one.

    Raises:
        UnreadableTable: that file is no table of verdicts.
    """
    verdicts = table.with_name("verdicts.parquet")
    if not verdicts.exists():
        return None
    matching = (row for row in iter_named_table(verdicts, Verdict) if row.trajectory_id == trajectory.trajectory_id)
    return next(matching, None)


def marks(calls: Iterable[ToolCall], feedback: Sequence[str] = ()) -> list[Mark]:
    """The places of calls on the screenshot; calls that were not run, or that have no place, have none.

    Args:
        feedback: a line per call, as far as it was recorded.
    """
    pairs = zip(calls, chain(feedback, repeat("")), strict=False)
    places = (_mark(number, call) for number, (call, line) in enumerate(pairs, start=1) if _was_run(call, line))
    return [place for place in places if place is not None]


def _was_run(call: ToolCall, line: str) -> bool:
    return call.error is None and not line.startswith((refused(call.name), failed(call.name, TOO_LATE)))


def _mark(number: int, call: ToolCall) -> Mark | None:
    try:
        arguments = parse_arguments(call.name, call.arguments)  # as the browser reads them
    except ValueError:
        return None
    match arguments:
        case Click():
            kind = "double" if arguments.click_type == "double" else "click"
            return Mark(kind, number, _percent(arguments.x), _percent(arguments.y))
        case Hover():
            return Mark("hover", number, _percent(arguments.x), _percent(arguments.y))
        case Drag(x1=x1, y1=y1, x2=x2, y2=y2):
            return Mark("drag", number, _percent(x1), _percent(y1), _percent(x2), _percent(y2))
        case Scroll():
            dx, dy = _DIRECTIONS[arguments.direction]
            is_at_point = arguments.x is not None and arguments.y is not None
            x, y = (_percent(arguments.x or 0), _percent(arguments.y or 0)) if is_at_point else (50.0, 50.0)
            return Mark("scroll", number, x - dx * 12, y - dy * 12, x + dx * 12, y + dy * 12)
    return None


_DIRECTIONS = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}


def _percent(coordinate: float) -> float:
    """A coordinate in percent of width or height, clamped as the browser clamps it."""
    return round(min(max(coordinate, 0), SCALE) * 100 / SCALE, 2)


def _size(trajectory: Trajectory) -> tuple[int, int]:
    """Width and height in px of the first turn's viewport; of the last screenshot if there are no turns."""
    if trajectory.turns:
        return trajectory.turns[0].observation.viewport
    final = trajectory.final_screenshot
    return (final is not None and picture_size(final)) or (1, 1)


def _turn(turn: Turn, protocol_name: str, limits: Limits) -> TurnView:
    spoken = recorded_protocol(protocol_name)
    times = [f"{name} {duration(seconds)}" for name, seconds in turn.timings.items()]
    return TurnView(
        number=turn.index + 1,
        url=turn.observation.url,
        tabs=[f"{tab.title or tab.url}{' (active)' if tab.active else ''}" for tab in turn.observation.tabs],
        screenshot=data_uri(turn.observation.screenshot, limits.width),
        viewport=turn.observation.viewport,
        marks=marks(turn.tool_calls, turn.feedback),
        thought=_cut(spoken.parse(turn.response).thought, limits.text) or "" if spoken is not None else "",
        response=_cut(turn.response, limits.text) or "",
        calls=_calls(turn, limits),
        parse_error=turn.parse_error,
        text=_cut(turn.observation.text, limits.text),
        facts=[f"{turn.prompt_tokens:,} prompt tokens", f"{len(turn.token_ids):,} sampled", *times]
        + (["cut at the limit"] if turn.finish_reason == "length" else []),
    )


def _calls(turn: Turn, limits: Limits) -> list[CallView]:
    views = []
    for index, (call, feedback) in enumerate(zip_longest(turn.tool_calls, turn.feedback), start=1):
        status, colon, rest = (feedback or "").partition(":")
        status, rest = (status, rest) if colon and status in ("Succeed", "Failed") else ("", feedback or "")
        arguments = [(key, _json(value)) for key, value in call.arguments.items()] if call else []
        views.append(
            CallView(
                number=index,
                name=call.name if call else "",
                arguments=[(key, _cut(value, limits.text) or "") for key, value in arguments],
                error=call.error if call else None,
                status=status,
                feedback=_cut(rest.strip(), limits.text) or "",
            )
        )
    return views


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict) else None, default=str)


def _cut(text: str | None, limit: int | None) -> str | None:
    if text is None or limit is None or len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit:,} characters more)"
