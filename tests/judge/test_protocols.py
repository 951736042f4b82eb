"""What each protocol asks, shows and makes of the answers. The model is a function that answers by what it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from components import plugins
from components.endpoint import Answer, Message
from components.judge.protocols import Ruling, is_blocked, judge_protocol
from components.judge.protocols.reference import SYSTEM as REFERENCE
from components.judge.protocols.reference import references_of
from components.judge.protocols.webgym_rubric import FACT, KEYPAGE, SUPPORT, facts
from components.judge.protocols.webjudge import POINTS, SCORE, VERDICT
from components.records import FactGroup, Outcome, Trajectory
from tests.endpoint_server import images_of, text_of
from tests.samples import a_task

PROTOCOLS = plugins.builtin("judge_protocols")

S, F, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED
Episode = Callable[..., Trajectory]
THREE = ["click"], ["click"], ["done"]
GROUPS = [
    FactGroup(id="1", description="the hotel", facts=["in Rome", "below 90"]),
    FactGroup(id="2", description="it has a pool"),
]


@dataclass
class Model:
    """Answers a system prompt with the next of its answers, the last one again and again; keeps what it was asked."""

    answers: dict[str, list[str]]
    finish: str = "stop"
    asked: list[dict] = field(default_factory=list)
    formats: list[Message | None] = field(default_factory=list)

    async def __call__(self, messages: list[Message], response_format: Message | None = None) -> Answer:
        self.asked.append({"messages": messages})
        self.formats.append(response_format)
        answers = self.answers[messages[0]["content"]]
        text = answers.pop(0) if len(answers) > 1 else answers[0]
        return Answer(
            text=text, finish_reason=self.finish, prompt_tokens=1, completion_tokens=1, usd=0.0, latency_s=0.0
        )

    def to(self, system: str) -> list[dict]:
        return [one for one in self.asked if one["messages"][0]["content"] == system]


def system(name: str) -> str:
    return judge_protocol(name, 3).prompts[0]


def rule(name: str, trajectory: Trajectory, model: Model) -> Ruling:
    return asyncio.run(judge_protocol(name, 3).judge(trajectory, model))


SAYS = {
    "openwebrl": ("Fine.\nVerdict: SUCCESS", "Bad.\nVerdict: NOT SUCCESS"),
    "webvoyager": ("Fine.\nVerdict: SUCCESS", "Bad.\nVerdict: NOT SUCCESS"),
    "webvoyager_hinted": ("Fine.\nVerdict: SUCCESS", "Bad.\nVerdict: NOT SUCCESS"),
    "agenttrek": ("Fine.\nStatus: success", "Bad.\nStatus: failure"),
    "deepshop": ('{"thought": "Fine.", "verdict": "SUCCESS"}', '{"thought": "Bad.", "verdict": "NOT SUCCESS"}'),
}


@pytest.mark.parametrize("name", SAYS)
def test_a_protocol_of_one_question_decides_by_the_answer(episode: Episode, name: str) -> None:
    good, bad = SAYS[name]
    for said, ruling in ((good, Ruling(S, "Fine.")), (bad, Ruling(F, "Bad."))):
        model = Model({system(name): [said]})
        assert rule(name, episode(*THREE), model) == ruling
        assert len(model.asked) == 1
    assert rule(name, episode(*THREE), Model({system(name): [good]}, finish="length")).outcome is U
    assert rule(name, episode(*THREE), Model({system(name): [""]})).outcome is U


@pytest.mark.parametrize(
    "name, images",
    [("openwebrl", 3), ("webvoyager", 15), ("webvoyager_hinted", 15), ("agenttrek", 1), ("deepshop", 30)],
    ids=lambda x: str(x),
)
def test_each_protocol_shows_its_number_of_last_screenshots(episode: Episode, name: str, images: int) -> None:
    model = Model({system(name): [SAYS[name][0]]})
    rule(name, episode(*[["click"]] * 40), model)
    assert images_of(model.asked[0]) == images


def test_each_protocol_sees_its_own_part_of_an_episode(episode: Episode) -> None:
    trajectory = episode(["Succeed: `click` on it"], ["done"], answer="It is 5.", intent="Find <|im_end|> the price.")
    turn = trajectory.turns[0].model_copy(update={"response": "<think>I  look\nclosely.</think>\n<tool_call>…"})
    trajectory = trajectory.model_copy(update={"turns": [turn, *trajectory.turns[1:]]})
    texts = {}
    for name in SAYS:
        model = Model({system(name): [SAYS[name][0]]})
        rule(name, trajectory, model)
        texts[name] = text_of({"messages": model.asked[0]["messages"][1:]})
        assert "Find < |im_end|> the price." in texts[name]
    told = {
        name: {word for word in ("It is 5.", "I look closely.", "512", "on it") if word in texts[name]}
        for name in texts
    }
    assert told == {
        "openwebrl": {"It is 5.", "512", "on it"},
        "webvoyager": {"It is 5."},
        "webvoyager_hinted": {"It is 5."},
        "agenttrek": {"I look closely.", "512"},
        "deepshop": {"It is 5."},
    }


def test_only_the_hinted_judge_sees_a_reference_answer(episode: Episode) -> None:
    hinted = {"type": "webvoyager", "answer_type": "possible", "notice": "prices change"}
    told = episode(*THREE, evaluator=hinted)
    told = told.model_copy(update={"task": told.task.model_copy(update={"reference_answer": "80 euros"})})

    def asked(name: str, trajectory: Trajectory) -> dict:
        model = Model({system(name): [SAYS[name][0]]})
        rule(name, trajectory, model)
        return model.asked[0]

    published, ours = asked("webvoyager", told), asked("webvoyager_hinted", told)
    assert "80 euros" not in text_of(published)
    assert "Hint, for you alone: One of several answers that were right when the task was written: 80 euros." in (
        text_of(ours)
    )
    without = episode(*THREE)
    assert asked("webvoyager_hinted", without) == asked("webvoyager", without), "and is paid for once"


def test_the_shopping_judge_asks_for_structured_output(episode: Episode) -> None:
    model = Model({system("deepshop"): [SAYS["deepshop"][0]]})
    rule("deepshop", episode(*THREE), model)
    schema = model.formats[0]["json_schema"]["schema"]
    assert schema["properties"]["verdict"]["enum"] == ["SUCCESS", "NOT SUCCESS"]
    assert "Screenshot 1 of 4" in text_of(model.asked[0])


def webjudge(scores: list[str], verdict: str = "Thoughts: x\nStatus: success", points: str = "1. Below 50") -> Model:
    return Model({POINTS: [points], SCORE: scores, VERDICT: [verdict]})


def test_webjudge_shows_pages_that_score_three_or_more_with_the_reasons(episode: Episode) -> None:
    model = webjudge(["none\nScore: 1", "hint\nScore: 3", "weak\nScore: 2", "proof\nScore: 5"])
    assert rule("webjudge", episode(*THREE), model) == Ruling(S, "Thoughts: x")
    (verdict,) = model.to(VERDICT)
    assert (len(model.to(SCORE)), images_of(verdict)) == (4, 2)
    assert "1. hint\n2. proof" in text_of(verdict)
    assert "1. Below 50" in text_of(verdict)
    assert "none" not in text_of({"messages": verdict["messages"][1:]})
    assert all("1. Below 50" in text_of(asked) and images_of(asked) == 1 for asked in model.to(SCORE))


def test_webjudge_drops_irrelevant_pages_but_keeps_unreadably_scored_ones(
    episode: Episode,
) -> None:
    model = webjudge(["no\nScore: 1"], "Status: failure")
    assert rule("webjudge", episode(*THREE), model).outcome is F
    assert images_of(model.to(VERDICT)[0]) == 0
    model = webjudge(["no\nScore: 1", "I cannot say.", "no\nScore: 1"])
    rule("webjudge", episode(*THREE), model)
    assert images_of(model.to(VERDICT)[0]) == 1


def test_webjudge_shows_fifty_pages_at_most_and_those_are_the_last(episode: Episode) -> None:
    pages = iter(range(1000))
    model = webjudge(["x"])
    original = model.__call__

    async def numbered(messages: list[Message], response_format: Message | None = None) -> Answer:
        answer = await original(messages, response_format)
        if messages[0]["content"] == SCORE:
            return answer.model_copy(update={"text": f"page {next(pages)}\nScore: 4"})
        return answer

    asyncio.run(judge_protocol("webjudge").judge(episode(*[["click"]] * 60), numbered))
    (verdict,) = model.to(VERDICT)
    assert images_of(verdict) == 50
    assert "1. page 11\n" in text_of(verdict)
    assert text_of(verdict).endswith("50. page 60")


def test_webjudge_spends_nothing_on_pages_without_key_points(episode: Episode) -> None:
    model = webjudge(["Score: 5"], points="I cannot help with that.")
    assert rule("webjudge", episode(*THREE), model).outcome is U
    assert len(model.asked) == 1


def rubric(episode: Episode, support: list[str], fact: list[str], keep: list[str] | None = None, **task: object):
    trajectory = episode(*THREE, answer="The Roma, 80 a night.")
    changed = trajectory.task.model_copy(update={"rubric": GROUPS, **task})
    model = Model({KEYPAGE: keep or ["Keep: YES"], SUPPORT: support, FACT: fact, REFERENCE: ["Verdict: SUCCESS"]})
    ruling = rule("webgym_rubric", trajectory.model_copy(update={"task": changed}), model)
    return ruling, model


YES, NO = "Fine.\nVerdict: SUCCESS", "Bad.\nVerdict: NOT SUCCESS"


def test_a_rubric_is_met_if_the_answer_is_supported_once_and_every_fact_is(episode: Episode) -> None:
    ruling, model = rubric(episode, [YES], [YES])
    assert ruling.outcome is S
    assert (len(model.to(SUPPORT)), len(model.to(FACT))) == (1, 3)
    asked = [text_of(one) for one in model.to(FACT)]
    assert [("Requirement: in Rome" in a, "Group: the hotel" in a) for a in asked] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert "Requirement: it has a pool" in asked[2]
    assert all("The Roma, 80 a night." in one for one in asked)


def test_the_first_check_that_fails_ends_the_questions(episode: Episode) -> None:
    ruling, model = rubric(episode, [NO], [YES])
    assert (ruling.outcome, len(model.to(FACT))) == (F, 0)
    ruling, model = rubric(episode, [YES], [YES, NO, YES])
    assert (ruling.outcome, len(model.to(FACT))) == (F, 2)
    assert "below 90: failure: Bad." in ruling.rationale


def test_an_unreadable_check_makes_no_success_but_may_still_be_a_failure(episode: Episode) -> None:
    assert rubric(episode, ["Hm."], [YES])[0].outcome is U
    assert rubric(episode, [YES], [YES, "Hm.", YES])[0].outcome is U
    assert rubric(episode, ["Hm."], [YES, YES, NO])[0].outcome is F


def test_key_pages_leave_out_only_irrelevant_pages_and_keep_the_last(episode: Episode) -> None:
    _, model = rubric(episode, [YES], [YES], keep=["Keep: NO", "Hm.", "Keep: YES"])
    assert len(model.to(KEYPAGE)) == 3, "the last of four pages is not asked about"
    assert images_of(model.to(SUPPORT)[0]) == 3


def test_a_reference_answer_overrides_the_rubric(episode: Episode) -> None:
    ruling, model = rubric(episode, [NO], [NO], reference_answer="Roma")
    assert ruling.outcome is S
    assert [len(model.to(prompt)) for prompt in (REFERENCE, KEYPAGE, SUPPORT, FACT)] == [1, 0, 0, 0]
    assert "Known right answer: Roma\n" in text_of(model.asked[0])
    ruling, model = rubric(episode, [NO], [NO], reference_answer="the ROMA: 80 a night")
    assert (ruling.outcome, len(model.asked)) == (S, 0), "the same words need no model"


def test_alternative_reference_answers_are_alternatives(episode: Episode) -> None:
    ruling, model = rubric(episode, [NO], [NO], reference_answer="Hotel Roma; Albergo Roma")
    (asked,) = map(text_of, model.asked)
    assert ruling.outcome is S
    assert "Any one of these alternatives is enough:\n- Hotel Roma\n- Albergo Roma\n" in asked
    given = "The Roma, 80 a night."
    ruling, model = rubric(episode, [NO], [NO], reference_answer=f"Hotel Napoli; {given}")
    assert (ruling.outcome, len(model.asked)) == (S, 0), "the same words as one alternative need no model"


def test_a_possible_reference_answer_never_decides_alone(episode: Episode) -> None:
    possible = {"type": "webvoyager", "answer_type": "possible", "notice": ""}
    for said, expected in ((YES, S), (NO, F)):
        same_words = "The Roma, 80 a night."
        ruling, model = rubric(episode, [YES], [said], reference_answer=same_words, evaluator=possible)
        assert ruling.outcome is expected
        assert (len(model.to(REFERENCE)), len(model.to(SUPPORT))) == (0, 1)
        assert "One of several answers that were right" in text_of(model.to(FACT)[0])
    golden = possible | {"answer_type": "golden"}
    assert len(rubric(episode, [YES], [NO], reference_answer="Roma", evaluator=golden)[1].to(REFERENCE)) == 1


@pytest.mark.parametrize(
    ("evaluator", "answer", "references"),
    [
        ({"type": "qa", "answers": ["Rome; Italy", "Roma"]}, "Rome; Italy; Roma", ["Rome; Italy", "Roma"]),
        ({"type": "webgym"}, "Mark Twain; Samuel Clemens", ["Mark Twain", "Samuel Clemens"]),
        ({"type": "webgym"}, "AT&amp;T", ["AT&T"]),
        ({"type": "webgym"}, "Price: $5; Rating: 4.5", ["Price: $5; Rating: 4.5"]),
        ({"type": "webarena"}, "May: 8; June: 13", ["May: 8; June: 13"]),
        ({}, " ; ", []),
        ({}, None, []),
    ],
)
def test_the_references_of_a_task_are_its_alternatives(evaluator, answer, references) -> None:
    assert references_of(a_task(0, evaluator=evaluator, reference_answer=answer)) == references


def test_a_task_without_a_rubric_is_judged_as_one_fact(episode: Episode) -> None:
    _, model = rubric(episode, [YES], [YES], rubric=[])
    assert len(model.to(FACT)) == 1
    assert facts(episode(*THREE).task) == [("the whole task", 'Click on the "ok" button.')]


def test_whether_a_page_is_a_block_is_read_from_the_last_page(episode: Episode) -> None:
    from components.judge.protocols.blocking import SYSTEM

    for said, expected in (("A CAPTCHA.\nBlocked: YES", S), ("A list.\nBlocked: NO", F), ("Hm.", U)):
        model = Model({SYSTEM: [said]})
        assert asyncio.run(is_blocked(episode(*THREE), model)).outcome is expected
        assert images_of(model.asked[0]) == 1
    empty = episode().model_copy(update={"final_screenshot": None})
    assert asyncio.run(is_blocked(empty, Model({}))).outcome is U


def test_a_protocol_has_its_published_number_of_screenshots_unless_told() -> None:
    for name in PROTOCOLS:
        assert judge_protocol(name).prompts == judge_protocol(name, 3).prompts
    assert judge_protocol("openwebrl", 1).prompts != judge_protocol("openwebrl").prompts


def test_no_prompt_contains_a_readable_verdict() -> None:
    from components.judge.verdicts import STATUS, VERDICT, parse_verdict

    prompts = [prompt for name in PROTOCOLS for prompt in judge_protocol(name).prompts]
    assert {
        parse_verdict(prompt[: -len(prompt.splitlines()[-1]) or None], form=form)[0]
        for prompt in prompts
        for form in (VERDICT, STATUS)
    } == {U}


@pytest.mark.parametrize("name", ["openwebrl", "webvoyager", "webvoyager_hinted", "agenttrek", "deepshop"])
def test_a_protocol_that_asks_once_shows_as_many_screenshots_as_it_states(episode: Episode, name: str) -> None:
    model = Model({system(name): ["Fine."]})
    rule(name, episode(*[["click"]] * 40), model)
    stated = judge_protocol(name, 3).questions(41)
    assert (len(model.asked), images_of(model.asked[0])) == (stated.requests, stated.screenshots)


def test_protocols_with_questions_about_pages_ask_no_more_than_they_state(episode: Episode) -> None:
    points = webjudge(["Score: 5"])
    rule("webjudge", episode(*THREE), points)
    _, facts_of_three = rubric(episode, [YES], [YES])
    for name, model, facts_left in (("webjudge", points, 0), ("webgym_rubric", facts_of_three, 1)):
        pages = 4  # before each of three turns, and the last one
        stated = judge_protocol(name, 3).questions(pages)
        assert len(model.asked) == stated.requests - facts_left
        assert sum(images_of(one) for one in model.asked) == stated.screenshots - facts_left * pages
