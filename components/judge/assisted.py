"""Rules, and a model for the parts of a rule that only a model can tell (WebArena's `fuzzy_match`).

The model is asked whether an answer says what a reference says, and nothing else; without one, such verdicts stay the
errors that `rules_verdict` makes of them. The verdicts are the rules'; tokens, cost and time are those of the answers
that they hang on, and the version names the model. If all that is missing is an answer that could not be read, so is
the verdict: `unparsed`, no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from components.endpoint import Spent
from components.judge.model_judge import Judgement, ModelJudge
from components.judge.rules import Question, open_questions, rules_verdict
from components.records import Outcome, Trajectory, Verdict


async def assisted_rules(
    trajectories: Iterable[Trajectory], model: Callable[[], ModelJudge]
) -> tuple[list[Verdict], Spent | None]:
    """A verdict per trajectory, in order, and what the model has cost so far, None if nobody had to be asked.

    `model` is called only if a rule needs it, so that no key is wanted for rules that need nobody.

    Raises:
        JudgeOutage, EndpointError: as `ModelJudge` does.
    """
    verdicts, unanswered = [], {}
    for number, trajectory in enumerate(trajectories):
        verdicts.append(rules_verdict(trajectory))
        if questions := open_questions(trajectory):
            unanswered[number] = trajectory, questions
    if not unanswered:
        return verdicts, None
    asked = list(dict.fromkeys(question for _, questions in unanswered.values() for question in questions))
    async with model() as judge:
        said = await asyncio.gather(*(judge.says_the_same(one.question, [one.reference], one.answer) for one in asked))
        answers = dict(zip(asked, said, strict=True))
        for number, (trajectory, questions) in unanswered.items():
            answered = {question: answers[question] for question in questions}
            verdicts[number] = _decided(trajectory, answered, judge.comparison_version)
        return verdicts, judge.spent


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
