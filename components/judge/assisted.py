"""Rules, and a model for the parts of a rule that only a model can tell (WebArena's `fuzzy_match`).

The model is asked whether an answer says what a reference says, and nothing else; without one, such verdicts stay the
errors that `rules_verdict` makes of them. What it costs is in its own account (`ModelJudge.spent`), not in the
verdicts, which are the rules'.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from components.endpoint import Spent
from components.judge.model_judge import ModelJudge
from components.judge.rules import open_questions, rules_verdict
from components.records import Trajectory, Verdict


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
        answers = {tuple(question): says for question, says in zip(asked, said, strict=True)}
        for number, (trajectory, _) in unanswered.items():
            verdicts[number] = rules_verdict(trajectory, lambda *question: answers.get(question))
        return verdicts, judge.spent
