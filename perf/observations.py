"""Steps with element ids against steps with points: `python -m perf.observations`. It takes about seven minutes.

A random visitor's episodes on MiniWoB++ pages are recorded once, each turn in two forms, calls on points and calls on
element ids, which do the same on the page. They are played in three ways, one and 16 episodes at a time: points
with the element list as observation, the same with the accessibility tree, and ids with the accessibility tree.
Only their ratios are independent of the machine. On a machine that does other work, only the ratio of the CPU times is
reliable.

Then large pages are built in a tab, and their element list and their accessibility tree are read. Whole steps on them
are timed, too: a key, the wait for a quiet page as on the web, the observation with its screenshot. A small page shows
what the wait alone costs.

Last line: JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import psutil

from components.browser import BrowserPool, Session, check_call, element_list
from components.params import BrowserParams, Params, TextKind, load
from components.records import ToolCall
from components.worlds.miniwob.site import MiniWoBSite
from perf.browser_workload import FAMILIES, WORDS, miniwob_task

RECIPE = "recipes/demo.yaml"


@dataclass(frozen=True)
class Way:
    """How the episodes are played."""

    calls: str
    """The calls of each turn: `points` or `ids`."""
    text: TextKind
    """The text of observations."""


WAYS = {
    "points": Way("points", "elements"),
    "points_on_axtree": Way("points", "axtree"),
    "ids": Way("ids", "axtree"),
}
TEXTS: tuple[TextKind, ...] = ("elements", "axtree")
ROLES = {"button", "checkbox", "link", "radio", "tab", "textbox"}
LARGE_PAGES = {
    "100,000 in a list": "'<p><b>x</b><button>buy</button></p>'.repeat(33333)",
    "100,000 in a wide table": "'<table>' + ('<tr>' + '<td>1</td>'.repeat(1000) + '</tr>').repeat(100) + '</table>'",
    "100,000 points of a drawing, in view": (
        "'<svg width=300 height=200>' + '<circle r=3 cx=9 cy=9></circle>'.repeat(100000) + '</svg>'"
    ),
    "100,000 links": "'<a href=#>x</a> '.repeat(100000)",
    "30,000 in a list": "'<p><b>x</b><button>buy</button></p>'.repeat(10000)",
}


@dataclass(frozen=True)
class Recorded:
    """An episode: the calls of each turn, by kind."""

    family: str
    seed: int
    turns: list[dict[str, list[ToolCall]]]


def _turn(rng: random.Random, role: str, element: str, point: tuple[int, int]) -> dict[str, list[ToolCall]]:
    x, y = point
    click = ToolCall(name="click", arguments={"x": x, "y": y})
    if role != "textbox":
        return {"points": [click], "ids": [ToolCall(name="click_element", arguments={"element": element})]}
    text = rng.choice(WORDS)
    return {
        "points": [click, ToolCall(name="write", arguments={"text": text})],
        "ids": [ToolCall(name="write_element", arguments={"element": element, "text": text})],
    }


async def record(params: Params, number: int, turns: int) -> list[Recorded]:
    """Episodes of a random visitor, which clicks elements and fills in fields."""
    episodes = []
    browser = params.browser.model_copy(update={"concurrency": 1})
    async with BrowserPool(browser, site=MiniWoBSite(), text="axtree") as pool:
        for index in range(number):
            rng = random.Random(index)
            episode = Recorded(FAMILIES[index % len(FAMILIES)], index, [])
            async with pool.session() as session:
                await session.start(miniwob_task(episode.family, index))
                for _ in range(turns):
                    elements = [element for element in await session.oracle_elements() if element.role in ROLES]
                    if not elements:
                        break
                    element = rng.choice(elements)
                    episode.turns.append(_turn(rng, element.role, element.id, element.middle))
                    await session.step(episode.turns[-1]["ids"])
            episodes.append(episode)
    return episodes


def _cpu_s() -> float:
    """CPU seconds of this process and its children, the browser included."""
    seconds = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system
    return seconds


@dataclass(frozen=True)
class Played:
    """What the episodes took, in seconds."""

    wall: float
    cpu: float
    steps: list[float]


async def play(params: Params, episodes: list[Recorded], way: Way, concurrency: int) -> Played:
    """Play the episodes in one way."""
    browser = params.browser.model_copy(update={"concurrency": concurrency})
    steps: list[float] = []

    async with BrowserPool(browser, site=MiniWoBSite(), text=way.text) as pool:

        async def play_one(episode: Recorded) -> None:
            async with pool.session() as session:
                await session.start(miniwob_task(episode.family, episode.seed))
                for turn in episode.turns:
                    began = time.monotonic()
                    await session.step(turn[way.calls])
                    steps.append(time.monotonic() - began)

        await asyncio.gather(*(play_one(episode) for episode in episodes[:concurrency]))
        steps.clear()
        began, cpu = time.monotonic(), _cpu_s()
        await asyncio.gather(*(play_one(episode) for episode in episodes))
        return Played(time.monotonic() - began, _cpu_s() - cpu, steps)


async def on_large_pages(
    params: Params, text: TextKind, pages: Mapping[str, str], act: Callable[[Session], Awaitable[object]]
) -> dict[str, float]:
    """Median seconds, of five times, that an action takes on each page, whose HTML is a JavaScript expression."""
    browser = params.browser.model_copy(update={"concurrency": 1})
    seconds = {}
    async with BrowserPool(browser, site=MiniWoBSite(), text=text) as pool:
        for name, html in pages.items():
            async with pool.session() as session:
                await session.start(miniwob_task(FAMILIES[0], 0))
                await session.page.evaluate(f"document.body.innerHTML = {html}; document.body.offsetHeight")
                times = []
                for _ in range(5):
                    began = time.monotonic()
                    await act(session)
                    times.append(time.monotonic() - began)
                seconds[name] = round(statistics.median(times), 3)
    return seconds


async def large_pages(params: Params, text: TextKind) -> dict[str, float]:
    """Seconds that the element list or the accessibility tree of each large page takes."""

    async def read(session: Session) -> None:
        await (element_list(session.page) if text == "elements" else session.oracle_elements())

    return await on_large_pages(params, text, LARGE_PAGES, read)


async def large_steps(params: Params, text: TextKind) -> dict[str, float]:
    """Seconds of a step on each large page, and on a small one, with the waits for pages of the web."""
    waits = BrowserParams()
    changed = {"quiet_ms": waits.quiet_ms, "settle_ms": waits.settle_ms}
    on_web = params.model_copy(update={"browser": params.browser.model_copy(update=changed)})
    key = check_call("press_keys", {"keys": ["shift"]})
    pages = {"small": "'<button>buy</button>'", **LARGE_PAGES}
    return await on_large_pages(on_web, text, pages, lambda session: session.step([key]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=48, help="per round with 16 at a time; a sixth with one")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    params = load(RECIPE)
    episodes = asyncio.run(record(params, options.episodes, options.turns))
    medians: dict[str, list[float]] = {name: [] for name in WAYS}
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    cpu: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(options.rounds):
        for name, way in WAYS.items():
            played = asyncio.run(play(params, episodes[: max(1, options.episodes // 6)], way, 1))
            medians[name].append(statistics.median(played.steps) * 1000)
            played = asyncio.run(play(params, episodes, way, 16))
            rates[name].append(len(played.steps) / played.wall)
            cpu[name].append(played.cpu / len(played.steps) * 1000)
            print(f"round {number}, {name}: {medians[name][-1]:.1f} ms, {rates[name][-1]:.1f} steps/s", flush=True)
    step_ms = {name: statistics.median(values) for name, values in medians.items()}
    steps_s = {name: statistics.median(values) for name, values in rates.items()}
    cpu_ms = {name: statistics.median(values) for name, values in cpu.items()}
    figures = {
        "step_ms": {name: round(value, 1) for name, value in step_ms.items()},
        "ids_over_points_step": round(step_ms["ids"] / step_ms["points"], 2),
        "steps_s_at_16": {name: round(value, 1) for name, value in steps_s.items()},
        "axtree_over_elements_throughput": round(steps_s["points_on_axtree"] / steps_s["points"], 2),
        "ids_over_points_throughput": round(steps_s["ids"] / steps_s["points"], 2),
        "cpu_ms_per_step_at_16": {name: round(value, 1) for name, value in cpu_ms.items()},
        "large_pages_s": {text: asyncio.run(large_pages(params, text)) for text in TEXTS},
        "large_pages_step_s": {text: asyncio.run(large_steps(params, text)) for text in TEXTS},
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
