"""The city's copies: how quick they are, what they cost, and whether any is left behind: `python -m perf.city`.

- Resets, forks, snapshots and differences of one process: medians and 95th percentiles.
- Episodes per second over plain HTTP, without a browser. Each begins and ends as in a pipeline: it makes a copy and a
  snapshot, opens four pages, adds an article to the cart, compares the copy with the snapshot and drops both. With 1,
  8, 16 and 32 at once (`isolated`), against the same pages on one copy that all share and that nothing compares
  (`shared`). The two take turns in the same run. `cpu_ratio` compares the server's CPU time for an episode.
- Memory per episode under way: growth of the process over 100 copies that were used and their snapshots, all with the
  data of one seed, and each with those of its own.
- Copies and snapshots that are left after 1,000 episodes that began, opened a page, were compared and ended.
- One server process against two (`worlds.city.processes`), which take turns: seconds until all have started, MiB of
  each then and after the episodes, and episodes per second with 8 and 16 at once: the ones above over plain HTTP, and
  in Chromium those of an oracle that puts an article into the cart.
- Faults: 96 episodes in Chromium, eight at once on two processes, one of which gets a SIGKILL in mid-episode, eight
  times. A third of the agents do their task, a third only say `done`, and a third do another task. How many episodes
  were interrupted and run again, were lost, or have a verdict that is not of what they did.

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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import psutil

from components.browser import Session, open_browsers
from components.params import BrowserParams
from components.records import Task
from components.worlds.city import City
from components.worlds.city.instances import Instance, instances
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.site import CityEpisode, CitySite
from components.worlds.city.tasks.registry import templates
from components.worlds.playing import play
from perf.city_faults import faults

HOST = "shop.test"
PATHS = ("/", "/catalogue/", "/search/?q=rope")
TEMPLATE = "shop_add_several"
"""The task of the episodes over plain HTTP. Its visitor does not log in, so episodes on one copy have carts of their
own."""
CONCURRENCY = (1, 8, 16, 32)
PROCESSES = (1, 2)
DIVIDED = (8, 16)
"""Episodes at once on one process and on two."""
PARTS = ("operations", "memory", "throughput", "ended", "processes", "faults")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200, help="of each kind; default: %(default)s")
    parser.add_argument("--copies", type=int, default=100, help="for the memory of one; default: %(default)s")
    parser.add_argument("--episodes", type=int, default=64, help="per concurrency and round; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--ended", type=int, default=1000, help="episodes that begin and end; default: %(default)s")
    parser.add_argument("--faulted", type=int, default=96, help="episodes with kills; default: %(default)s")
    parser.add_argument("--kills", type=int, default=8, help="of processes among them; default: %(default)s")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    print(json.dumps(asyncio.run(measure(parser.parse_args()))))


async def measure(options: argparse.Namespace) -> dict[str, object]:
    """The figures of all parts."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * max(CONCURRENCY)))
    figures: dict[str, object] = {}
    site = CitySite()
    await site.start()
    try:
        task = tasks_of(site.server, TEMPLATE, 1)[0]
        if "operations" in options.parts:
            figures |= operations(site.server, task, options.operations)
        if "memory" in options.parts:
            figures["mib_per_copy"] = await memory(site, [task] * options.copies)
            await site.stop()  # a new server: this one uses the databases of ended episodes again
            await site.start()
            own = await asyncio.to_thread(tasks_of, site.server, TEMPLATE, options.copies)
            figures["mib_per_copy_with_own_seed"] = await memory(site, own)
        if "throughput" in options.parts:
            figures["throughput"] = [
                await throughput(site, task, concurrency, options.episodes, options.rounds)
                for concurrency in CONCURRENCY
            ]
        if "ended" in options.parts:
            figures["left"] = await ended(site, task, options.ended)
    finally:
        await site.stop()
    if "processes" in options.parts:
        figures["processes"] = await divided(task, options.episodes, options.rounds)
        figures["in_chromium"] = await in_chromium(options.episodes, options.rounds)
    if "faults" in options.parts:
        figures["faults"] = await faults(options.faulted, options.kills)
    return figures


def tasks_of(server: CityServer, template: str, count: int) -> list[Task]:
    """Tasks of a template, each with a seed of its own."""
    made = instances(server, templates()[template], 1, count)
    return [Task.model_validate(instance.row("train")) for instance in made]


