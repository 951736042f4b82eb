"""Does the environment observe real single-page applications when they are done, and what does waiting cost?

Five applications of `tests/applications` (`make apps`) are each driven through twenty navigations, once with the
present rule of waiting and once with the rule that it replaced (`perf.waiting`). An observation is early if the element
list of the page differs from it once that list has not changed for two seconds: such an application does not tell when
it is done. Early navigations are printed with the lines that came or went. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from components.browser import BrowserPool, Listed, Session, parse_elements
from components.records import ToolCall
from perf.waiting import OpenRequests, Outcome, timed_step
from tests.applications.journey import PARAMS, Player
from tests.applications.server import serve
from tests.applications.sites import applications
from tests.applications.steps import Line, Step, click, write

NAVIGATIONS_EACH = 20
UNCHANGED_S = 2.0
UNCHANGED_TIMEOUT_S = 15.0
REST_S = 0.5
"""Between two navigations, as a model needs for its answer."""


@dataclass(frozen=True)
class Route:
    """How an application is driven: what is done first, and the lines that are clicked in turn."""

    cycle: tuple[Line, ...]
    before: tuple[Step, ...] = field(default=())


def _links(*names: str) -> tuple[Line, ...]:
    return tuple(Line("link", name) for name in names)


def _tabs(*names: str) -> tuple[Line, ...]:
    return tuple(Line("(tab|radio)", name) for name in names)


ROUTES = {
    "prefect": Route(
        _links(
            "Runs", "Flows", "Deployments", "Work Pools", "Blocks", "Variables", "Automations", "Event Feed",
            "Concurrency", "Dashboard",
        ),
        (
            click("field", "admin:pass"), write("grower:orchard"),
            click("button", "Login", sees=Line("link", "Variables")),
        ),
    ),
    "mlflow": Route(_links("Experiments", "Prompts", "MCP registry.*", "AI Gateway.*", "Home")),
    "jupyterlab": Route(
        _tabs(r"Running Terminals.*", r"Table of Contents", r"File Browser.*", r"Debugger", r"Property Inspector"),
        (click("field", "Password or token.*"), write("harbour"), click("button", "Log in")),
    ),
    "nicegui": Route(
        _tabs("Jobs", "New job"),
        (
            click("field", "Name"), write("otto"), click("field", "Password"), write("hammer"),
            click("button", "Come in"),
        ),
    ),
    "streamlit": Route(
        _tabs("Read", "Write"),
        (
            click("field", "Keeper"), write("signe"), click("field", "Password"), write("lamp"),
            click("button", "Come in", sees=Line("radio", "Read")),
        ),
    ),
}  # fmt: skip


async def settled(session: Session) -> list[Listed]:
    """The element list of a further observation, once the page's own list has not changed for `UNCHANGED_S`.

    Raises:
        TimeoutError: it changed for `UNCHANGED_TIMEOUT_S`.
    """
    lines, changed = parse_elements(await session.oracle()), time.monotonic()
    end = changed + UNCHANGED_TIMEOUT_S
    while time.monotonic() - changed < UNCHANGED_S:
        if time.monotonic() > end:
            raise TimeoutError(f"the element list has changed for {UNCHANGED_TIMEOUT_S:.0f} s")
        await asyncio.sleep(0.2)
        current = parse_elements(await session.oracle())
        if current != lines:
            lines, changed = current, time.monotonic()
    return parse_elements((await session.step([])).observation.text or "")


def difference(early: list[Listed], final: list[Listed]) -> str:
    """The lines that an early observation lacked, and those that it had too many."""
    came = [f"+{line.role} {line.name}" for line in final if line not in early]
    went = [f"-{line.role} {line.name}" for line in early if line not in final]
    return ", ".join([*came[:4], *went[:4]])


async def drive(
    route: Route, start: str, origin: str, *, fixed: bool = False, navigations: int = NAVIGATIONS_EACH
) -> Outcome:
    """Drive an application through its navigations.

    Args:
        start: the path at which it is opened.
        fixed: wait by the rule that was replaced.
    """
    outcome = Outcome()
    async with BrowserPool(PARAMS, text="elements") as pool, pool.session() as session:
        player = Player(session, origin)
        await player.start(start)
        for step in route.before:
            await player.play(step)
        lines = await settled(session)
        requests = OpenRequests(session)
        for number in range(navigations):
            target = route.cycle[number % len(route.cycle)]
            listed = target.find(lines)
            if listed is None:
                raise LookupError(f"no {target} among {lines}")
            calls = [ToolCall(name="click", arguments={"x": listed.x, "y": listed.y})]
            result = await timed_step(session, requests, calls, outcome, fixed)
            observed, lines = parse_elements(result.observation.text or ""), await settled(session)
            if observed != lines:
                outcome.early.append(f"{number} {target.name}: {difference(observed, lines)}")
            await asyncio.sleep(REST_S)
    return outcome


def measure(name: str) -> dict[str, object]:
    """Early observations and mean steps of one application under both rules."""
    application, route = dict(applications())[name], ROUTES[name]
    outcomes = []
    for fixed in (True, False):
        with tempfile.TemporaryDirectory() as folder, serve(application, Path(folder)) as running:
            outcomes.append(asyncio.run(drive(route, application.start, running.origin, fixed=fixed)))
    before, now = outcomes
    for rule, outcome in (("before", before), ("now", now)):
        for navigation in outcome.early:
            print(f"{name}, {rule}: early: {navigation}", flush=True)
    return {
        "navigations": len(now.step_s),
        "early": len(now.early),
        "early_fixed": len(before.early),
        "step_ms": round(1000 * fmean(now.step_s)),
        "step_fixed_ms": round(1000 * fmean(before.step_s)),
    }


def main() -> None:
    """Measure all applications, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(ROUTES), help="applications")
    rows: dict[str, dict] = {}
    for name in parser.parse_args().names:
        rows[name] = measure(name)
        print(f"{name}: {rows[name]}", flush=True)
    relative = [row["step_ms"] / row["step_fixed_ms"] for row in rows.values()]
    print(json.dumps({**rows, "mean_relative_step": round(fmean(relative), 3)}), flush=True)


if __name__ == "__main__":
    main()
