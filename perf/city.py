"""The city's copies: how quick they are, what they cost, and whether any is left behind: `python -m perf.city`.

- Resets, forks, snapshots and differences of one process: medians and 95th percentiles.
- Episodes per second over plain HTTP, without a browser: each opens four pages and adds an article to the cart. With 1,
  8, 16 and 32 at once, each on a copy of its own (`isolated`), against the same requests on one copy that all share
  (`shared`). The two take turns in the same run.
- Memory per copy: growth of the process over 100 copies that were used.
- Copies that are left after 1,000 episodes that began and ended.
- One server process against two (`worlds.city.processes`), which take turns: seconds until all have started, MiB of
  each then and after the episodes, and episodes per second with 8 and 16 at once: the ones above over plain HTTP, and
  in Chromium those of an oracle that puts an article into the cart.

Last line: JSON with the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import psutil

from components.browser import Session, open_browsers
from components.params import BrowserParams
from components.records import Task
from components.worlds.city import City
from components.worlds.city.image import ensure
from components.worlds.city.instances import instances
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import templates
from components.worlds.playing import play

HOST = "shop.test"
PATHS = ("/", "/catalogue/", "/search/?q=rope")
PRODUCT = 2
CONCURRENCY = (1, 8, 16, 32)
COPIES_FOR_MEMORY = 100
PROCESSES = (1, 2)
DIVIDED = (8, 16)
"""Episodes at once on one process and on two."""
PARTS = ("operations", "memory", "throughput", "ended", "processes")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200, help="of each kind; default: %(default)s")
    parser.add_argument("--episodes", type=int, default=64, help="per concurrency and round; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--ended", type=int, default=1000, help="episodes that begin and end; default: %(default)s")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    options = parser.parse_args()
    figures: dict[str, object] = {}
    server = CityServer(ensure())
    try:
        if "operations" in options.parts:
            figures |= operations(server, options.operations)
        if "memory" in options.parts:
            figures |= memory(server)
        if "throughput" in options.parts:
            figures["throughput"] = [
                throughput(server, concurrency, options.episodes, options.rounds) for concurrency in CONCURRENCY
            ]
        if "ended" in options.parts:
            figures["copies_left"] = ended(server, options.ended)
    finally:
        server.stop()
    if "processes" in options.parts:
        figures["processes"] = divided(ensure(), options.episodes, options.rounds)
        figures["in_chromium"] = asyncio.run(in_chromium(options.episodes, options.rounds))
    print(json.dumps(figures))


def operations(server: CityServer, count: int) -> dict[str, object]:
    """Milliseconds of each operation through the control interface."""
    key = server.reset(1)["key"]
    before = server.snapshot(key)
    visit(server, key)
    kinds: dict[str, Callable[[], str | None]] = {
        "reset": lambda: server.reset(1)["key"],
        "fork": lambda: server.fork(key),
        "snapshot": lambda: server.snapshot(key),
        "diff": lambda: str(server.diff(before, key)) and None,
    }
    figures = {}
    for name, operation in kinds.items():
        times = []
        for _ in range(count if name != "diff" else max(1, count // 10)):
            began = time.perf_counter()
            made = operation()
            times.append((time.perf_counter() - began) * 1000)
            if made is not None:
                server.drop(made)
        cuts = statistics.quantiles(times, n=20)
        figures[f"{name}_ms"] = {"median": round(cuts[9], 2), "p95": round(cuts[18], 2)}
    server.drop(key)
    server.drop(before)
    return dict(figures)


def memory(server: CityServer) -> dict[str, object]:
    """MiB per copy that served an episode's pages."""
    keys = [server.reset(1)["key"]]
    visit(server, keys[0])
    process = psutil.Process(server.pid)
    before = process.memory_info().rss
    for _ in range(COPIES_FOR_MEMORY):
        keys.append(server.reset(1)["key"])
        visit(server, keys[-1])
    grown = process.memory_info().rss - before
    for key in keys:
        server.drop(key)
    return {"mib_per_copy": round(grown / COPIES_FOR_MEMORY / 2**20, 2)}


def throughput(server: CityServer, concurrency: int, episodes: int, rounds: int) -> dict[str, object]:
    """Episodes per second on copies of their own and on one shared copy."""
    shared = server.reset(1)["key"]

    def isolated_episode(_: int) -> None:
        key = server.reset(1)["key"]
        visit(server, key)
        server.drop(key)

    def shared_episode(_: int) -> None:
        visit(server, shared)

    rates: dict[str, list[float]] = {"isolated": [], "shared": []}
    with ThreadPoolExecutor(concurrency) as threads:
        for _ in range(rounds):
            for name, episode in (("isolated", isolated_episode), ("shared", shared_episode)):
                began = time.perf_counter()
                list(threads.map(episode, range(episodes)))
                rates[name].append(episodes / (time.perf_counter() - began))
    server.drop(shared)
    isolated, peer = (statistics.median(rates[name]) for name in ("isolated", "shared"))
    return {
        "concurrency": concurrency,
        "isolated_per_s": round(isolated, 2),
        "shared_per_s": round(peer, 2),
        "ratio": round(isolated / peer, 3),
    }


