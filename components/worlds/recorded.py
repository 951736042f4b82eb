"""What recording an oracle gives: the steps, and what the task's rule says of the person's run and of the replays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Page

from components.records import Task

AskPerson = Callable[[Task, Page], Awaitable[str]]
"""Shows a task to a person, with the tab in which it begins, and returns the answer when they are done; empty if the
task asks for none."""


@dataclass(frozen=True)
class RuleVerdict:
    """What the rule says of one run.

    Attributes:
        task_id: of the task that was run.
        reward: 1 if the task is done and nothing else was changed, else 0.
        reasons: why it is 0, in sentences.
    """

    task_id: str
    reward: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recorded:
    """A recorded oracle.

    Attributes:
        text: the steps as YAML.
        person: the verdict on what the person did; None if the window was closed, and the rule looks at the page.
        replay: the verdict on the steps, replayed on a fresh copy of the same task.
        others: the same for further tasks of the family, which have other parameters.
        remarks: what the person did and no step says.
        file: where the steps were written; None if the task has an oracle already.
        advice: what to do next, in sentences.
    """

    text: str
    person: RuleVerdict | None
    replay: RuleVerdict
    others: list[RuleVerdict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    file: Path | None = None
    advice: list[str] = field(default_factory=list)
