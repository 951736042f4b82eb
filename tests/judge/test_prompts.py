from __future__ import annotations

from collections.abc import Callable

from components.browser.feedback import Effect, Element, click, done
from components.judge import judge_prompt, parse_verdict
from components.records import Outcome, Termination, Trajectory

CLICK = click(Element("button", "", "ok"), (512, 86), Effect(), "", False)
Episode = Callable[..., Trajectory]


def shown(trajectory: Trajectory, screenshots: int) -> list[str]:
    return [image.data.decode() for image in judge_prompt(trajectory, screenshots).images]


def test_the_last_screenshots_are_in_order_and_end_with_the_final_page(episode: Episode) -> None:
    trajectory = episode([CLICK], [CLICK], [CLICK], [done("x")])
    assert shown(trajectory, 3) == ["page 2", "page 3", "the end"]
    assert shown(trajectory, 1) == ["the end"]
    assert shown(trajectory, 0) == []
    assert shown(trajectory, 9) == ["page 0", "page 1", "page 2", "page 3", "the end"]


def test_a_page_that_did_not_change_takes_one_place_only(episode: Episode) -> None:
    trajectory = episode([CLICK], [CLICK], [done("x")], screenshots=["a", "b", "the end"])
    assert shown(trajectory, 3) == ["a", "b", "the end"]


def test_the_full_prompt_has_the_whole_episode_and_the_form_of_the_verdict(episode: Episode) -> None:
    prompt = judge_prompt(episode([CLICK], [done("The price is 5.")], answer="The price is 5."), 3)
    assert 'Task: Click on the "ok" button.' in prompt.text
    assert f'1. click {{"x": 512, "y": 86}}\n   {CLICK}' in prompt.text
    assert "Final answer: The price is 5." in prompt.text
    assert "The last 3 screenshots" in prompt.text
    assert prompt.system.endswith("Verdict: SUCCESS\nor\nVerdict: NOT SUCCESS")


def test_the_full_prompt_says_how_an_episode_without_answer_ended(episode: Episode) -> None:
    prompt = judge_prompt(episode([CLICK], termination=Termination.MAX_STEPS, answer=None), 0)
    assert prompt.text.endswith("Ended by: max_steps\nFinal answer: (none)")


def test_the_compact_prompt_is_the_short_history(episode: Episode) -> None:
    prompt = judge_prompt(episode([CLICK], [done("ok")], answer="ok"), 1, "compact")
    assert prompt.text == 'asked: Click on the "ok" button.\nclick button "ok"\ndone\nanswer: ok'


def test_the_reward_never_reaches_the_judge(episode: Episode) -> None:
    for form in ("full", "compact"):
        right, wrong = (judge_prompt(episode([CLICK], site_reward=reward), 3, form) for reward in (1.0, -1.0))
        assert right == wrong


def test_a_judge_that_repeats_its_instructions_gives_no_verdict(episode: Episode) -> None:
    assert parse_verdict(judge_prompt(episode([CLICK]), 0).system.rsplit("\n", 1)[0])[0] is Outcome.UNPARSED
