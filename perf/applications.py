"""Journeys through real applications (`make apps`): milliseconds per step, and which controls have a line.

    .venv/bin/python -m perf.applications [NAME ...] [--missing]

The journeys are those of `tests/applications`. A step is a call with the observation after it, without waits. After
each call the usable controls of the page are counted independently of the element list (`controls.py`); the share of
those that a point of the list reaches is to be at least 98%. A journey that fails counts up to there.

Last line: JSON with ms_per_step (median), controls, share, calls, waits and failed (the number of calls before the
failure, or null), for each application.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from components.browser import BrowserPool, Session, parse_elements
from components.records import Observation
from perf.controls import Census
from tests.applications.journey import PARAMS, JourneyError, Player
from tests.applications.server import Application, serve
from tests.applications.sites import applications


async def measure(application: Application, origin: str) -> tuple[dict[str, Any], Census]:
    """Play a journey, and count the controls of each page."""
    census, failed = Census(), None

    async def watch(session: Session, observation: Observation) -> None:
        width, height = observation.viewport
        lines = parse_elements(observation.text or "")
        await census.count(session.page, [(line.x / 1000 * width, line.y / 1000 * height) for line in lines])

    async with BrowserPool(PARAMS, text="elements") as pool, pool.session() as session:
        player = Player(session, origin, watch)
        try:
            await player.start(application.start)
            for step in application.journey:
                await player.play(step)
        except JourneyError:
            failed = player.played.calls
    figures = {
        "ms_per_step": round(statistics.median(player.played.step_ms), 1) if player.played.step_ms else None,
        "controls": census.controls,
        "share": round(census.share, 4),
        "calls": player.played.calls,
        "waits": player.played.waits,
        "failed": failed,
    }
    return figures, census


def summary(name: str, figures: dict[str, Any]) -> str:
    """The figures of an application on one line, which says so if the journey did not end."""
    line = f"{name}: {figures['ms_per_step']} ms per step, {figures['share']:.1%} of {figures['controls']} controls"
    if figures["failed"] is None:
        return line
    return f"{line}; the journey FAILED after {figures['failed']} calls, so the figures are of these alone"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="applications; without any, all")
    parser.add_argument("--missing", action="store_true", help="list the controls without a line, too")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    for name, application in applications():
        if options.names and name not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder, serve(application, Path(folder)) as running:
            results[name], census = asyncio.run(measure(application, running.origin))
        print(summary(name, results[name]))
        if options.missing:
            for control, pages in census.missing.most_common(40):
                print(f"  {pages:3} {control}")
    print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
