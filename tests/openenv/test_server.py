"""`waymark openenv` as a user starts it: a process of its own, real browsers, a client over the network."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from PIL import Image
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from components.browser import parse_elements
from components.cli.main import main
from components.openenv import WebAction, WebObservation
from components.ports import free_port
from components.records import Termination, Trajectory
from components.store import read_table

ROOT = Path(__file__).parents[2]
LIMIT_S = 120
STEPS = 3
SESSIONS = 2


class Client:
    """A connection, as openenv's clients make it."""

    def __init__(self, url: str) -> None:
        self.socket: ClientConnection = connect(url.replace("http", "ws") + "/ws", max_size=None, open_timeout=LIMIT_S)

    def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        self.socket.send(json.dumps({"type": kind, "data": data}))
        return json.loads(self.socket.recv(LIMIT_S))

    def reset(self, **data: Any) -> dict[str, Any]:
        return self.observed(self.ask("reset", **data))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.observed(self.ask("step", calls=[{"name": name, "arguments": arguments}]))

    @staticmethod
    def observed(answer: dict[str, Any]) -> dict[str, Any]:
        assert answer["type"] == "observation", answer
        data = answer["data"]
        WebObservation.model_validate({**data["observation"], "reward": data["reward"], "done": data["done"]})
        return {**data["observation"], "reward": data["reward"], "done": data["done"]}


class Started:
    """A server of the recipe `smoke`, with its address."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "components.cli.main", "openenv", str(ROOT / "recipes/smoke.yaml")]
        command += ["--port", str(free_port()), "--sessions", str(SESSIONS), "--max-steps", str(STEPS), *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        address = re.search(r"http://\S+?(?=,)", line)
        assert address is not None, line
        self.url = address[0]

    def client(self) -> Client:
        return Client(self.url)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)


@pytest.fixture(scope="module")
def server() -> Iterator[Started]:
    started = Started()
    yield started
    started.end()


@pytest.fixture
def client(server: Started) -> Iterator[Client]:
    opened = server.client()
    yield opened
    opened.ask("state")
    opened.socket.close()


def button_of(observation: dict[str, Any]) -> dict[str, float]:
    """The point of the button that the task names."""
    name = re.search(r'"(.*)"', observation["instruction"])
    assert name is not None
    element = next(element for element in parse_elements(observation["text"]) if element.name == name[1])
    return {"x": element.x, "y": element.y}


def eval_task(server: Started, family: str) -> dict[str, Any]:
    tasks = httpx.post(f"{server.url}/smoke/tasks", json={"split": "eval"}).json()["tasks"]
    return next(task for task in tasks if task["website"] == f"miniwob/{family}")


def in_an_episode(server: Started) -> Client:
    """A client whose episode has begun, as soon as a session is free."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        client = server.client()
        with contextlib.suppress(ConnectionClosed):  # a refused one
            if client.ask("reset", seed=3)["type"] == "observation":
                return client
        time.sleep(0.1)
    raise AssertionError("no session became free")


def test_a_task_that_is_done_has_the_reward_1(server, client):
    task = eval_task(server, "click-button")
    first = client.reset(split="eval", index=task["index"])
    assert (first["instruction"], first["reward"], first["done"]) == (task["instruction"], None, False)
    assert first["metadata"] == {"task_id": task["id"]}
    assert Image.open(io.BytesIO(base64.b64decode(first["screenshot"]))).size == tuple(first["viewport"])
    clicked = client.call("click", **button_of(first))
    assert (clicked["reward"], clicked["done"], len(clicked["feedback"])) == (0.0, False, 1)
    last = client.call("done", answer="")
    assert (last["reward"], last["done"], last["metadata"]["success"]) == (1.0, True, True)
    assert last["metadata"]["termination"] == "done"
    assert client.ask("state")["data"] | {"episode_id": ""} == {
        "episode_id": "", "step_count": 2, "task_id": task["id"], "split": "eval", "termination": "done",
    }  # fmt: skip


