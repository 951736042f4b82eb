"""Every failure has one kind, each kind one group, and only what the record says decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.browser.feedback import AT_BOUNDARY, NO_EFFECT
from components.evaluation import (
    GROUP,
    FailureGroup,
    FailureKind,
    ReasoningMarker,
    failure_kind,
    join_verdicts,
    success,
)
from components.evaluation.taxonomy import PUBLISHED
from components.judge import needs_judge
from components.records import Outcome, Tab, Termination, ToolCall
from tests.evaluation.run_records import DONE, observation, task, trajectory, turn, verdict
from tests.samples import VERIFIED

CLICKS = [ToolCall(name="click", arguments={"x": x, "y": 500}) for x in (100, 200, 300, 400, 500)]
IN_VAIN = f'Succeed: `click` on <div> "ok" at (250, 500) executed. {NO_EFFECT}'
FAILED = "Failed: `click` execution failed: no tab is open."
MAX_STEPS = Termination.MAX_STEPS


def out_of_steps(*turns):
    return trajectory(turns=list(turns), termination=MAX_STEPS)


def said(rationale, outcome=Outcome.FAILURE, of=None, judge="openwebrl"):
    """A finished trajectory and a model's verdict on it."""
    of = of or trajectory(site_reward=None)
    return of, verdict(of, outcome, rationale).model_copy(update={"judge": judge})


def page(title="Results", url="https://shop.example/search"):
    return observation(url=url, tabs=[Tab(index=0, title=title, url=url, active=True)])


BARE, SKELETON = turn(0), trajectory()
FINISHED = trajectory(site_reward=None)
CHALLENGE = trajectory(turns=[turn(0), turn(1, DONE, observation=page("Just a moment..."))], site_reward=None)
SORRY = out_of_steps(turn(0, observation=page(url="https://www.google.com/sorry/index?continue=x")))
NO_PAGE = out_of_steps(turn(0, observation=page(url="chrome-error://chromewebdata/")))