def operations(server: CityServer, task: Task, count: int) -> dict[str, object]:
    """Milliseconds of each operation through the control interface."""
    key = server.reset(1)["key"]
    before = server.snapshot(key)
    visit(server, {"city": key}, task)
    kinds: dict[str, Callable[[], str | None]] = {
        "reset": lambda: server.reset(1)["key"],
        "fork": lambda: server.fork(key),
        "snapshot": lambda: server.snapshot(key),
        "diff": lambda: str(server.diff(before, key)) and None,
    }
    figures = {}
    for name, operation in kinds.items():
        times = []
        for _ in range(count if name != "diff" else max(2, count // 10)):
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


async def memory(site: CitySite, tasks: Sequence[Task]) -> float:
    """MiB of a copy that served an episode's pages and of its snapshot, while all episodes are under way."""
    process = psutil.Process(site.server.pid)
    episodes: list[CityEpisode] = []
    try:
        for task in [tasks[0], *tasks]:
            if len(episodes) == 1:  # the first has the memory that later ones share
                before = process.memory_info().rss
            episodes.append(await site.begin(task))
            await asyncio.to_thread(visit, site.server, jar_of(episodes[-1]), task)
        grown = process.memory_info().rss - before
    finally:
        for episode in episodes:
            await episode.end()
    return round(grown / len(tasks) / 2**20, 2)


async def throughput(site: CitySite, task: Task, concurrency: int, episodes: int, rounds: int) -> dict[str, object]:
    """Episodes per second, and the server's CPU time for one, on copies of their own and on one shared copy."""
    shared = await asyncio.to_thread(site.server.reset, Instance.of(task).seed)
    kinds: dict[str, Callable[[int], Awaitable[Any]]] = {
        "isolated": lambda _: run_episode(site, task),
        "shared": lambda _: asyncio.to_thread(visit, site.server, {"city": shared["key"]}, task),
    }
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    costs: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, episode in kinds.items():
            before = cpu_s(site.server)
            rates[name].append(await per_second(episode, episodes, concurrency))
            costs[name].append((cpu_s(site.server) - before) / episodes)
    await asyncio.to_thread(site.server.drop, shared["key"])
    isolated, peer = (statistics.median(rates[name]) for name in kinds)
    cost, peer_cost = (statistics.median(costs[name]) for name in kinds)
    return {
        "concurrency": concurrency,
        "isolated_per_s": round(isolated, 2),
        "shared_per_s": round(peer, 2),
        "ratio": round(isolated / peer, 3),
        "isolated_cpu_ms": round(cost * 1000),
        "shared_cpu_ms": round(peer_cost * 1000),
        "cpu_ratio": round(peer_cost / cost, 3),
    }


def cpu_s(server: CityServer) -> float:
    """The CPU time that a server's process has had, which other work on the machine changes less than its rates."""
    times = psutil.Process(server.pid).cpu_times()
    return times.user + times.system


async def ended(site: CitySite, task: Task, episodes: int) -> Mapping[str, int]:
    """What the server keeps after so many episodes that began, opened a page, were compared and ended."""

    async def episode(_: int) -> None:
        begun = await site.begin(task)
        try:
            await asyncio.to_thread(request, site.server, jar_of(begun), PATHS[0])
            await begun.check_state(None)
        finally:
            await begun.end()

    await per_second(episode, episodes, DIVIDED[0])
    return site.server.count()._asdict()


async def run_episode(site: CitySite, task: Task) -> None:
    """An episode from its copy to its verdict, with plain HTTP in place of a browser.

    Raises:
        RuntimeError: the verdict is not that the task is done.
    """
    begun = await site.begin(task)
    try:
        await asyncio.to_thread(visit, site.server, jar_of(begun), task)
        check = await begun.check_state(None)
    finally:
        await begun.end()
    assert check is not None, "a task of a template has a check"
    if check.reward != 1:
        raise RuntimeError(f"the episode of {task.task_id} failed: {check.missing + check.side_effects}")


async def per_second(episode: Callable[[int], Awaitable[Any]], episodes: int, concurrency: int) -> float:
    """Episodes per second, so many at once; `episode` is called with the number of each."""
    numbers = iter(range(episodes))

    async def work() -> None:
        for number in numbers:
            await episode(number)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return episodes / (time.perf_counter() - began)


async def divided(task: Task, episodes: int, rounds: int) -> list[dict[str, object]]:
    """Episodes per second over plain HTTP, divided among one process and two."""
    fleets: dict[int, list[CitySite]] = {}
    figures: dict[int, dict[str, object]] = {}
    rates: dict[tuple[int, int], list[float]] = {}
    try:
        for count in PROCESSES:
            began = time.perf_counter()
            fleet = fleets[count] = [CitySite() for _ in range(count)]
            await asyncio.gather(*(site.start() for site in fleet))
            seconds = round(time.perf_counter() - began, 1)
            figures[count] = {"processes": count, "start_s": seconds, "mib_at_start": resident(fleet)}
        for _ in range(rounds):
            for concurrency in DIVIDED:
                for count, fleet in fleets.items():
                    rate = await divided_per_second(fleet, task, episodes, concurrency)
                    rates.setdefault((count, concurrency), []).append(rate)
        for count in PROCESSES:
            figures[count]["mib_afterwards"] = resident(fleets[count])
            figures[count]["http_episodes_per_s"] = {
                concurrency: round(statistics.median(rates[count, concurrency]), 2) for concurrency in DIVIDED
            }
    finally:
        for site in (site for fleet in fleets.values() for site in fleet):
            await site.stop()
    return [*figures.values()]


async def divided_per_second(fleet: Sequence[CitySite], task: Task, episodes: int, concurrency: int) -> float:
    """Episodes per second over plain HTTP, each on the next site."""
    return await per_second(lambda number: run_episode(fleet[number % len(fleet)], task), episodes, concurrency)


def resident(fleet: Sequence[CitySite]) -> list[int]:
    """MiB of memory of each site's process."""
    return [round(psutil.Process(site.server.pid).memory_info().rss / 2**20) for site in fleet]


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
        tasks = await asyncio.to_thread(tasks_of, world.site().server, "shop_add_to_basket", 8)

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


def jar_of(episode: CityEpisode) -> dict[str, str]:
    """The cookies of an episode's browser for the shop."""
    return {cookie.name: cookie.value for cookie in episode.cookies if cookie.origin == f"http://{HOST}"}


def visit(server: CityServer, jar: dict[str, str], task: Task) -> None:
    """Open pages of the shop and add the task's article to the cart. Cookies are kept in `jar`.

    Raises:
        RuntimeError: a page is not as expected.
    """
    product, count = (task.evaluator["facts"][name] for name in ("product", "count"))
    for path in PATHS:
        request(server, jar, path)
    page = request(server, jar, f"/catalogue/x_{product}/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    if token is None:
        raise RuntimeError("the article's page has no form")
    request(server, jar, f"/basket/add/{product}/", {"csrfmiddlewaretoken": token[1], "quantity": str(count)})


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
