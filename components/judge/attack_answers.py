"""Texts of the attacks on rules (`attack`) as answers in episodes, for attacks on a judge that reads these.

An attack on rules tries all its texts and counts what the best one wins, because a rule costs nothing. A judge may be a
paid model, so each failure gets one text of an attack. The id of the episode chooses it, so all texts take part, and a
second run asks the same questions.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

from components.judge.attack import Strategy, strategies
from components.judge.rules import Rule, RuleError, rule_of
from components.records import Task, Trajectory
from components.worlds import Worlds, installed_worlds
from components.worlds.answers import Answer

ANSWER_ATTACKS = ("constant", "hedge", "keyword stuffing", "list of candidates")
"""The attacks of `strategies` of which a judge gets one text per failure."""
MAX_CHARACTERS = 2000
"""Longer texts, such as lists of all answers of a file, are left out: they would be most of a judge's context."""

AnswerOf = Callable[[Trajectory], str]
"""The answer that an attack gives in an episode."""


def answer_attacks(tasks: Sequence[Task]) -> Mapping[str, AnswerOf]:
    """The attacks by name.

    Args:
        tasks: those of the failures, whose right answers are the candidates of lists.
    """
    groups = strategies(*_right_answers(tasks))
    return {name: _one_of(groups[name]) for name in ANSWER_ATTACKS}


def _one_of(group: Sequence[Strategy]) -> AnswerOf:
    def answer(episode: Trajectory) -> str:
        texts = [text for text in (strategy(episode.task) for strategy in group) if 0 < len(text) <= MAX_CHARACTERS]
        return texts[zlib.crc32(episode.trajectory_id.encode()) % len(texts)]

    return answer


def _right_answers(tasks: Sequence[Task]) -> tuple[list[Rule], list[Answer]]:
    """The rules of the tasks and the answers that their worlds expect, each task once, without those that say none."""
    worlds = Worlds(installed_worlds())
    rules: list[Rule] = []
    answers: list[Answer] = []
    for task in {task.task_id: task for task in tasks}.values():
        world = worlds.find(task)
        try:
            rules.append(rule_of(task.evaluator))
            expected = world.expected_answer(task) if world is not None else None
        except (RuleError, KeyError):
            continue
        if expected is not None:
            answers.append(expected)
    return rules, answers
