"""Stages on the console: one live line per stage on a terminal; without a terminal a line of text per change."""

from __future__ import annotations

import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from flows.artifacts import Progress as StageProgress

MARKS = {"waiting": "·", "running": "▶", "ran": "✔", "restored": "✔", "up to date": "✔", "failed": "✘", "skipped": "-"}
EVERY_S = 20.0
"""Seconds between two progress lines of a stage without a terminal."""


class StageConsole:
    """Shows the states of stages. Its methods are thread-safe."""

    def __init__(self, stages: list[str], console: Console | None = None) -> None:
        self.console = console or Console()
        self._lock = threading.Lock()
        self._printed_at: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._width = max(map(len, stages), default=1)
        self._display = Progress(
            TextColumn("{task.fields[mark]}"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[clock]}", justify="right"),
            TextColumn("{task.fields[message]}", table_column=Column(no_wrap=True, overflow="ellipsis"), markup=False),
            console=self.console,
            refresh_per_second=4,
            disable=not self.console.is_terminal,
        )
        self._rows: dict[str, TaskID] = {
            stage: self._display.add_task(stage, total=100, mark=MARKS["waiting"], message="", clock="")
            for stage in stages
        }

    def __enter__(self) -> StageConsole:
        self._display.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._display.stop()

    def started(self, stage: str, text: str) -> None:
        """Show that a stage begins; `text` is printed beside it."""
        with self._lock:
            self._started[stage] = time.monotonic()
        self._update(stage, "running", message=text)
        self._print_line(stage, "running", text)

    def progressed(self, stage: str, progress: StageProgress) -> None:
        """Show the progress of a running stage."""
        count = f"{progress.done:g}/{progress.total:g} " if progress.total else ""
        self._update(stage, "running", message=count + progress.message, percent=progress.percent)
        with self._lock:
            due = time.monotonic() - self._printed_at.get(stage, 0.0) > EVERY_S
        if due:
            self._print_line(stage, "running", count + progress.message)

    def ended(self, stage: str, state: str, message: str = "") -> None:
        """Show the end of a stage: `ran`, `restored`, `up to date`, `failed` or `skipped`."""
        self._update(stage, state, message=message or state, percent=0 if state in ("failed", "skipped") else 100)
        self._print_line(stage, state, message)

    def _update(self, stage: str, state: str, message: str, percent: float | None = None) -> None:
        text = message.splitlines()[0] if message else ""
        clock = self._clock(stage)
        self._display.update(self._rows[stage], completed=percent, mark=MARKS[state], message=text, clock=clock)

    def _clock(self, stage: str) -> str:
        if stage not in self._started:
            return ""
        minutes, seconds = divmod(int(time.monotonic() - self._started[stage]), 60)
        return f"{minutes}:{seconds:02d}"

    def _print_line(self, stage: str, state: str, message: str) -> None:
        if self.console.is_terminal:
            return
        with self._lock:
            self._printed_at[stage] = time.monotonic()
        text = message.splitlines()[0] if message else ""
        parts = [MARKS[state], stage.ljust(self._width), self._clock(stage).rjust(6), state, text]
        self.console.print(" ".join(parts).rstrip(), highlight=False, markup=False, soft_wrap=True)
