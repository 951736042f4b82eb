"""What an oracle, an idle agent and cheating agents get for one task: the check of a task, its rule and its oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.records import StateCheck


@dataclass
class TaskCheck:
    """The check of one task of a world with state. A reward is None if the run did not come to an end.

    Attributes:
        task_id: the task.
        family: the part of its website after the slash, such as its template.
        actions: the oracle's calls, without scrolling, waiting and `done`; a click and the writing after it are one.
        rewards: by run: `oracle` should get 1; `idle` (only says `done`), `copied` (answers with the task's own
            words), `guessed` (answers right and has not seen it), `other` (the oracle of another task of the family),
            `stray` (the oracle with one more write), `listed` (the oracle with an answer that names all candidates),
            `control` (a page calls the interface that makes and reads the states) and `forged` (a page claims that the
            task is done) should get 0. A run that does not apply is not there.
        is_repeatable: whether a second run of the oracle left the same data.
        seconds: the time of all runs.
        problems: what is wrong, in sentences; none if the task is sound.
        notes: what a person should look at, because no run can decide it.
    """

    task_id: str
    family: str
    actions: int = 0
    rewards: dict[str, float] = field(default_factory=dict)
    is_repeatable: bool = False
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_oracle(self, check: StateCheck, actions: int) -> None:
        """Note what the oracle got, which should be 1, and its number of actions."""
        self.rewards["oracle"], self.actions = check.reward, actions
        if check.reward != 1:
            self.problems += [*(f"missing: {effect}" for effect in check.missing), *check.side_effects]
            self.problems += ["the oracle's answer is wrong"] if check.answer_ok is False else []

    def add_cheats(self, checks: Mapping[str, StateCheck | None]) -> None:
        """Note what runs got that should get 0, by the run's name. None: the run does not apply."""
        for name, check in checks.items():
            if check is not None:
                self.rewards[name] = check.reward
                self.problems += [f"{name} gets {check.reward}"] if check.reward else []
