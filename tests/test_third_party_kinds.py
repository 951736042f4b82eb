"""A protocol, an objective and a judge of another distribution, installed and named.

`test_smoke` runs the whole pipeline with the protocol, and trains a phase with the objective. `tests/third_party_kinds`
is the package that the how-to pages on these kinds show.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.test_smoke import ROOT, THIRD_PARTY_KINDS, pip_install

JUDGE = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "judge"}, "protocol": "last_screenshot"}
USE_OBJECTIVE = """
import sys
from components.params import load
from components.records import Reward
from components.rollout import Group
from components.training.objectives import objective_of
from tests.samples import a_task, a_trajectory

objective = objective_of(load(sys.argv[1]))
rewards = [(1.0, False), (0.0, False), (0.0, True)]
trajectories = [a_trajectory(turns=2, attempt=number) for number in range(3)]
scores = [
    Reward(trajectory_id=one.trajectory_id, value=value, masked=masked, format_ok=True)
    for one, (value, masked) in zip(trajectories, rewards, strict=True)
]
credits = objective.credits(Group(a_task(), trajectories, scores))
print(type(objective).__module__, [[credit and credit.advantage for credit in turns] for turns in credits])
"""
USE_PROTOCOL = """
import sys
from components.agent.protocols import protocol
from components.params import load
from components.records import ToolCall

agent = load(sys.argv[1]).agent
spoken = protocol(agent.protocol)
parsed = spoken.parse(spoken.write("look", [ToolCall(name="click", arguments={"x": 1, "y": 2})]))
print(spoken.name, [(one.name, one.error) for one in parsed.calls], agent.shows_screenshots)
assert protocol("waymark_baselines.current_page") is spoken, "the dotted path means the same"
"""
USE_JUDGE = """
import asyncio
import sys
from components.endpoint import Answer
from components.judge.protocols import judge_protocol
from components.params import load
from tests.samples import a_trajectory

async def ask(messages, response_format=None):
    text = "It is so.\\nVerdict: NOT SUCCESS"
    return Answer(text=text, finish_reason="stop", prompt_tokens=9, completion_tokens=9, usd=0.0, latency_s=0.1)

named = judge_protocol(load(sys.argv[1]).judge.model.protocol)
print(asyncio.run(named.judge(a_trajectory(), ask)).outcome.value)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which Python finds the package as pip installs it, its entry points included."""
    target = tmp_path_factory.mktemp("site")
    pip_install(THIRD_PARTY_KINDS, target)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(ROOT)])}


def write(folder: Path, objective: dict[str, object]) -> Path:
    """A recipe that names all three."""
    changes = {
        "extends": "demo",
        "name": "baselines",
        "agent": {"protocol": "current_page", "repeat_task": False},
        "judge": {"model": JUDGE},
        "rl": {"objective": objective},
    }
    path = folder / "baselines.yaml"
    path.write_text(yaml.safe_dump(changes))
    return path


def run(environment: dict[str, str], *command: str | Path) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, *map(str, command)]
    return subprocess.run(
        arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def test_a_recipe_that_names_installed_kinds_is_validated_and_planned(environment, tmp_path):
    recipe = write(tmp_path, {"name": "mean_baseline"})
    for command in ("validate", "plan"):
        done = run(environment, "-m", "components.cli.main", command, recipe)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_key_that_an_installed_objective_lacks_is_refused(environment, tmp_path):
    done = run(
        environment, "-m", "components.cli.main", "validate", write(tmp_path, {"name": "mean_baseline", "kl": 1})
    )
    assert done.returncode != 0
    assert (
        "rl.objective.kl = 1: unknown field where name = mean_baseline; allowed here: max_" in done.stdout + done.stderr
    )


def test_an_objective_that_is_not_installed_is_refused_with_those_that_are(tmp_path):
    done = run({**os.environ}, "-m", "components.cli.main", "validate", write(tmp_path, {"name": "mean_baseline"}))
    assert done.returncode != 0
    message = done.stdout + done.stderr
    assert "rl.objective.name = 'mean_baseline': must be one of 'filtered_bc', 'm_grpo', 'mm_grpo', 'rft'" in message
    assert "protocols has no 'current_page'; it has browseragent, openwebrl" in message


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (USE_OBJECTIVE, "waymark_baselines.mean_baseline [[0.5, 0.5], [-0.5, -0.5], [None, None]]"),
        (USE_PROTOCOL, "current_page [('click', None)] True"),
        (USE_JUDGE, "failure"),
    ],
    ids=["objective", "protocol", "judge"],
)
def test_an_installed_kind_does_its_work(environment, tmp_path, code, printed):
    done = run(environment, "-c", code, write(tmp_path, {"name": "mean_baseline"}))
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


FAULTY = {
    "no_such_module": (None, "objectives: 'broken' (no_such_module) cannot be imported"),
    "taken": (
        "from components.params import MMGRPOParams\nKIND = type('Mine', (MMGRPOParams,), {})",
        "is no Objective",
    ),
    "any_name": (
        "from components.params import OnlineParams\n\n"
        "class Mine(OnlineParams):\n    name: str = 'broken'\n\nKIND = Mine",
        "is no ObjectiveParams with name: Literal",
    ),
    "no_section": ("KIND = 1", "is no ObjectiveParams with name: Literal"),
    "no_class": (
        "from typing import ClassVar, Literal\nfrom components.params import OnlineParams\n\n"
        "class Mine(OnlineParams):\n    objective_class: ClassVar[str] = 'nowhere.objective'\n"
        "    name: Literal['broken'] = 'broken'\n\nKIND = Mine",
        "there is no module nowhere.objective: correct Mine.objective_class",
    ),
}
"""Modules of an installed objective `broken`, and what a recipe that names it is told."""


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_package_stops_no_recipe_that_does_not_name_it(environment, tmp_path, name):
    code, message = FAULTY[name]
    if code is not None:
        (tmp_path / f"{name}.py").write_text(code)
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "broken-1.dist-info/METADATA").write_text("Name: broken\nVersion: 1\n")
    entry = f"[waymark.objectives]\nbroken = {name}\n"
    (tmp_path / "broken-1.dist-info/entry_points.txt").write_text(entry)
    broken = {**environment, "PYTHONPATH": os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])}
    done = run(broken, "-m", "components.cli.main", "validate", write(tmp_path, {"name": "mean_baseline"}))
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(broken, "-m", "components.cli.main", "validate", write(tmp_path, {"name": "broken"}))
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("key", ["agent.protocol", "judge.model.protocol"])
def test_an_object_of_another_type_is_no_protocol(tmp_path, key):
    changes = {"agent": {"protocol": "os.path:join", "repeat_task": False}}
    if key == "judge.model.protocol":
        changes = {"judge": {"model": JUDGE | {"protocol": "os.path:join"}}}
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({"extends": "demo", "name": "wrong", **changes}))
    done = run({**os.environ}, "-m", "components.cli.main", "validate", path)
    assert f"{key} = 'os.path:join': 'os.path:join' is <function join" in done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