def ended(server: CityServer, episodes: int) -> int:
    """The number of copies after so many episodes that began and ended."""
    for _ in range(episodes):
        ready = server.reset(1)
        before = server.snapshot(ready["key"])
        server.drop(ready["key"])
        server.drop(before)
    return server.count()


def divided(image: Path, episodes: int, rounds: int) -> list[dict[str, object]]:
    """Episodes per second over plain HTTP, divided among one process and two."""
    fleets: dict[int, list[CityServer]] = {}
    figures: dict[int, dict[str, object]] = {}
    rates: dict[tuple[int, int], list[float]] = {}
    try:
        for count in PROCESSES:
            began = time.perf_counter()
            with ThreadPoolExecutor(count) as threads:
                fleets[count] = list(threads.map(CityServer, [image] * count))
            seconds = round(time.perf_counter() - began, 1)
            figures[count] = {"processes": count, "start_s": seconds, "mib_at_start": resident(fleets[count])}
        for _ in range(rounds):
            for concurrency in DIVIDED:
                for count in PROCESSES:
                    rate = episodes_per_second(fleets[count], concurrency, episodes)
                    rates.setdefault((count, concurrency), []).append(rate)
        for count in PROCESSES:
            figures[count]["mib_afterwards"] = resident(fleets[count])
            figures[count]["http_episodes_per_s"] = {
                concurrency: round(statistics.median(rates[count, concurrency]), 2) for concurrency in DIVIDED
            }
    finally:
        for server in (server for fleet in fleets.values() for server in fleet):
            server.stop()
    return [*figures.values()]


def resident(servers: list[CityServer]) -> list[int]:
    """MiB of memory of each server's process."""
    return [round(psutil.Process(server.pid).memory_info().rss / 2**20) for server in servers]


def episodes_per_second(servers: list[CityServer], concurrency: int, episodes: int) -> float:
    """Episodes over plain HTTP, each on the next server."""

    def episode(number: int) -> None:
        server = servers[number % len(servers)]
        key = server.reset(1)["key"]
        visit(server, key)
        server.drop(key)

    with ThreadPoolExecutor(concurrency) as threads:
        began = time.perf_counter()
        list(threads.map(episode, range(episodes)))
        return episodes / (time.perf_counter() - began)


async def in_chromium(episodes: int, rounds: int) -> list[dict[str, object]]:
    """Episodes per second in Chromium, by processes and episodes at once. The first of each slot are not measured."""
    rates: dict[tuple[int, int], list[float]] = {}
    for _ in range(rounds):
        for concurrency in DIVIDED:
            for count in PROCESSES:
                rate = await oracles_per_second(count, concurrency, episodes)
                rates.setdefault((count, concurrency), []).append(rate)
    return [
        {"processes": count, "concurrency": concurrency, "episodes_per_s": round(statistics.median(several), 2)}
        for (count, concurrency), several in rates.items()
    ]


async def oracles_per_second(processes: int, concurrency: int, episodes: int) -> float:
    """Episodes in which an article is put into the cart, in Chromium, as in a pipeline's stage."""
    world = City(CityParams(processes=processes))
    browser = BrowserParams(concurrency=concurrency, start_timeout_s=120, step_timeout_s=120)
    async with open_browsers(browser, world.sites(), "elements") as browsers:
        made = await asyncio.to_thread(instances, world.site().server, templates()["shop_add_to_basket"], 1, 8)
        tasks = [Task.model_validate(instance.row("train")) for instance in made]

        async def episode(task: Task) -> None:
            async with browsers.session(task) as session:
                assert isinstance(session, Session)
                await session.start(task)
                await play(session, world.teacher(task))

        async def run(count: int) -> None:
            await asyncio.gather(*(episode(tasks[number % len(tasks)]) for number in range(count)))

        await run(concurrency)
        began = time.perf_counter()
        await run(episodes)
        return episodes / (time.perf_counter() - began)


def visit(server: CityServer, key: str) -> None:
    """Open pages of the shop and add an article to the cart.

    Raises:
        RuntimeError: a page is not as expected.
    """
    jar = {"city": key}
    for path in PATHS:
        request(server, jar, path)
    page = request(server, jar, f"/catalogue/x_{PRODUCT}/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    if token is None:
        raise RuntimeError("the article's page has no form")
    request(server, jar, f"/basket/add/{PRODUCT}/", {"csrfmiddlewaretoken": token[1], "quantity": "1"})


def request(server: CityServer, jar: dict[str, str], path: str, form: dict[str, str] | None = None) -> str:
    """The body of an answer, after redirections; cookies are kept in `jar`."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request(
            "POST" if form else "GET",
            path,
            urlencode(form) if form else None,
            {
                "Host": HOST,
                "Cookie": "; ".join(f"{name}={value}" for name, value in jar.items()),
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                cookie, _, rest = value.partition("=")
                jar[cookie] = rest.partition(";")[0]
    finally:
        connection.close()
    if answer.status in (301, 302):
        return request(server, jar, str(answer.getheader("Location")).removeprefix(f"http://{HOST}"))
    if answer.status != 200:
        raise RuntimeError(f"{path} was answered with status {answer.status}: {body[:200]}")
    return body


if __name__ == "__main__":
    main()
