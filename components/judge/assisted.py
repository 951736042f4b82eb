"""Verdicts by rules, with a model for the parts that only a model can decide (WebArena's `fuzzy_match`).

The model is asked only whether an answer means the same as a reference. Without a model, such verdicts are errors, as
`rules_verdict` gives them. The verdicts are those of the rules; their tokens, cost and time are those of the model's
answers, and their version names the model. A verdict that lacks only an answer which could not be parsed is `unparsed`,
not an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from components.judge.model_judge import Judgement, ModelJudge
from components.judge.rules import Question, open_questions, rules_verdict
from components.records import Outcome, Trajectory, Verdict


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
    judgements = await asyncio.gather(
        *(model.says_the_same(question.question, [question.reference], question.answer) for question in questions)
    )
    return _decided(trajectory, dict(zip(questions, judgements, strict=True)), model.comparison_version)


def _decided(trajectory: Trajectory, judgements: Mapping[Question, Judgement], version: str) -> Verdict:
    """The rules' verdict, given a model's judgements on their questions."""
    verdict = rules_verdict(trajectory, lambda *question: judgements[Question(*question)].says)
    outcome = verdict.outcome
    if outcome is Outcome.ERROR:

        def accepting_unparsed(*question: str) -> bool | None:
            answer = judgements[Question(*question)]
            return True if answer.outcome is Outcome.UNPARSED else answer.says

        if rules_verdict(trajectory, accepting_unparsed).outcome is not Outcome.ERROR:
            outcome = Outcome.UNPARSED
    return verdict.model_copy(
        update={
            "outcome": outcome,
            "judge_version": f"{verdict.judge_version}+{version}",
            "tokens": sum(answer.tokens for answer in judgements.values()),
            "cost_usd": sum(answer.cost_usd for answer in judgements.values()),
            "latency_s": sum(answer.latency_s for answer in judgements.values()),
        }
    )
