"""The measurements of the city, small enough to try."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from components.worlds.city.image import ENVIRONMENT
from perf import city, city_faults

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (ENVIRONMENT / ".stamp").exists(), reason="`make city` makes the environment of the city"),
]


def figures_of(monkeypatch, capsys, *arguments: str) -> dict:
    monkeypatch.setattr(sys, "argv", ["city", *arguments])
    city.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_killed_processes_lose_no_episode_and_falsify_no_verdict(monkeypatch, capsys):
    figures = figures_of(monkeypatch, capsys, "--parts", "faults", "--faulted", "12", "--kills", "2")["faults"]
    assert figures.pop("interrupted") >= 2, "those whose turn it was when their server was killed"
    assert figures == {"kills": 2, "episodes": 12, "lost": 0, "lost_as": {}, "wrong": 0, "left": 0}


def test_a_verdict_that_is_not_of_what_was_done_is_counted(monkeypatch):
    expected = ((0.0, 1), (0.0, 0), (0.0, 1))  # as if the task were not done by putting the article into the cart
    monkeypatch.setattr(city_faults, "EXPECTED", expected)
    figures = asyncio.run(city_faults.faults(3, 0))
    assert (figures["wrong"], figures["interrupted"], figures["lost"]) == (1, 0, 0)


def test_episodes_that_open_a_page_and_end_leave_nothing(monkeypatch, capsys):
    pages = []
    request = city.request

    def kept(*arguments):
        pages.append(request(*arguments))
        return pages[-1]

    monkeypatch.setattr(city, "request", kept)
    figures = figures_of(monkeypatch, capsys, "--parts", "ended", "--ended", "20")
    assert figures == {"left": {"copies": 0, "snapshots": 0}}
    assert sum("Harbour Chandlery" in page for page in pages) >= 20


def test_rates_and_costs_of_episodes_are_measured(monkeypatch, capsys):
    sizes = ["--operations", "3", "--copies", "2", "--episodes", "2", "--rounds", "1"]
    figures = figures_of(monkeypatch, capsys, "--parts", "operations", "memory", "throughput", *sizes)
    assert {f"{name}_ms" for name in ("reset", "fork", "snapshot", "diff")} <= {*figures}
    assert [row["concurrency"] for row in figures["throughput"]] == [*city.CONCURRENCY]
    assert all(row["isolated_per_s"] > 0 for row in figures["throughput"])
