"""Tasks of a user's templates: which parameters each number of a template has, and what its rules are then."""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from components.records import RowChange, Split, StateCheck, Task
from components.worlds.answers import Answer, Names, Number, Phrase, Refusal, numbers_in
from components.worlds.effects import (
    Added,
    Changed,
    Effect,
    Incidental,
    KeyOf,
    Removed,
    Value,
    check_changes,
    contains,
    words,
)
from components.worlds.hedges import is_obstacle
from components.worlds.oracle import Oracle
from components.worlds.own_site.site_file import OwnSiteError, SiteFile
from components.worlds.own_site.tables import query
from components.worlds.own_site.task_file import (
    AnswerRule,
    Contains,
    EffectRule,
    Expected,
    Facts,
    KeyOfRow,
    Query,
    Range,
    TaskTemplate,
    Values,
    Words,
    formatted,
)

MAX_TASKS = 20_000
"""Of one template."""
DONE = "done"
"""The oracle's answer to a task that asks for none."""


@dataclass(frozen=True)
class Instance:
    """One task of a site.

    Attributes:
        facts: the values of the parameters.
        answer: the parameters of the right answer, by kind; empty if the task asks for none.
    """

    site: SiteFile
    name: str
    number: int
    facts: Facts
    answer: Mapping[str, Any]

    @classmethod
    def of(cls, site: SiteFile, task: Task) -> Instance:
        """The instance of a task row.

        Raises:
            OwnSiteError: the row is of a template that the site does not have.
        """
        evaluator = task.evaluator
        if evaluator.get("template") not in site.tasks:
            raise OwnSiteError(f"{task.task_id}: {site.name} has no task {evaluator.get('template')!r} (any more)")
        return cls(site, evaluator["template"], task.seed or 0, evaluator["facts"], evaluator["answer"])

    @property
    def template(self) -> TaskTemplate:
        """The template."""
        return self.site.tasks[self.name]

    @property
    def _intent(self) -> str:
        phrasing = random.Random(f"words {self.name} {self.number}").choice(self.template.phrasings)
        return str(formatted(phrasing, self.facts))

    @property
    def expected(self) -> Answer | None:
        """The answer that the task asks for."""
        match self.answer:
            case {"number": value}:
                given = [fact for fact in _values(self.facts) if _is_number(fact)]
                return Number(value, given=[*given, *numbers_in(self._intent)])
            case {"phrase": forms, "wrong": wrong}:
                return Phrase(forms, wrong)
            case {"names": right, "among": among}:
                intent = self._intent
                return Names(right, among, [text for text in map(str, _values(self.facts)) if text in intent])
            case {"refusal": reasons}:
                return Refusal(reasons, {}, clear=reasons, denied=[word for word in reasons if is_obstacle(word)])
        return None

    def oracle(self, rng: random.Random, noise: float = 0.0, intent: str = "") -> Oracle:
        """The scripted teacher of an episode."""
        answer = self.expected
        steps = self.template.steps(self.facts, self.site.address)
        return Oracle(steps, answer.example if answer is not None else DONE, rng, noise, intent=intent)

    def check(self, changes: Sequence[RowChange], answer: str | None) -> StateCheck:
        """Compares changes and answer with what the task asks for."""
        effects: list[Effect] = []
        named: dict[str, Effect] = {}
        for rule in self.template.effects:
            effects.append(_effect(rule, self.facts, named))
            named[rule.name] = effects[-1]
        may = [Incidental(rule.table, _expected(rule.values, self.facts, named)) for rule in self.template.may]
        return check_changes(effects, may, changes, self.expected, answer)

    def row(self, split: Split) -> dict[str, Any]:
        """The task row."""
        template, site = self.template, self.site
        rules = len(template.effects) + len(template.requests) + (template.answer is not None) + bool(template.verify)
        return {
            "task_id": f"{site.name}/{self.name}/{self.number}",
            "intent": self._intent,
            "start_url": site.address + formatted(template.start, self.facts),
            "website": f"{site.name}/{self.name}",
            "source": site.name,
            "split": split,
            "seed": self.number,
            "difficulty": max(rules, 1),
            "evaluator": {
                "type": "site_reward",
                "template": self.name,
                "facts": self.facts,
                "answer": self.answer,
                "reference_length": len(template.oracle or []),
            },
        }


class Templates:
    """The tasks of a site by number, from 1 on. No two of a template have the same parameters.

    Args:
        database: a copy of the first database, before any episode; None if the site has none.
    """

    def __init__(self, site: SiteFile, database: bytes | None) -> None:
        self._site = site
        self._database = database
        self._chosen: dict[str, list[list[Any]]] = {}

    def count(self, name: str) -> int:
        """The number of different tasks of a template, at most `MAX_TASKS`.

        Raises:
            OwnSiteError: a parameter has no values, or its SQL is wrong.
        """
        return min(MAX_TASKS, math.prod(map(len, self._choices(name))))

    def require(self, name: str, number: int, option: str) -> None:
        """Refuses a number that no task of a template has.

        Args:
            option: of the command, for the error.

        Raises:
            OwnSiteError: the template has no such task, or as `count`.
        """
        last = self.count(name)
        if not 1 <= number <= last:
            raise OwnSiteError(f"{name} has the tasks 1 to {last}: name one of them with {option}, not {number}")

    def instances(self, name: str, first: int, count: int) -> list[Instance]:
        """The instances `first` to `first + count - 1`, or up to the last one.

        Raises:
            OwnSiteError: a statement or a text of the template is wrong.
        """
        choices = self._choices(name)
        order = random.Random(f"{self._site.name} {name}").sample(range(math.prod(map(len, choices))), self.count(name))
        return [
            _instance(self._site, name, number, order[number - 1], choices, self._database)
            for number in range(first, min(first + count, len(order) + 1))
        ]

    def _choices(self, name: str) -> list[list[Any]]:
        if name not in self._chosen:
            self._chosen[name] = [
                _choices(f"tasks.{name}.parameters.{key}", values, self._database)
                for key, values in self._site.tasks[name].parameters.items()
            ]
        return self._chosen[name]


