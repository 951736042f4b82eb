"""One rollout, many step budgets: what is cut off is what a smaller budget would not have seen."""

from __future__ import annotations

import asyncio

import pytest

from components.agent import EpisodeSettings, Renderer
from components.benchmarks.step_budgets import budget_curve, within
from components.browser import BrowserPool
from components.evaluation import success
from components.journal import Journal
from components.params import SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Outcome, StateCheck, Task, Termination, ToolCall, Trajectory
from components.rollout import collect, episode_specs
from components.worlds import Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from tests.samples import a_task, a_trajectory, a_verdict

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])

DONE = [ToolCall(name="done", arguments={"answer": "x"})]


def episode(number: int, turns: int, ending: Termination, says_done: bool | None = None) -> Trajectory:
    """An episode of so many turns, the last of which says `done` if the ending is that."""
    answer = "x" if ending is Termination.DONE else None
    one = a_trajectory(a_task(number), turns, termination=ending, answer=answer)
    if says_done if says_done is not None else ending is Termination.DONE:
        last = one.turns[-1].model_copy(update={"tool_calls": DONE})
        one = one.model_copy(update={"turns": [*one.turns[:-1], last]})
    return one


@pytest.mark.parametrize(
    ("turns", "ending", "says_done", "steps", "expected"),
    [
        (3, Termination.DONE, None, 3, Termination.DONE),
        (3, Termination.DONE, None, 2, Termination.MAX_STEPS),
        (3, Termination.FORMAT_ERROR, None, 3, Termination.FORMAT_ERROR),
        (3, Termination.RESPONSE_LENGTH, None, 2, Termination.MAX_STEPS),
        # what is not a turn's own ending came in the turn after the last that is recorded
        (3, Termination.ENV_ERROR, None, 4, Termination.ENV_ERROR),
        (3, Termination.ENV_ERROR, None, 3, Termination.MAX_STEPS),
        (3, Termination.CONTEXT_LENGTH, None, 3, Termination.MAX_STEPS),
        (3, Termination.TASK_TIMEOUT, None, 9, Termination.TASK_TIMEOUT),
        # but not if it had said `done`: then the reward could not be read
        (3, Termination.ENV_ERROR, True, 3, Termination.ENV_ERROR),
        (0, Termination.ENV_INIT_ERROR, False, 1, Termination.ENV_INIT_ERROR),
        (5, Termination.MAX_STEPS, None, 5, Termination.MAX_STEPS),
        (5, Termination.MAX_STEPS, None, 2, Termination.MAX_STEPS),
    ],
)
def test_an_episode_ends_under_a_smaller_budget_as_it_would_have(turns, ending, says_done, steps, expected):
    cut = within(episode(1, turns, ending, says_done), steps)
    assert cut.termination is expected
    assert len(cut.turns) == min(turns, steps)
    assert (cut.answer is not None) == (expected is Termination.DONE)


def test_a_cut_episode_has_no_state_of_its_later_turns():
    check = StateCheck(reward=0.0, credit=1.0, side_effects=["deleted an order"], changes=[])
    whole = episode(1, 4, Termination.DONE).model_copy(update={"state_check": check})
    assert within(whole, 4).state_check == check
    cut = within(whole, 1)
    assert cut.state_check is None
    assert success([cut], []).state is None
    out_of_steps = episode(2, 4, Termination.MAX_STEPS).model_copy(update={"state_check": check})
    assert within(out_of_steps, 4) == out_of_steps


def test_a_cut_episode_took_what_its_turns_took():
    bills = [{"tokens": 30, "usd": 0.001}, {"tokens": 50, "usd": None}, {"tokens": None, "usd": 0.5}]
    diagnostics = {"bills": bills, "response_tokens": 80, "usd": 0.501, "wall_s": 9.0, "start": {"open": 1.0}}
    whole = episode(1, 3, Termination.DONE, True).model_copy(update={"diagnostics": diagnostics})
    assert within(whole, 3).diagnostics == diagnostics
    taken = {"bills": bills[:2], "response_tokens": 80, "usd": 0.001, "start": {"open": 1.0}}
    assert within(whole, 2).diagnostics == taken
    without_bills = whole.model_copy(update={"diagnostics": {"response_tokens": 80, "wall_s": 9.0}})
    assert within(without_bills, 2).diagnostics == {}


def test_the_curve_is_the_one_worked_out_by_hand():
    # done after 1, 2 and 4 turns, the one of 2 judged a failure; one never done in 6; one page died in the third turn
    ends = [(1, Termination.DONE), (2, Termination.DONE), (4, Termination.DONE), (6, Termination.MAX_STEPS)]
    every = [episode(number, turns, ending) for number, (turns, ending) in enumerate(ends, start=1)]
    every.append(episode(5, 2, Termination.ENV_ERROR))
    outcomes = [Outcome.SUCCESS, Outcome.FAILURE, Outcome.SUCCESS]
    verdicts = [a_verdict(one, outcome) for one, outcome in zip(every, outcomes, strict=False)]
    curve = budget_curve(every, verdicts, [4, 1, 2, 6, 4], max_aborted=0.5)
    assert [(point.steps, point.rate, point.finished, point.aborted) for point in curve] == [
        (1, 0.2, 0.2, 0),
        (2, 0.2, 0.4, 0),
        (4, 0.4, 0.6, 1),
        (6, 0.4, 0.6, 1),
    ]
    assert [point.turns_mean for point in curve] == [1.0, 9 / 5, 13 / 5, 15 / 5]
    assert curve[2].rate_without_aborted == 0.5
    valid = budget_curve(every, verdicts, [4, 1, 2, 6, 4], max_aborted=0.1)
    assert [point.steps for point in valid] == [1, 2], "with 4 and 6 steps the environment ended a fifth"


@pytest.mark.slow
def test_a_rollout_cut_short_is_the_rollout_that_a_smaller_budget_gives(tmp_path):
    """In a browser: no prompt knows the budget, so the first steps are the same."""
    params = load("recipes/smoke.yaml")
    tasks = [
        Task(
            task_id=f"{family}/{seed}",
            intent="",
            start_url=f"http://miniwob/{family}.html",
            website=f"miniwob/{family}",
            source="miniwob",
            seed=seed,
        )
        for family in ("click-button-sequence", "click-test")
        for seed in range(3)
    ]
    intents = {"click-button-sequence": "Click button ONE, then click button TWO.", "click-test": "Click the button."}
    tasks = [task.model_copy(update={"intent": intents[task.website.removeprefix("miniwob/")]}) for task in tasks]

    def roll(steps: int) -> list[Trajectory]:
        settings = EpisodeSettings(
            Renderer(params.agent, params.observation), params.agent, SamplingParams(), steps, max_response_tokens=64
        )

        async def main() -> list[Trajectory]:
            browser = params.browser.model_copy(update={"concurrency": 3})
            with Journal(tmp_path / f"{steps}.jsonl", Trajectory) as journal:
                async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:
                    specs, script = episode_specs(tasks, 1, "scripted", run_seed=1), scripted_policy(MINIWOB, noise=0.5)
                    return list(await collect(specs, pool, script, settings, journal))

        return asyncio.run(main())

    def told(one: Trajectory) -> tuple:
        return one.termination, one.answer, [(turn.prompt_sha256, turn.response, turn.feedback) for turn in one.turns]

    longest, shortest = roll(6), roll(1)
    assert [told(within(one, 1)) for one in longest] == [told(one) for one in shortest]
    assert {len(one.turns) for one in longest} > {1}, "nothing was cut"