RECORDS = {
    "a site that refused": (trajectory(termination=Termination.BLOCKED), None, FailureKind.BLOCKED, "access"),
    "a start page that did not open": (
        trajectory(termination=Termination.ENV_INIT_ERROR),
        None,
        FailureKind.PAGE_UNAVAILABLE,
        "access",
    ),
    "a browser that died": (
        trajectory(termination=Termination.SANDBOX_ERROR),
        None,
        FailureKind.INFRASTRUCTURE,
        "access",
    ),
    "time that ran out": (trajectory(termination=Termination.TASK_TIMEOUT), None, FailureKind.INFRASTRUCTURE, "access"),
    "done on a challenge page": (*said("The agent gave up.", of=CHALLENGE), FailureKind.BLOCKED, "access"),
    "out of steps on a challenge address": (SORRY, None, FailureKind.BLOCKED, "access"),
    "out of steps on the browser's error page": (NO_PAGE, None, FailureKind.PAGE_UNAVAILABLE, "access"),
    "unreadable responses": (trajectory(termination=Termination.FORMAT_ERROR), None, FailureKind.FORMAT, "grounding"),
    "out of steps in unreadable words": (
        out_of_steps(turn(0), turn(1, tool_calls=[], feedback=[], response="I click", parse_error="no </think>")),
        None,
        FailureKind.FORMAT,
        "grounding",
    ),
    "done without an answer": (trajectory(answer=None), None, FailureKind.FORMAT, "grounding"),
    "a response too long": (trajectory(termination=Termination.RESPONSE_LENGTH), None, FailureKind.LENGTH, "reasoning"),
    "a context too long": (trajectory(termination=Termination.CONTEXT_LENGTH), None, FailureKind.LENGTH, "reasoning"),
    "the same calls, and the page answered": (
        out_of_steps(turn(0, CLICKS[0]), *[turn(index, CLICKS[1]) for index in (1, 2, 3)]),
        None,
        FailureKind.LOOP,
        "reasoning",
    ),
    "the same calls, and nothing happened": (
        out_of_steps(turn(0, CLICKS[0]), *[turn(index, CLICKS[1], feedback=[IN_VAIN]) for index in (1, 2, 3)]),
        None,
        FailureKind.STUCK,
        "grounding",
    ),
    "two identical turns are no loop": (
        out_of_steps(turn(0, CLICKS[0]), turn(1, CLICKS[0]), turn(2, CLICKS[1]), turn(3, CLICKS[0])),
        None,
        FailureKind.OUT_OF_STEPS,
        "reasoning",
    ),
    "half of the last calls in vain": (
        out_of_steps(turn(0, CLICKS[0], feedback=[FAILED]), turn(1, CLICKS[1])),
        None,
        FailureKind.MISGROUNDED,
        "grounding",
    ),
    "a third of the last calls in vain": (
        out_of_steps(turn(0, CLICKS[0], feedback=[FAILED]), turn(1, CLICKS[1]), turn(2, CLICKS[2])),
        None,
        FailureKind.OUT_OF_STEPS,
        "reasoning",
    ),
    "calls in vain long before the end": (
        out_of_steps(
            *[turn(i, call, feedback=[FAILED]) for i, call in enumerate(CLICKS)],
            *[turn(5 + i, call) for i, call in enumerate(CLICKS)],
        ),
        None,
        FailureKind.OUT_OF_STEPS,
        "reasoning",
    ),
    "the site says success, the judge failure": (
        *said("The answer is missing a requirement.", of=trajectory(site_reward=1.0)),
        FailureKind.JUDGE_ERROR,
        "task",
    ),
    "the site gives half a point, the judge says failure": (
        *said("The answer is missing a requirement.", of=trajectory(site_reward=0.5)),
        FailureKind.CONSTRAINT_MISSED,
        "reasoning",
    ),
    "a click that the page scores without showing it": (
        *said("", of=trajectory(turns=[turn(0, feedback=[IN_VAIN]), turn(1, DONE)], site_reward=-1.0), judge="rules"),
        FailureKind.WRONG,
        "unclear",
    ),
    "a call that failed on a page that scores itself": (
        *said("", of=trajectory(turns=[turn(0, feedback=[FAILED]), turn(1, DONE)], site_reward=-1.0), judge="rules"),
        FailureKind.MISGROUNDED,
        "grounding",
    ),
    "a task that the judge calls ambiguous": (
        *said("The task is ambiguous: two stores have that name."),
        FailureKind.ILL_POSED,
        "task",
    ),
    "a task that the judge does not call ambiguous": (
        *said("The task is not ambiguous. The answer is simply another city."),
        FailureKind.WRONG,
        "unclear",
    ),
    "a constraint that the rationale names": (
        *said("The shoes are brown, but the price filter was never applied."),
        FailureKind.CONSTRAINT_MISSED,
        "reasoning",
    ),
    "a demand that was not met": (
        *said("Most of it is right. It did not meet the size requirement."),
        FailureKind.CONSTRAINT_MISSED,
        "reasoning",
    ),
    "an element that the rationale calls wrong": (
        *said("It opened the wrong dropdown and never noticed."),
        FailureKind.MISGROUNDED,
        "grounding",
    ),
    "done after a click that did nothing": (
        *said("No.", of=trajectory(turns=[turn(0, feedback=[IN_VAIN]), turn(1, DONE)], site_reward=None)),
        FailureKind.MISGROUNDED,
        "grounding",
    ),
    "done after a scroll at the end of the page and two good calls": (
        *said(
            "No.",
            of=trajectory(
                turns=[turn(0, feedback=[f"Succeed: {AT_BOUNDARY}"]), turn(1), turn(2), turn(3, DONE)], site_reward=None
            ),
        ),
        FailureKind.WRONG,
        "unclear",
    ),
    "done and not": (*said("It is another product."), FailureKind.WRONG, "unclear"),
    "rules quote the page, which is no rationale": (
        *said('asked: click "filter not applied" did: click button; done', judge="rules"),
        FailureKind.WRONG,
        "unclear",
    ),
    "a judge that could not be reached": (*said("", Outcome.ERROR), FailureKind.UNJUDGED, "task"),
    "a verdict that could not be read": (*said("perhaps", Outcome.UNPARSED), FailureKind.UNJUDGED, "task"),
}


