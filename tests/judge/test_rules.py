from __future__ import annotations

from collections.abc import Callable

import pytest

from components.browser.feedback import (
    ENDED,
    FOCUSED,
    Effect,
    Element,
    click,
    done,
    drag,
    failed,
    press_keys,
    refused,
    scroll,
    write,
)
from components.judge import rules_verdict
from components.judge.history import compact, events
from components.records import Outcome, Termination, Trajectory

OK = click(Element("button", "", "ok"), (512, 86), Effect(), "", False)
Episode = Callable[..., Trajectory]


def test_only_a_complete_reward_is_a_success(episode: Episode) -> None:
    outcomes = [
        rules_verdict(episode([OK, done("")], site_reward=reward)).outcome for reward in (1.0, 0.99, 0.0, -1.0, None)
    ]
    assert outcomes == [Outcome.SUCCESS, *[Outcome.FAILURE] * 4]


@pytest.mark.parametrize("late, outcome", [(None, Outcome.SUCCESS), (0, Outcome.SUCCESS), (1, Outcome.FAILURE)])
def test_an_action_after_the_pages_ending_is_no_success(episode: Episode, late: int | None, outcome: Outcome) -> None:
    trajectory = episode([OK, done("")]).model_copy(update={"late_actions": late})
    assert rules_verdict(trajectory).outcome is outcome


def test_the_sign_of_the_ending_is_not_in_the_rationale_of_a_clean_success(episode: Episode) -> None:
    assert (
        rules_verdict(episode([f"{OK} {ENDED}", done("")])).rationale
        == rules_verdict(episode([OK, done("")])).rationale
    )
    late = rules_verdict(episode([f"{OK} {ENDED}", refused("click"), done("")])).rationale
    assert "failed click execution failed: the page has ended its task and no longer reacts" in late


@pytest.mark.parametrize("termination", [t for t in Termination if t.is_agents_doing and t is not Termination.DONE])
def test_an_episode_without_done_is_a_failure_whatever_the_page_says(
    episode: Episode, termination: Termination
) -> None:
    assert rules_verdict(episode([OK], termination=termination, answer=None)).outcome is Outcome.FAILURE


@pytest.mark.parametrize("termination", [t for t in Termination if not t.is_agents_doing])
def test_an_episode_that_the_environment_ended_is_masked(episode: Episode, termination: Termination) -> None:
    assert rules_verdict(episode([OK], termination=termination, answer=None)).outcome is Outcome.ERROR


def test_a_task_without_reward_or_evaluator_has_no_verdict_by_rule(episode: Episode) -> None:
    verdict = rules_verdict(episode([done("x")], site_reward=None, evaluator={}))
    assert verdict.outcome is Outcome.ERROR
    assert "ask a judge model" in verdict.rationale


def test_the_rationale_compares_actions_with_the_task_without_the_reward(
    episode: Episode,
) -> None:
    right, wrong = (rules_verdict(episode([OK, done("ok")], site_reward=reward)).rationale for reward in (1.0, 0.0))
    assert right == wrong == 'click button "ok" (asked); done'


def test_the_rationale_copies_no_address_that_a_named_thing_led_to(episode: Episode) -> None:
    there = Effect(navigated_to="http://a.example/search?content=a&pattern=City")
    searched = write(Element("input", "", "Search"), "City", "City", there)
    went = "Succeed: `goto_url` executed. Page navigated to http://a.example/b."
    named = [click(Element("a", "link", "Page navigated to x"), (5, 6), there, "", False)]
    text = rules_verdict(episode([searched], named, named, [went, done("")])).rationale
    assert text == (
        'write "City" into input "Search" (not asked); click link "Page navigated to x" x2 (not asked); '
        "goto_url Page navigated to http://a.example/b; done"
    )


def test_the_rationale_of_a_long_episode_keeps_its_end(episode: Episode) -> None:
    steps = [[click(Element("a", "link", str(i)), (i, i), Effect(), "", False)] for i in range(30)]
    text = rules_verdict(episode(*steps, termination=Termination.MAX_STEPS, answer=None)).rationale
    assert text.startswith('…; click link "21" (not asked)')
    assert text.endswith('click link "29" (not asked); stopped by max_steps')


def test_the_rationale_of_an_episode_without_turns_is_its_ending(episode: Episode) -> None:
    text = rules_verdict(episode(termination=Termination.CONTEXT_LENGTH, answer=None)).rationale
    assert text == "stopped by context_length"


def test_a_repeated_event_is_written_once_with_its_count(episode: Episode) -> None:
    down = scroll("down", 0.5, True, False)
    assert events(episode([down, down], [down], [OK])) == ["scroll down by 50% x3", 'click button "ok"']


@pytest.mark.parametrize(
    "feedback, short",
    [
        (OK, 'click button "ok"'),
        (
            click(Element("input", "checkbox", "gYl"), (5, 6), Effect(), "checked", False),
            'click checkbox "gYl" Checked',
        ),
        (
            click(Element("a", "link", "More"), (5, 6), Effect(navigated_to="http://a.example/b"), "", False),
            'click link "More" Page navigated to http://a.example/b',
        ),
        (
            write(Element("input", "textbox", "City"), "at (1, 2) executed.", "at (1, 2) executed.", Effect()),
            'write "at (1, 2) executed." into textbox "City"',
        ),
        (press_keys(["Enter"], Effect()), "press_keys ['Enter']"),
        (press_keys(["Enter"], Effect(changed=True)), "press_keys ['Enter']"),
        (click(Element("input", "", "City"), (5, 6), Effect(), FOCUSED, False), 'click input "City"'),
        (drag((1, 2), (3, 4), Effect(), False), "drag"),
        (failed("write", "nothing has focus"), "failed write execution failed: nothing has focus"),
        (done("the answer"), "done"),
        ("Failed: the response could not be read: no closing </think> tag. Close it.", "unreadable response"),
        ("", ""),
    ],
)
def test_feedback_loses_its_coordinates_and_nothing_that_is_quoted(feedback: str, short: str) -> None:
    assert compact(feedback) == short