def _instance(
    site: SiteFile, name: str, number: int, place: int, choices: list[list[Any]], database: bytes | None
) -> Instance:
    template, facts = site.tasks[name], {}
    for key, values in zip(template.parameters, choices, strict=True):
        place, index = divmod(place, len(values))
        facts[key] = values[index]
    try:
        answer = {} if template.answer is None else _answer(template.answer, facts, database)
        instance = Instance(site, name, number, facts, answer)
        instance.check([], None)  # fills in every text once
        instance.oracle(random.Random(0))
        instance.row("train")
    except ValueError as error:
        raise OwnSiteError(f"tasks.{name}: {error}") from error
    return instance


def _choices(place: str, values: Values, database: bytes | None) -> list[Any]:
    """The values of a parameter; a row with one column is its value."""
    match values:
        case Range(first=first, last=last):
            chosen: list[Any] = [*range(first, last + 1)]
        case Query(sql=sql):
            rows = _rows(place, sql, {}, database)
            if any(None in row.values() for row in rows):
                raise OwnSiteError(
                    f"{place}: {sql!r} finds a row without a value (NULL); leave such rows out in the SQL"
                )
            chosen = [next(iter(row.values())) if len(row) == 1 else row for row in rows]
        case _:
            chosen = [*values]
    if not chosen:
        remedy = (
            "its SQL finds no row in the first data: correct it, or let `prepare` make such rows"
            if isinstance(values, Query)
            else "give it at least one"
        )
        raise OwnSiteError(f"{place} has no values; {remedy}")
    return [*{repr(value): value for value in chosen}.values()]  # equal values would make the same task twice


def _rows(place: str, sql: str, facts: Facts, database: bytes | None) -> list[dict[str, Any]]:
    if database is None:
        raise OwnSiteError(f"{place} is SQL, but state.sqlite names no database")
    try:
        rows = query(database, sql, dict(_flat(facts)))
    except sqlite3.Error as error:
        raise OwnSiteError(f"{place}: {error} in {sql!r}, on the database that `prepare` made") from error
    column = next((column for row in rows for column, value in row.items() if isinstance(value, bytes)), None)
    if column is not None:
        raise OwnSiteError(
            f"{place}: {sql!r} finds bytes (a BLOB) in {column}; convert them in the SQL, by hex({column}) or "
            f"CAST({column} AS TEXT)"
        )
    return rows


def _flat(facts: Facts) -> list[tuple[str, Any]]:
    """Parameters as SQL names: `ticket_title` for the column `title` of `ticket`."""
    flat: list[tuple[str, Any]] = []
    for name, value in facts.items():
        flat += (
            [(f"{name}_{column}", part) for column, part in value.items()]
            if isinstance(value, dict)
            else [(name, value)]
        )
    return flat


def _values(facts: Facts) -> list[Any]:
    return [value for _, value in _flat(facts)]


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _answer(rule: AnswerRule, facts: Facts, database: bytes | None) -> dict[str, Any]:
    def texts(value: list[str] | Query) -> list[str]:
        if isinstance(value, Query):
            cells = [next(iter(row.values())) for row in _rows("answer", value.sql, facts, database)]
            if None in cells:
                raise OwnSiteError(
                    f"answer: {value.sql!r} finds a row without a value (NULL); leave such rows out in the SQL"
                )
            return [format(Decimal(f"{cell:.15g}"), "f") if isinstance(cell, float) else str(cell) for cell in cells]
        return [formatted(text, facts) for text in value]

    if rule.number is not None:
        values = texts(rule.number) if isinstance(rule.number, Query) else [formatted(str(rule.number), facts)]
        if len(values) != 1 or not _is_number(values[0]):
            raise OwnSiteError(f"answer.number must be one number, not {values!r}")
        return {"number": values[0]}
    if rule.phrase is not None:
        return {"phrase": _some("phrase", texts(rule.phrase)), "wrong": texts(rule.wrong)}
    if rule.names is not None:
        return {"names": _some("names", texts(rule.names)), "among": texts(rule.among)}
    return {"refusal": _some("refusal", texts(rule.refusal or []))}


def _some(kind: str, values: list[str]) -> list[str]:
    if not values:
        raise OwnSiteError(f"answer.{kind} is empty: give at least one value")
    return values


def _effect(rule: EffectRule, facts: Facts, named: Mapping[str, Effect]) -> Effect:
    if rule.added:
        return Added(rule.added, _expected(rule.values, facts, named))
    if rule.removed:
        return Removed(rule.removed, _expected(rule.values, facts, named))
    where, to = (_expected(values, facts, named) for values in (rule.where, rule.to))
    return Changed(rule.changed, where, to, rule.also)


def _expected(values: Mapping[str, Expected], facts: Facts, named: Mapping[str, Effect]) -> dict[str, Value]:
    return {column: expected_value(value, facts, named) for column, value in values.items()}


def expected_value(value: Expected, facts: Facts, named: Mapping[str, Effect]) -> Value:
    """A value of a rule with its parameters filled in, as `effects.is_equal` takes it.

    Args:
        named: the task's effects by their names, for the keys of their rows.
    """
    match value:
        case KeyOfRow(key_of=name, column=column):
            return KeyOf(named[name], column)
        case Contains(contains=text):
            return contains(formatted(text, facts))
        case Words(words=text):
            return words(formatted(text, facts))
        case str():
            return str(formatted(value, facts))
    return value