def test_a_task_that_is_not_done_has_the_reward_0(server, client):
    client.reset(task_id=eval_task(server, "click-button")["id"], episode_id="mine")
    assert client.ask("state")["data"]["episode_id"] == "mine"
    last = client.call("done", answer="")
    assert (last["reward"], last["done"], last["metadata"]["success"]) == (0.0, True, False)


def test_the_limit_of_actions_ends_an_episode(client):
    client.reset(seed=1)
    ends = [client.call("wait", seconds=0.1)["done"] for _ in range(STEPS)]
    assert ends == [False] * (STEPS - 1) + [True]
    answer = client.ask("step", calls=[{"name": "wait"}])
    assert answer["data"]["message"] == "the episode has ended: send a reset to begin the next one"


def test_a_seed_chooses_the_same_task_again(client):
    first, again = client.reset(seed=7, split="train"), client.reset(seed=7, split="train")
    assert first["metadata"] == again["metadata"]
    assert len({client.reset(seed=seed, split="train")["metadata"]["task_id"] for seed in range(6)}) > 1


def test_a_response_is_read_in_the_recipes_protocol(server, client):
    first = client.reset(task_id=eval_task(server, "click-button")["id"], messages=True)
    roles = [message["role"] for message in first["messages"]]
    assert roles == ["system", "user"]
    assert first["messages"][1]["content"][0]["text"].startswith(f"Task: {first['instruction']}")
    point = button_of(first)
    call = json.dumps({"name": "click", "arguments": point})
    second = client.observed(client.ask("step", response=f"<think>It is there.</think>\n<tool_call>{call}</tool_call>"))
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert "It is there." in second["messages"][2]["content"]
    assert client.call("done", answer="")["reward"] == 1.0


def test_a_client_without_use_for_screenshots_gets_none(client):
    assert client.reset(seed=1, screenshot=False)["screenshot"] is None
    assert client.call("wait", seconds=0.1)["screenshot"] is None
    assert client.call("done", answer="")["screenshot"] is None
    assert client.reset(seed=1)["screenshot"] is not None


def test_wrong_calls_get_feedback_and_repeated_ones_end_the_episode(client):
    client.reset(seed=1)
    first = client.call("fly", name="x")
    assert first["feedback"][0].startswith("Failed: the response could not be read: no call could be parsed: unknown")
    client.call("fly")
    last = client.call("fly")
    assert (last["done"], last["metadata"]["termination"], last["reward"]) == (True, "format_error", -1.0)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("{", "INVALID_JSON", "Invalid JSON"),
        ('{"type": "dance"}', "UNKNOWN_TYPE", "dance"),
        ('{"type": "step", "data": {}}', "VALIDATION_ERROR", "give either `calls`, at least one, or `response`"),
        ('{"type": "step", "data": {"action": 1}}', "VALIDATION_ERROR", "action: Extra inputs"),
        ('{"type": "reset", "data": {"split": "evil"}}', "VALIDATION_ERROR", "there are train, eval, heldout"),
        ('{"type": "reset", "data": {"split": "eval", "index": 99}}', "VALIDATION_ERROR", "its tasks are 0 to 11"),
        ('{"type": "reset", "data": {"task_id": "x", "index": 1}}', "VALIDATION_ERROR", "leave out `split`"),
        ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR", "seed: "),
    ],
)
def test_a_bad_message_gets_an_error_and_the_episode_goes_on(client, text, code, message):
    client.reset(seed=1)
    client.socket.send(text)
    answer = json.loads(client.socket.recv(LIMIT_S))
    assert (answer["type"], answer["data"]["code"]) == ("error", code)
    assert message in answer["data"]["message"]
    assert client.call("wait", seconds=0.1)["feedback"][0].startswith("Succeed")


