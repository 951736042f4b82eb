"""Verdicts by rule: the task's evaluator decides, from the record of the episode alone.

Without `done` an episode is a failure, whatever the page shows. An episode that the environment ended has no verdict
(OpenWebRL, appendix A.4). Rationales of the tasks of WebArena and webarena-verified name the references, so they are
only for people: a judge that is distilled from them would learn to write what it cannot see. Its labels are those of
`without_references`.
"""

from __future__ import annotations

from typing import NamedTuple

from components.judge.rules.conditions import WebArenaRule
from components.judge.rules.image_checks import SeesAnswer
from components.judge.rules.qa import score_answer
from components.judge.rules.site_reward import judge_site_reward, rationale
from components.judge.rules.specs import HintRule, NoRule, QARule, rule_of
from components.judge.rules.webarena import SameAnswer, judge_webarena
from components.judge.verified.client import VERSION as VERIFIED_VERSION
from components.judge.verified.rule import VerifiedRule, judge_verified
from components.records import ErrorCause, Image, Outcome, Termination, Trajectory, Verdict


class Question(NamedTuple):
    """A question to a model: does the answer mean the same as the reference?"""

    question: str
    reference: str
    answer: str


class ImageQuestion(NamedTuple):
    """A question to a model: does one of the images give the answer?"""

    question: str
    answer: str
    images: tuple[Image, ...]


JUDGE, VERSION = "rules", "site-reward-2"
VERSIONS = {VerifiedRule: f"webarena-verified-{VERIFIED_VERSION}", WebArenaRule: "webarena-8", QARule: "qa-em-6"}
"""Versions of the rules that have a version of their own; all others have `VERSION`."""
_NAMING_REFERENCES = (WebArenaRule, VerifiedRule)
"""The rules whose rationales name the task's references."""


def rules_verdict(
    trajectory: Trajectory, same_answer: SameAnswer | None = None, sees_answer: SeesAnswer | None = None
) -> Verdict:
    """Success if the agent called `done` and the task's rule holds; failure if not; error if that is unknown: the
    environment ended the episode, the task has no rule, a page could not be read, or a model judge is needed.

    Args:
        same_answer: says whether an answer means the same as a reference; None if no model can be asked.
        sees_answer: says whether an image gives an answer; None if no model can be asked.

    Raises:
        RuleError: the task's evaluator has an unknown form.
        VerifiedError: webarena-verified's evaluator is not installed, or died.
    """
    rule = rule_of(trajectory.task.evaluator)
    outcome, text = _judge(trajectory, rule, same_answer, sees_answer)
    return Verdict(
        trajectory_id=trajectory.trajectory_id,
        outcome=outcome,
        error_cause=_error_cause(trajectory) if outcome is Outcome.ERROR else None,
        rationale=text,
        judge=JUDGE,
        judge_version=VERSIONS.get(type(rule), VERSION),
    )


def without_references(trajectory: Trajectory, verdict: Verdict) -> Verdict:
    """A verdict on a trajectory as a judge can learn it, which does not see the task's references: a rationale of the
    rules that names them becomes `site_reward.rationale`, what was done."""
    if verdict.judge == JUDGE and isinstance(rule_of(trajectory.task.evaluator), _NAMING_REFERENCES):
        return verdict.model_copy(update={"rationale": rationale(trajectory)})
    return verdict


def open_questions(trajectory: Trajectory) -> list[Question | ImageQuestion]:
    """The questions of `rules_verdict` to a model, so that many can be asked at once; empty if the rule decides alone.

    Raises:
        RuleError: the task's evaluator has an unknown form.
    """
    questions: list[Question | ImageQuestion] = []

    def note(question: str, reference: str, answer: str) -> bool:
        questions.append(Question(question, reference, answer))
        return True

    def note_images(question: str, answer: str, images: tuple[Image, ...]) -> bool:
        questions.append(ImageQuestion(question, answer, images))
        return True

    rules_verdict(trajectory, note, note_images)
    return questions


def _error_cause(trajectory: Trajectory) -> ErrorCause:
    return ErrorCause.NO_RULE if trajectory.termination.is_agents_doing else ErrorCause.ENVIRONMENT


def _judge(
    trajectory: Trajectory, rule: object, same_answer: SameAnswer | None, sees_answer: SeesAnswer | None
) -> tuple[Outcome, str]:
    if not trajectory.termination.is_agents_doing:
        return Outcome.ERROR, f"the environment ended the episode: {trajectory.termination.value}"
    if isinstance(rule, NoRule | HintRule) and trajectory.site_reward is None:
        return Outcome.ERROR, f"{trajectory.task.website} has no reward of its own; ask a judge model"
    if trajectory.termination is not Termination.DONE:
        return Outcome.FAILURE, rationale(trajectory)
    answer = trajectory.answer or ""
    match rule:
        case WebArenaRule():
            return judge_webarena(rule, trajectory.task.intent, answer, trajectory.ending, same_answer, sees_answer)
        case VerifiedRule():
            return judge_verified(rule, answer, trajectory.ending)
        case QARule(answers=golden):
            exact = score_answer(answer, golden).exact
            finding = f"the answer is {'' if exact else 'not '}the one that was asked for"
            return Outcome.SUCCESS if exact else Outcome.FAILURE, f"{rationale(trajectory)}; {finding}"
    return judge_site_reward(trajectory)
