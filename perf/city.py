"""The city's copies: how quick they are, what they cost, and whether any is left behind: `python -m perf.city`.

- Resets, forks, snapshots and differences of one process: medians and 95th percentiles.
- Episodes per second over plain HTTP, without a browser: each opens four pages and adds an article to the cart. With 1,
  8, 16 and 32 at once, each on a copy of its own (`isolated`), against the same requests on one copy that all share
  (`shared`). The two take turns in the same run.
- Memory per copy: growth of the process over 100 copies that were used.
- Copies that are left after 1,000 episodes that began and ended.

Last line: JSON with the figures.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import psutil

from components.worlds.city.image import ensure
from components.worlds.city.server_process import CityServer

HOST = "shop.test"
PATHS = ("/", "/catalogue/", "/search/?q=rope")
PRODUCT = 2
CONCURRENCY = (1, 8, 16, 32)
COPIES_FOR_MEMORY = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200, help="of each kind; default: %(default)s")
    parser.add_argument("--episodes", type=int, default=64, help="per concurrency and round; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--ended", type=int, default=1000, help="episodes that begin and end; default: %(default)s")
    options = parser.parse_args()
    server = CityServer(ensure())
    try:
        figures: dict[str, object] = {**operations(server, options.operations), **memory(server)}
        figures["throughput"] = [
            throughput(server, concurrency, options.episodes, options.rounds) for concurrency in CONCURRENCY
        ]
        for _ in range(options.ended):
            ready = server.reset(1)
            before = server.snapshot(ready["key"])
            server.drop(ready["key"])
            server.drop(before)
        figures["copies_left"] = server.count()
    finally:
        server.stop()
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