def test_an_action_before_the_first_reset_is_refused(client):
    answer = client.ask("step", response="x")
    assert answer["data"]["message"] == "no episode has begun: send a reset first"


def test_connections_over_the_limit_are_refused_until_one_closes(server, client):
    second = server.client()
    second.reset(seed=2)
    refused = server.client()
    assert json.loads(refused.socket.recv(LIMIT_S))["data"]["code"] == "CAPACITY_REACHED"
    second.socket.close()
    in_an_episode(server).socket.close()


def test_what_is_known_without_an_episode_does_not_tell_the_answer(server):
    get, post = httpx.get, httpx.post
    assert get(f"{server.url}/health").json() == {"status": "healthy"}
    assert get(f"{server.url}/list_environments").json() == ["smoke"]
    assert get(f"{server.url}/Smoke/splits").json() == [
        {"name": "train", "type": "train"}, {"name": "eval", "type": "test"}, {"name": "heldout", "type": "test"},
    ]  # fmt: skip
    assert post(f"{server.url}/smoke/num_tasks", json={"split": "eval"}).json() == {"num_tasks": 12}
    task = post(f"{server.url}/smoke/task", json={"split": "eval", "index": 11}).json()["task"]
    assert {*task} == {"id", "index", "split", "instruction", "start_url", "website", "difficulty"}
    some = post(f"{server.url}/smoke/task_range", json={"split": "eval", "start": 10}).json()["tasks"]
    assert [row["index"] for row in some] == [10, 11]
    assert post(f"{server.url}/smoke/task", json={"split": "eval", "index": 12}).status_code == 400
    assert post(f"{server.url}/other/task", json={"split": "eval", "index": 1}).status_code == 404
    assert get(f"{server.url}/schema").json()["action"] == WebAction.model_json_schema()
    assert "`done`" in get(f"{server.url}/metadata").json()["readme_content"]
    assert post(f"{server.url}/reset").status_code == 409


def test_recorded_episodes_are_judged_alike_and_a_signal_ends_it_clean(tmp_path):
    started = Started("--out", str(tmp_path))
    client = started.client()
    task = eval_task(started, "click-button")
    for _ in range(2):
        first = client.reset(task_id=task["id"], policy="mine")
        client.call("click", **button_of(first))
        assert client.call("done", answer="")["reward"] == 1.0
    client.reset(task_id=task["id"])  # it does not end, so it is not recorded
    browsers = psutil.Process(started.process.pid).children(recursive=True)
    assert started.end() == 0
    _, alive = psutil.wait_procs(browsers, timeout=LIMIT_S)
    assert alive == []
    episodes = read_table(tmp_path / "trajectories.parquet", Trajectory)
    assert [(episode.policy, episode.attempt, episode.termination) for episode in episodes] == [
        ("mine", 0, Termination.DONE), ("mine", 1, Termination.DONE),
    ]  # fmt: skip
    assert len({episode.trajectory_id for episode in episodes}) == 2
    assert main(["judge", "run", str(tmp_path), "--judge", "rules", "--out", str(tmp_path / "judged")]) == 0
    summary = json.loads((tmp_path / "judged/summary.json").read_text())
    assert (summary["judged"], summary["successes"]) == (2, 2)


def test_a_browser_that_dies_gives_no_reward_and_the_next_episode_works():
    started = Started()
    try:
        client = started.client()
        client.reset(seed=1)
        for child in psutil.Process(started.process.pid).children(recursive=True):
            if "chrom" in child.name():
                child.kill()
        last = client.call("wait", seconds=0.1)
        assert (last["done"], last["reward"], last["metadata"]["success"]) == (True, None, None)
        assert client.reset(seed=1)["done"] is False
    finally:
        started.end()


def test_a_client_that_disappears_frees_its_browser(server):
    for client in [in_an_episode(server) for _ in range(SESSIONS)]:
        os.close(client.socket.socket.detach())  # without a goodbye
    in_an_episode(server).socket.close()
