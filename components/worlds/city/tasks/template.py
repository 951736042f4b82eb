"""The interface of a task template: a kind of task, with as many instances as there are seeds.

A template is a subclass of `Template` in any module under `components/worlds/city/tasks/<site>/`; it is found there,
and no other file names it. An instance's facts come from the data of a copy with the instance's seed, so the same seed
gives the same task on the same data.
"""

from __future__ import annotations

import random
import re
import string
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from components.records import RowChange, StateCheck
from components.worlds.answers import Answer
from components.worlds.effects import Effect, Incidental, check_changes
from components.worlds.oracle import Step

Facts = Mapping[str, Any]
"""What is particular to one instance: JSON values, such as an order's number and its customer."""
Row = dict[str, Any]
Length = Literal["short", "medium", "long"]
"""Number of actions of the oracle: 1 to 3, 4 to 8, 9 or more, without `done`."""


class Data(Protocol):
    """The data of one copy, which may only be read."""

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """The rows of a SELECT statement, with `?` for each parameter."""
        ...


class Unsuitable(Exception):
    """The data of this seed have no instance of the template, such as no order with two lines."""


def pick(rows: Sequence[Row], rng: random.Random) -> dict[str, Any]:
    """One of the rows.

    Raises:
        Unsuitable: there are none.
    """
    if not rows:
        raise Unsuitable("the data have no such row")
    return dict(rng.choice(rows))


class Template(ABC):
    """A kind of task. A subclass is found if it has a `name`."""

    name: ClassVar[str] = ""
    """Lower case with underscores, such as `shop_add_to_basket`."""
    sites: ClassVar[tuple[str, ...]]
    """The sites that the task is about, such as `("shop",)`; the first is the one on which it starts."""
    length: ClassVar[Length]
    phrasings: ClassVar[tuple[str, ...]]
    """The instruction in at least three wordings, with the facts as `{fields}`. Each has all that is needed."""
    logins: ClassVar[Mapping[str, str]] = {}
    """Users who are logged in when the episode begins, by site: `{"desk": "dana"}`. A value may be a `{field}`."""
    start: ClassVar[str] = "/"
    """The path of the start page."""

    @abstractmethod
    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        """The facts of an instance.

        Raises:
            Unsuitable: the data have no instance.
        """

    def effects(self, facts: Facts) -> Sequence[Effect]:
        """The changes that the task asks for; none if it only asks a question."""
        return ()

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        """Changes that may accompany the effects."""
        return ()

    def answer(self, facts: Facts) -> Answer | None:
        """The answer that the task asks for; None if it asks for none."""
        return None

    def evidence(self, facts: Facts) -> Sequence[str]:
        """Patterns of the addresses (`host/path`) of all pages that show the answer. Of one of them at least the agent
        must have opened a page, or its answer is a guess and is not accepted: a small number is often right by chance,
        and RL would learn to guess. A refusal always wants one. None if the start page may show the answer, or if no
        guess is ever right."""
        return ()

    @abstractmethod
    def oracle(self, facts: Facts) -> Sequence[Step]:
        """The actions of a person who knows the site, without `done`."""

    def payment(self, facts: Facts) -> Sequence[Step]:
        """The actions that the oracle takes again if the first payment is declined; none where nothing is paid."""
        return ()

    @abstractmethod
    def rubric(self, facts: Facts) -> Sequence[str]:
        """What must be true at the end, one fact each (WebGym, section 3); their number is the task's difficulty."""

    def instruction(self, facts: Facts, rng: random.Random) -> str:
        """The task in words."""
        return rng.choice(self.phrasings).format(**facts)

    def given(self, facts: Facts) -> list[str]:
        """The facts that the instruction names, as text. An answer may repeat them."""
        fields = {
            field for phrasing in self.phrasings for _, field, _, _ in string.Formatter().parse(phrasing) if field
        }
        return [str(facts[field]) for field in sorted(fields)]

    def users(self, facts: Facts) -> dict[str, str]:
        """The users who are logged in when an instance begins, by host."""
        return {f"{site}.test": user.format(**facts) for site, user in self.logins.items()}

    def check(
        self, facts: Facts, changes: Sequence[RowChange], answer: str | None, opened: Sequence[str] = ()
    ) -> StateCheck:
        """Compare an episode with what the instance asks for.

        Args:
            opened: the addresses of the pages that the agent opened, the start page among them.
        """
        patterns = self.evidence(facts)
        is_guess = bool(patterns) and not any(re.fullmatch(pattern, page) for pattern in patterns for page in opened)
        effects, incidental = self.effects(facts), self.incidental(facts)
        expected = self.answer(facts)
        check = check_changes(effects, incidental, changes, expected, answer, is_guess)
        if not is_guess or (expected is not None and not answer):
            return check
        update: dict[str, Any] = {"missing": [*check.missing, "a page that shows the answer was opened"]}
        if expected is None:  # the answer is written into a site
            update["reward"] = 0.0
        return check.model_copy(update=update)
