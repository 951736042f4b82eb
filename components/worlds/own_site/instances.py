"""Tasks of a user's templates: which parameters each number of a template has, and what its rules are then."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from components.worlds.own_site.task_file import Contains, EffectRule, Expected, KeyOfRow, TaskTemplate, Text, Words
from components.worlds.own_site.texts import Facts, address, by_field, formatted
from components.worlds.own_site.values import answer_of, choices_of, flat_values, is_number

MAX_TASKS = 20_000
"""Of one template."""
MAX_TRIED = 20
"""Values of a parameter among which a variant of a task is looked for."""
RULE_TEXTS: Any = {
    "effects": {"__all__": {"values", "where", "to"}},
    "may": {"__all__": {"values"}},
    "requests": {"__all__": {"get", "contains", "lacks", "values"}},
    "page": {"url", "contains"},
    "verify": True,
}
"""The parts of a template's rules that have parameters, besides the answer."""
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
    def start_url(self) -> str:
        """The address of the start page."""
        return self.site.address + address(self.template.start, self.facts)

    @property
    def intents(self) -> list[str]:
        """The instruction in its wordings."""
        return [formatted(phrasing, self.facts) for phrasing in self.template.phrasings]

    @property
    def _intent(self) -> str:
        return random.Random(f"words {self.name} {self.number}").choice(self.intents)

    def is_apart_from(self, other: Instance) -> bool:
        """Whether what the oracle of another task of the template does must not satisfy the rule of this one. Two
        tasks that differ in words only, and two questions with one answer, are not apart."""
        if {*self.intents} & {*other.intents}:
            return False
        return self.rule != other.rule if self.answer else self._work != other._work

    @property
    def _work(self) -> object:
        return self.start_url, formatted(self.template.oracle, self.facts)

    @property
    def rule(self) -> object:
        """What decides whether the task is done, with the parameters filled in."""
        return formatted(self.template.model_dump(include=RULE_TEXTS), self.facts), self.answer

    @property
    def expected(self) -> Answer | None:
        """The answer that the task asks for."""
        match self.answer:
            case {"number": value}:
                given = [fact for fact in flat_values(self.facts) if is_number(fact)]
                return Number(value, given=[*given, *numbers_in(self._intent)])
            case {"phrase": forms, "wrong": wrong}:
                return Phrase(forms, wrong)
            case {"names": right, "among": among}:
                intent = self._intent
                return Names(right, among, [text for text in map(str, flat_values(self.facts)) if text in intent])
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
            "start_url": self.start_url,
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
    """The tasks of a site by number, from 1 on. No two of a template have the same instruction and start page:
    combinations of parameters that have both, and the same rule, are one task.

    Args:
        database: a copy of the first database, before any episode; None if the site has none.
    """

    def __init__(self, site: SiteFile, database: bytes | None) -> None:
        self._site = site
        self._database = database
        self._chosen: dict[str, list[list[Any]]] = {}
        self._ordered: dict[str, list[int]] = {}

    def count(self, name: str) -> int:
        """The number of different tasks of a template, at most `MAX_TASKS`.

        Raises:
            OwnSiteError: a parameter has no values, its SQL is wrong, or two tasks with the same instruction and start
                page ask for different things.
        """
        return len(self._places(name))

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
            OwnSiteError: a statement or a text of the template is wrong, or as `count`.
        """
        places = self._places(name)
        return [
            self._instance(name, number, self._facts(name, places[number - 1]))
            for number in range(first, min(first + count, len(places) + 1))
        ]

    def variants(self, instance: Instance) -> dict[str, Instance]:
        """By parameter, a task that differs from the instance in this parameter only and is apart from it
        (`is_apart_from`). A parameter without such a task is not there; a template without an oracle has none.

        Raises:
            OwnSiteError: as `instances`.
        """
        if instance.template.oracle is None:
            return {}
        name, variants = instance.name, {}
        for parameter, values in zip(instance.template.parameters, self._choices(name), strict=True):
            others = (value for value in values if value != instance.facts[parameter])
            for value in itertools.islice(others, MAX_TRIED):
                variant = self._instance(name, instance.number, {**instance.facts, parameter: value})
                if instance.is_apart_from(variant):
                    variants[parameter] = variant
                    break
        return variants

    def _places(self, name: str) -> list[int]:
        """The combinations of parameters that are the tasks, in order."""
        if name not in self._ordered:
            total = math.prod(map(len, self._choices(name)))
            order = random.Random(f"{self._site.name} {name}").sample(range(total), min(MAX_TASKS, total))
            kept = self._distinct(name, order)
            if len(kept) < len(order):
                warnings.warn(
                    f"tasks.{name}: {len(order)} combinations of its parameters are {len(kept)} tasks, because some "
                    "have the same instruction, start page and rule: name each parameter in `intent`, or remove those "
                    "that only an oracle uses",
                    stacklevel=1,
                )
            self._ordered[name] = kept
        return self._ordered[name]

    def _distinct(self, name: str, order: Sequence[int]) -> list[int]:
        """The first combination of each instruction and start page.

        Raises:
            OwnSiteError: a later one with the same two has another rule.
        """
        kept: list[int] = []
        place_of: dict[tuple[str, str], int] = {}
        rules: dict[int, object] = {}
        for place in order:
            facts = self._facts(name, place)
            with _named(name):
                instance = Instance(self._site, name, 0, facts, {})
                shown = [(intent, instance.start_url) for intent in instance.intents]
            same = next((pair for pair in shown if pair in place_of), None)
            if same is None:
                kept.append(place)
                place_of |= dict.fromkeys(shown, place)
                continue
            first = place_of[same]
            rule = self._instance(name, 0, facts).rule
            if first not in rules:
                rules[first] = self._instance(name, 0, self._facts(name, first)).rule
            if rule != rules[first]:
                raise _ambiguous(name, same[0], self._facts(name, first), facts)
        return kept

    def _instance(self, name: str, number: int, facts: Facts) -> Instance:
        rule = self._site.tasks[name].answer
        with _named(name):
            answer = {} if rule is None else answer_of(rule, facts, self._database)
            instance = Instance(self._site, name, number, facts, answer)
            instance.check([], None)  # fills in every text once
            instance.oracle(random.Random(0))
            instance.row("train")
        return instance

    def _facts(self, name: str, place: int) -> Facts:
        facts = {}
        for key, values in zip(self._site.tasks[name].parameters, self._choices(name), strict=True):
            place, index = divmod(place, len(values))
            facts[key] = values[index]
        return facts

    def _choices(self, name: str) -> list[list[Any]]:
        if name not in self._chosen:
            self._chosen[name] = [
                choices_of(f"tasks.{name}.parameters.{key}", values, self._database)
                for key, values in self._site.tasks[name].parameters.items()
            ]
        return self._chosen[name]


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Names the template in an error of its texts."""
    try:
        yield
    except ValueError as error:
        raise OwnSiteError(f"tasks.{name}: {error}") from error


def _ambiguous(name: str, intent: str, first: Facts, second: Facts) -> OwnSiteError:
    others = by_field(second)
    differing = {field: value for field, value in by_field(first).items() if value != others[field]}
    sides = (", ".join(f"{field} = {values[field]!r}" for field in differing) for values in (differing, others))
    return OwnSiteError(
        f"tasks.{name}: the instruction {intent!r} asks for one thing with {next(sides)} and for another with "
        f"{next(sides)}: name {' or '.join(f'{{{field}}}' for field in differing)} in `intent`, or leave one of the "
        "two out of `parameters`"
    )


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
        case Text(text=text):
            exact = formatted(text, facts)
            return lambda stored: bool(stored == exact)
        case str():
            return str(formatted(value, facts))
    return value
