"""Of two commands that would write one ledger of models' costs, the second is refused."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.cli.main import main
from components.cli.one_command import only_command
from components.records import Trajectory
from components.store import write_table
from tests.endpoint_server import Server
from tests.samples import a_task, a_trajectory, shipped


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    running.reply = lambda asked: "Verdict: NOT SUCCESS"
    yield running
    running.close()


@pytest.fixture
def here(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two labelled failures and a model."""
    monkeypatch.chdir(tmp_path)
    raw = shipped("demo")
    raw["judge"]["model"] = {"endpoint": {"url": server.url, "model": "m", "key_variable": None}}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    trajectories = [a_trajectory(a_task(number), site_reward=0.0) for number in range(2)]
    write_table("t.parquet", Trajectory, trajectories)
    lines = [f"{trajectory.trajectory_id},failure\n" for trajectory in trajectories]
    Path("l.csv").write_text("trajectory_id,outcome\n" + "".join(lines))
    return tmp_path


CALIBRATE = ["judge", "calibrate", "--trajectories", "t.parquet", "--labels", "l.csv", "--judges"]
ATTACK = ["judge", "attack", "t.parquet", "--judge"]


@pytest.mark.parametrize("command", [CALIBRATE, ATTACK])
def test_a_second_command_about_the_same_files_is_refused(here, server, command, monkeypatch, capsys):
    first, second = [*command, "openwebrl"], [*command, "webvoyager"]
    monkeypatch.setattr(sys, "argv", ["/bin/waymark", *first])
    statuses: list[int] = []

    def reply(asked: dict) -> str:
        """The second command begins while the first one asks."""
        if not statuses:
            statuses.append(-1)
            statuses[0] = main(second)
        return "Verdict: NOT SUCCESS"

    server.reply = reply
    assert main(first) == 0
    assert statuses == [1]
    said = capsys.readouterr().err
    assert f": waymark {' '.join(first)} (process {os.getpid()}). Wait until it ends, or end it" in said
    (ledger,) = Path(".waymark").rglob("spent-judge-????????.json")
    assert json.loads(ledger.read_text())["requests"] == len(server.asked)
    assert main(second) == 0, "the first one has ended"


def test_a_command_that_has_no_model_takes_no_lock(here):
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    assert main([*CALIBRATE, "rules"]) == 0
    assert not [*Path(".waymark").rglob("lock")]


def test_the_lock_names_the_last_command_and_no_password(tmp_path, monkeypatch):
    for url in ("http://ada:long-password@host/v1", "http://b"):
        monkeypatch.setattr(sys, "argv", ["waymark", url])
        with only_command(tmp_path):
            held = (tmp_path / "lock").read_text()
        assert "long-password" not in held
    assert held == f"waymark http://b (process {os.getpid()})"
