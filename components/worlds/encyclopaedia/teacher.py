"""The scripted teacher of the encyclopaedia: it searches for the article, follows links, reads the fact and answers.

The task's rubric gives one article and one fact per hop (`questions`). The next action depends on the page. On the
right article the teacher follows the link of the fact or answers with its value. If a link has the title of the
article, the teacher clicks it; otherwise it searches. With noise, an episode may have one plausible mistake: another
search result, another line of the article, or an answer after the first hop.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar, Literal

from components.browser import Placed
from components.records import Task, ToolCall
from components.worlds import TeacherTurn

MOST_SEARCHES = 3
UNKNOWN = "N/A"


class EncyclopaediaTeacher:
    """The teacher of one episode; deterministic given task, attempt and seed.

    Raises:
        ValueError: the task's rubric has no facts, so the article of its answer is unknown.
    """

    acts_on: ClassVar[Literal["elements"]] = "elements"

    def __init__(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> None:
        self._hops = [(group.description, fact) for group in task.rubric for fact in group.facts]
        if not self._hops:
            raise ValueError(
                f"{task.task_id} has no rubric that says where its answer stands; the scripted teacher knows the "
                "questions that are generated here (worlds.encyclopaedia), let a model teach others (teacher.policy)"
            )
        self._rng = random.Random(f"{task.task_id}|{attempt}|{seed}")
        self._searches = 0
        mistakes = ["result", "line", *(["early"] if len(self._hops) > 1 else [])]
        self._mistake = self._rng.choice(mistakes) if self._rng.random() < noise else None

    def next(self, elements: Sequence[Placed]) -> TeacherTurn:
        """The response to the current page, with one call."""
        title, fact = self._hops[0]
        heading = next((element for element in elements if element.role == "heading"), None)
        if heading is not None and heading.name == title:
            return self._on_article(fact, elements)
        link = next((element for element in elements if element.role == "link" and element.name == title), None)
        if link is not None:
            if self._mistake == "result":
                self._mistake = "line"  # the answer is read from another article
                others = [element for element in elements if element.role == "link" and element.name != title]
                if others:
                    link = self._rng.choice(others)
                    self._hops = [(link.name, fact) for _, fact in self._hops[-1:]]
            return TeacherTurn(f'open "{link.name}"', [_click(link)])
        field = next((element for element in elements if element.role in ("textbox", "searchbox")), None)
        if field is None or self._searches == MOST_SEARCHES:
            return _answer(UNKNOWN, "not found")
        self._searches += 1
        arguments = {"element": field.id, "text": title, "submit": True}
        return TeacherTurn(f'search "{title}"', [ToolCall(name="write_element", arguments=arguments)])

    def _on_article(self, fact: str, elements: Sequence[Placed]) -> TeacherTurn:
        value = fact.partition(": ")[2]
        if len(self._hops) > 1 and self._mistake != "early":
            self._hops.pop(0)
            link = next((element for element in elements if element.role == "link" and element.name == value), None)
            if link is not None:
                return TeacherTurn(f'{fact}, open "{value}"', [_click(link)], fact)
        if self._mistake == "line":
            fact = self._rng.choice([line for line in _lines(elements) if line != fact] or [f": {UNKNOWN}"])
        return _answer(fact.partition(": ")[2], fact)


def _lines(elements: Sequence[Placed]) -> list[str]:
    """The lines of an article that are facts."""
    lines = [element.name or element.text for element in elements if element.role == "listitem"]
    return [line for line in lines if line.partition(": ")[2]]


def _click(link: Placed) -> ToolCall:
    return ToolCall(name="click_element", arguments={"element": link.id})


def _answer(answer: str, because: str) -> TeacherTurn:
    return TeacherTurn(because, [ToolCall(name="done", arguments={"answer": answer})], because)
