"""Rules, and a model for the parts of a rule that only a model can tell (WebArena's `fuzzy_match`).

The model is asked whether an answer says what a reference says, and nothing else; without one, such verdicts stay the
errors that `rules_verdict` makes of them. The verdicts are the rules'; tokens, cost and time are those of the answers
that they hang on, and the version names the model. If all that is missing is an answer that could not be read, so is
the verdict: `unparsed`, no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from components.judge.model_judge import Judgement, ModelJudge
from components.judge.rules import Question, open_questions, rules_verdict
from components.records import Outcome, Trajectory, Verdict


async def assisted_rules(trajectories: Iterable[Trajectory], model: ModelJudge) -> list[Verdict]:
    """A verdict per trajectory, in order. No key is wanted unless a rule needs the model.

    Raises:
        JudgeOutage, EndpointError: as `ModelJudge` does.
    """
    return await model.each(trajectories, lambda trajectory: assisted_verdict(trajectory, model))


async def assisted_verdict(trajectory: Trajectory, model: ModelJudge) -> Verdict:
    """The same for one trajectory."""
    questions = list(dict.fromkeys(open_questions(trajectory)))
    if not questions:
        return rules_verdict(trajectory)
    said = await asyncio.gather(*(model.says_the_same(one.question, [one.reference], one.answer) for one in questions))
    return _decided(trajectory, dict(zip(questions, said, strict=True)), model.comparison_version)


def _decided(trajectory: Trajectory, said: Mapping[Question, Judgement], version: str) -> Verdict:
    """The rules' verdict with what a model said to their questions."""
    verdict = rules_verdict(trajectory, lambda *question: said[Question(*question)].says)
    outcome = verdict.outcome
    if outcome is Outcome.ERROR:

        def reading_the_unread(*question: str) -> bool | None:
            answer = said[Question(*question)]
            return True if answer.outcome is Outcome.UNPARSED else answer.says

        if rules_verdict(trajectory, reading_the_unread).outcome is not Outcome.ERROR:
            outcome = Outcome.UNPARSED
    return verdict.model_copy(
        update={
            "outcome": outcome,
            "judge_version": f"{verdict.judge_version}+{version}",
            "tokens": sum(answer.tokens for answer in said.values()),
            "cost_usd": sum(answer.cost_usd for answer in said.values()),
            "latency_s": sum(answer.latency_s for answer in said.values()),
        }
    )