@pytest.mark.parametrize(("record", "judged", "kind", "group"), RECORDS.values(), ids=RECORDS)
def test_a_record_has_one_kind_and_its_group(record, judged, kind, group):
    assert failure_kind(record, judged) is kind
    assert GROUP[kind] == group


def test_a_success_has_no_kind():
    assert failure_kind(FINISHED, verdict(FINISHED)) is None


@pytest.mark.parametrize("ending", [ending for ending in Termination if not ending.is_agents_doing])
def test_an_ending_by_the_environment_is_never_the_agents_failure(ending):
    of = trajectory(termination=ending)
    assert GROUP[failure_kind(of, verdict(of, Outcome.SUCCESS))] is FailureGroup.ACCESS


def test_a_blocker_in_the_last_words_counts_unless_surer_evidence_exists():
    blocked = [(ReasoningMarker.HISTORY,), (ReasoningMarker.BLOCKER,)]
    of, judged = said("The answer does not meet the requirements.")
    assert failure_kind(of, judged, blocked) is FailureKind.BLOCKER_REPORTED
    assert failure_kind(*said("", of=CHALLENGE), blocked) is FailureKind.BLOCKED
    assert failure_kind(of, judged, [(ReasoningMarker.BLOCKER,), (), ()]) is FailureKind.CONSTRAINT_MISSED


def test_the_taxonomy_reads_the_agents_own_thoughts():
    of = trajectory(turns=[turn(0), turn(1, DONE, thought="Cloudflare keeps us out, I give up.")], site_reward=None)
    (episode,) = join_verdicts([of], [verdict(of, Outcome.FAILURE)])
    assert episode.failure is FailureKind.BLOCKER_REPORTED


def test_each_kind_is_in_one_of_the_papers_four_groups():
    assert set(GROUP) == set(FailureKind)
    assert set(GROUP.values()) == {*PUBLISHED, FailureGroup.UNCLEAR}
    assert sum(PUBLISHED.values()) == pytest.approx(1)


LINES = [IN_VAIN, FAILED, f"Succeed: {AT_BOUNDARY}", "Succeed: `click` executed. The page changed."]
WORDS = ["The task is ambiguous.", "It missed a constraint.", "It hit the wrong button.", "No.", ""]


@given(data=st.data())
def test_every_failure_has_a_kind_and_only_a_success_has_none(data):
    ending, outcome = data.draw(st.sampled_from(list(Termination))), data.draw(st.sampled_from(list(Outcome)))
    lines = data.draw(st.lists(st.sampled_from(LINES), max_size=6))
    of = SKELETON.model_copy(
        update={
            "turns": [BARE.model_copy(update={"index": i, "feedback": [line]}) for i, line in enumerate(lines)],
            "termination": ending,
            "answer": data.draw(st.sampled_from(["ok", None])),
            "site_reward": data.draw(st.sampled_from([None, -1.0, 0.5, 1.0])),
        }
    )
    judged = verdict(of, outcome, data.draw(st.sampled_from(WORDS)))
    judged = judged.model_copy(update={"judge": data.draw(st.sampled_from(["rules", "openwebrl"]))})
    reasons = [data.draw(st.sampled_from([(), (ReasoningMarker.BLOCKER,)])) for _ in lines]
    kind = failure_kind(of, judged, reasons)
    assert (kind is None) == (needs_judge(of) and outcome is Outcome.SUCCESS)
    assert kind is None or GROUP[kind] in FailureGroup
    assert (kind is FailureKind.UNJUDGED) == (needs_judge(of) and outcome in (Outcome.ERROR, Outcome.UNPARSED))


@pytest.mark.parametrize("evaluator", [{"type": "online_mind2web", "level": "easy"}, {"type": "another benchmark"}, {}])
def test_an_unreadable_rule_does_not_contradict_the_judge(evaluator):
    of, judged = said("No.", of=trajectory(task(evaluator=evaluator), site_reward=None))
    assert failure_kind(of, judged) is FailureKind.WRONG


def test_a_rule_without_its_evaluator_does_not_contradict_the_judge(no_verified_evaluator):
    of, judged = said("No.", of=trajectory(task(evaluator=VERIFIED), site_reward=None))
    assert failure_kind(of, judged) is FailureKind.WRONG
    assert success([of], [judged]).rate == 0
