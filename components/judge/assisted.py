"""Verdicts by rules, with a model for the parts that only a model can decide (WebArena's `fuzzy_match`,
VisualWebArena's questions about images).

The model is asked only whether an answer means the same as a reference, and whether one of several images gives an
answer. Without a model, such verdicts are errors, as `rules_verdict` gives them. The verdicts are those of the rules;
their tokens, cost and time are those of the model's answers, and their version names the model. A verdict that lacks
only an answer which could not be parsed is `unparsed`, not an error. An error after an answer that the endpoint did not
give has the cause `endpoint`, whatever else is unknown: asked again, the model may decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from components.judge.model_judge import Judgement, ModelJudge
from components.judge.rules import ImageQuestion, Question, open_questions, rules_verdict
from components.records import ErrorCause, Image, Outcome, Trajectory, Verdict

_Asked = Question | ImageQuestion


async def assisted_rules(trajectories: Iterable[Trajectory], model: ModelJudge) -> list[Verdict]:
    """A verdict per trajectory, in order. No API key is needed unless a rule needs the model.

    Raises:
        JudgeOutage, EndpointError: as `ModelJudge` does.
    """
    return await model.each(trajectories, lambda trajectory: assisted_verdict(trajectory, model))


async def assisted_verdict(trajectory: Trajectory, model: ModelJudge) -> Verdict:
    """The verdict on one trajectory; raises what `assisted_rules` raises."""
    questions = list(dict.fromkeys(open_questions(trajectory)))
    if not questions:
        return rules_verdict(trajectory)
    judgements = dict(
        zip(questions, await asyncio.gather(*(_ask(model, question) for question in questions)), strict=True)
    )
    versions = [
        *([model.comparison_version] if any(isinstance(question, Question) for question in questions) else []),
        *([model.image_version] if any(isinstance(question, ImageQuestion) for question in questions) else []),
    ]
    return _decided(trajectory, judgements, "+".join(versions))


async def _ask(model: ModelJudge, question: _Asked) -> Judgement:
    if isinstance(question, ImageQuestion):
        return await model.sees_answer(question.question, question.answer, question.images)
    return await model.says_the_same(question.question, [question.reference], question.answer)


def _decided(trajectory: Trajectory, judgements: Mapping[_Asked, Judgement], version: str) -> Verdict:
    """The rules' verdict, given a model's judgements on their questions."""
    verdict = _verdict(trajectory, judgements, lambda judgement: judgement.says)
    outcome, error_cause = verdict.outcome, verdict.error_cause
    if outcome is Outcome.ERROR and any(judgement.outcome is Outcome.ERROR for judgement in judgements.values()):
        error_cause = ErrorCause.ENDPOINT
    elif outcome is Outcome.ERROR:

        def accepting_unparsed(judgement: Judgement) -> bool | None:
            return True if judgement.outcome is Outcome.UNPARSED else judgement.says

        if _verdict(trajectory, judgements, accepting_unparsed).outcome is not Outcome.ERROR:
            outcome, error_cause = Outcome.UNPARSED, None
    return verdict.model_copy(
        update={
            "outcome": outcome,
            "error_cause": error_cause,
            "judge_version": f"{verdict.judge_version}+{version}",
            "tokens": sum(answer.tokens for answer in judgements.values()),
            "cost_usd": sum(answer.cost_usd for answer in judgements.values()),
            "latency_s": sum(answer.latency_s for answer in judgements.values()),
        }
    )


def _verdict(
    trajectory: Trajectory, judgements: Mapping[_Asked, Judgement], answer_of: Callable[[Judgement], bool | None]
) -> Verdict:
    """The rules' verdict, where `answer_of` reads the answer from the judgement on each question."""

    def same_answer(question: str, reference: str, answer: str) -> bool | None:
        return answer_of(judgements[Question(question, reference, answer)])

    def sees(question: str, answer: str, images: tuple[Image, ...]) -> bool | None:
        return answer_of(judgements[ImageQuestion(question, answer, images)])

    return rules_verdict(trajectory, same_answer, sees)
