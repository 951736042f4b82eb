"""Episodes that continue another one, in Chromium: in the same state, apart from it, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from components.agent import (
    Branch,
    Completion,
    EpisodeSettings,
    EpisodeSpec,
    Renderer,
    Request,
    format_call,
    format_response,
)
from components.agent.loop import trailing_format_errors
from components.browser import BrowserPool
from components.journal import Journal
from components.params import SamplingParams, load
from components.records import Task, Termination, Trajectory
from components.rollout import collect
from components.worlds.miniwob.site import MiniWoBSite
from tests.samples import a_turn

TASK = Task(
    task_id="login-user/0",
    intent='Enter the username "karrie" and the password "AU" into the text fields and press login.',
    start_url="http://miniwob/login-user.html",
    website="miniwob/login-user",
    source="miniwob",
    seed=0,
)
USERNAME = [format_call("click", x=444, y=421), format_call("write", text="karrie")]
PASSWORD = [format_call("click", x=381, y=669), format_call("write", text="AU")]
LOGIN = [format_call("click", x=291, y=864), format_call("done", answer="")]
GIVE_UP = [format_call("done", answer="")]


class Says:
    """Answers in turn, and counts its answers."""

    version = "says"

    def __init__(self, *responses: list[str] | str) -> None:
        self._responses = [text if isinstance(text, str) else format_response("x", text) for text in responses]
        self.answers = 0

    def prompt_tokens(self, prompt: object) -> int:
        return 10

    async def complete(self, request: Request) -> Completion:
        self.answers += 1
        return Completion([], [], self._responses.pop(0), "stop")


def continued(parent: Trajectory, turn: int, seed: int) -> EpisodeSpec:
    return EpisodeSpec(TASK, 0, Says.version, seed, Branch(parent, turn))


def play(*episodes: tuple[EpisodeSpec, Says], journal: Path | None = None) -> list[Trajectory]:
    """The records of these episodes, of which the journal may have some already."""
    params = load("recipes/smoke.yaml")
    observed = params.observation.model_copy(update={"screenshots": 1})
    settings = EpisodeSettings(Renderer(params.agent, observed), params.agent, SamplingParams(), 5, 64)
    policies = {spec.trajectory_id: policy for spec, policy in episodes}

    async def run() -> list[Trajectory]:
        browser = params.browser.model_copy(update={"concurrency": 2})
        with Journal(journal or Path("/dev/null"), Trajectory) as records:
            async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:
                specs = [spec for spec, _ in episodes]
                policy_for = lambda spec, _: policies[spec.trajectory_id]  # noqa: E731
                return list(await collect(specs, pool, policy_for, settings, records))

    return asyncio.run(run())


@pytest.fixture(scope="module")
def parent(tmp_path_factory) -> Trajectory:
    """It types both values, one of them after a response that cannot be read, and never sends them."""
    journal = tmp_path_factory.mktemp("parent") / "journal.jsonl"
    (record,) = play((EpisodeSpec(TASK, 0, Says.version, 1), Says(USERNAME, "?", PASSWORD, GIVE_UP)), journal=journal)
    assert (record.site_reward, record.branch_of) == (0, None)
    return record


def test_a_branch_continues_with_what_was_typed_and_not_sent(parent, tmp_path):
    login, idle = Says(LOGIN), Says(GIVE_UP)
    branches = play(
        (continued(parent, 3, 2), login), (continued(parent, 3, 3), idle), journal=tmp_path / "journal.jsonl"
    )
    assert [branch.turns[:3] for branch in branches] == [parent.turns[:3]] * 2
    assert [branch.turns[3].observation for branch in branches] == [parent.turns[3].observation] * 2
    assert [branch.turns[3].prompt_sha256 for branch in branches] == [parent.turns[3].prompt_sha256] * 2
    assert [branch.site_reward for branch in branches] == [1, 0], "the name and the password were in the fields"
    assert (login.answers, idle.answers) == (1, 1), "the policy answers no shared turn"
    assert {(branch.branch_of.parent, branch.branch_of.turn) for branch in branches} == {(parent.trajectory_id, 3)}


@pytest.mark.slow
def test_a_branch_from_another_state_is_dropped_once_and_for_all(parent, tmp_path):
    waits = format_call("wait", seconds=0)
    journal = tmp_path / "journal.jsonl"
    (other,) = play((EpisodeSpec(TASK, 1, Says.version, 1), Says([waits], GIVE_UP)), journal=tmp_path / "other.jsonl")
    untyped = other.turns[0].model_copy(update={"index": 2})
    forged = parent.model_copy(update={"turns": [*parent.turns[:2], untyped, parent.turns[3]]})
    policy = Says(LOGIN)
    (branch,) = play((continued(forged, 3, 2), policy), journal=journal)
    assert branch.branch_of.difference == "turn 3 begins with another text and screenshot"
    assert (branch.termination, branch.turns, policy.answers) == (Termination.ENV_INIT_ERROR, [], 0)
    assert branch.diagnostics["error"].endswith("is dropped: turn 3 begins with another text and screenshot")
    written = journal.read_bytes()
    assert play((continued(forged, 3, 2), policy), journal=journal) == [branch]
    assert journal.read_bytes() == written, "a run that goes on does not try it again"


def test_other_feedback_of_a_shared_turn_drops_a_branch(parent, tmp_path):
    first = parent.turns[0].model_copy(update={"feedback": ["Succeed: another click.", "Succeed: another text."]})
    other = parent.model_copy(update={"turns": [first, *parent.turns[1:]]})
    (branch,) = play((continued(other, 3, 2), Says(LOGIN)), journal=tmp_path / "journal.jsonl")
    assert branch.branch_of.difference.startswith("turn 0 gave ['Succeed: `click` on <input>")


def test_format_errors_before_a_branch_count_on():
    wrong, right = a_turn(parse_error="no call"), a_turn()
    assert [trailing_format_errors(turns) for turns in ([], [wrong, wrong], [wrong, right, wrong], [wrong, right])] == [
        0,
        2,
        1,
        0,
    ]
