"""The templates of tasks in a user's `site.yaml`, `tasks.yaml` or `tasks.py`: parameters, rules and oracles.

Texts may have parameters as `{fields}`; SQL has them as `:name`. A parameter with several columns, such as `ticket`, is
`{ticket[title]}` in texts and `:ticket_title` in SQL.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from components.params import Section
from components.worlds.oracle import Step
from components.worlds.own_site.steps import OracleStep, steps_of
from components.worlds.own_site.texts import Facts


class Query(Section):
    """Rows of the first database, before any episode."""

    sql: str


class Range(Section):
    """Whole numbers, both ends included."""

    first: int = Field(alias="from")
    last: int = Field(alias="to")


def _no_date(value: object) -> object:
    """Refuses what YAML reads as a date or a time.

    Raises:
        ValueError: the value is one.
    """
    if isinstance(value, datetime.date):
        raise ValueError(f"YAML reads {value} as a date: put it in quotes")
    return value


def _no_boolean(value: object) -> object:
    """Refuses what YAML reads as true or false.

    Raises:
        ValueError: the value is a boolean.
    """
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is a boolean, as YAML also reads yes, no, on and off: put it in quotes")
    return value


def _plain_values(values: object) -> object:
    """Refuses values that YAML reads as something else, before they are tried as each kind of `Values`."""
    rows = values if isinstance(values, list) else []
    for cell in [cell for row in rows for cell in (row.values() if isinstance(row, dict) else [row])]:
        _no_date(_no_boolean(cell))
        if not isinstance(cell, str | int | float):
            raise ValueError(f"{cell!r} is no value of a parameter, which is a text or a number")
    return values


Cell = str | int | float
Values = Annotated[list[Cell] | list[dict[str, Cell]] | Query | Range, BeforeValidator(_plain_values)]
"""Of a parameter. Values with several columns are mappings, or rows of a query."""


class Contains(Section):
    """A value that has this text in it, whatever the case."""

    contains: str


class Words(Section):
    """A value with these words, whatever the case, white space and markup between them."""

    words: str


class Text(Section):
    """A value with exactly this text, such as the version `1.10`, which is not `1.1`."""

    text: str


class KeyOfRow(Section):
    """The key of the row of an earlier effect of the task, which ties a row to its parent."""

    key_of: str = Field(min_length=1)
    """The `name` of that effect."""
    column: str = ""
    """The column of that row with the key; by default the columns that identify the row."""


Expected = Annotated[str | int | float | bool | Contains | Words | Text | KeyOfRow | None, BeforeValidator(_no_date)]


def _parents(*values: Mapping[str, Expected]) -> list[str]:
    return [value.key_of for columns in values for value in columns.values() if isinstance(value, KeyOfRow)]


class EffectRule(Section):
    """A change that the task asks for, in one row: exactly one of `added`, `removed` and `changed`."""

    name: str = ""
    """By which later effects and `may` refer to its row (`key_of`)."""
    added: str = ""
    """The table that gets a row with `values`."""
    removed: str = ""
    """The table that loses a row with `values`."""
    changed: str = ""
    """The table with a row that had `where` and now has `to`."""
    values: dict[str, Expected] = Field(default_factory=dict)
    where: dict[str, Expected] = Field(default_factory=dict)
    to: dict[str, Expected] = Field(default_factory=dict)
    also: list[str] = Field(default_factory=list)
    """Patterns of further columns that may change, because the application computes them."""

    @model_validator(mode="after")
    def _one_kind(self) -> EffectRule:
        if sum(map(bool, (self.added, self.removed, self.changed))) != 1:
            raise ValueError("an effect has exactly one of `added: table`, `removed: table`, `changed: table`")
        if self.changed and self.values:
            raise ValueError("an effect with `changed` has `where` and `to`, not `values`")
        if not self.changed and (self.where or self.to or self.also):
            raise ValueError("an effect with `added` or `removed` has `values` only")
        return self

    @property
    def parents(self) -> list[str]:
        """The names of the effects to whose rows this one is tied."""
        return _parents(self.values, self.where, self.to)


class MayRule(Section):
    """A change that may accompany the effects, such as an entry of a log."""

    table: str
    values: dict[str, Expected] = Field(default_factory=dict)

    @property
    def parents(self) -> list[str]:
        """The names of the effects to whose rows this change is tied."""
        return _parents(self.values)


class AnswerRule(Section):
    """The answer that the task asks for: exactly one of `number`, `phrase`, `names` and `refusal`."""

    number: str | int | float | Query | None = None
    """A number; the answer may name no other one, besides those of the task."""
    phrase: list[str] | Query | None = None
    """Right forms of a short text."""
    wrong: list[str] | Query = Field(default_factory=list)
    """Texts that a right answer with `phrase` does not have."""
    names: list[str] | Query | None = None
    """Names that must all be there, out of `among`."""
    among: list[str] | Query = Field(default_factory=list)
    refusal: list[str] | None = None
    """The task is impossible; the answer refuses with one of these words in it."""

    @model_validator(mode="after")
    def _one_kind(self) -> AnswerRule:
        if sum(kind is not None for kind in (self.number, self.phrase, self.names, self.refusal)) != 1:
            raise ValueError("an answer has exactly one of `number`, `phrase`, `names`, `refusal`")
        if self.names is not None and not self.among:
            raise ValueError("an answer with `names` needs `among`, all names of this kind: others would not be wrong")
        return self


class RequestRule(Section):
    """A response of the application at the end of the episode."""

    get: str
    user: str = Field(default="", alias="as")
    status: int = 200
    contains: str = ""
    lacks: str = ""
    values: dict[str, Expected] = Field(default_factory=dict, alias="json")
    """Values of the JSON response by their places, such as `{state.name: closed}`."""

    @model_validator(mode="after")
    def _ties_nothing(self) -> RequestRule:
        if _parents(self.values):
            raise ValueError("`key_of` ties rows of `effects` and `may`; a response has no row")
        return self


class PageRule(Section):
    """An open page at the end of the episode."""

    url: str = "*"
    """Pattern of the address, such as `*/tktview/*`."""
    contains: str = ""


class TaskTemplate(Section):
    """A kind of task, with as many tasks as its parameters have combinations."""

    intent: str | list[str]
    """The instruction, or several wordings of it."""
    parameters: dict[str, Values] = Field(default_factory=dict)
    start: str = Field(default="/", pattern=r"^[/{]")
    """The path of the start page."""
    login: str = ""
    effects: list[EffectRule] = Field(default_factory=list)
    may: list[MayRule] = Field(default_factory=list)
    answer: AnswerRule | None = None
    requests: list[RequestRule] = Field(default_factory=list)
    page: PageRule | None = None
    verify: str = ""
    """A command that ends with status 0 if the task is done, and with 1 if not; its last line of output says why."""
    oracle: list[OracleStep] | None = None
    """The actions of a person who knows the site, without `done`. An empty list is an oracle that answers at once."""

    @property
    def phrasings(self) -> list[str]:
        """The instruction in its wordings."""
        return [self.intent] if isinstance(self.intent, str) else self.intent

    @property
    def queried(self) -> list[object]:
        """What may be SQL: the values of parameters, and the parts of the answer."""
        rule = self.answer
        answers = [rule.number, rule.phrase, rule.wrong, rule.names, rule.among] if rule is not None else []
        return [*self.parameters.values(), *answers]

    @model_validator(mode="after")
    def _has_rule(self) -> TaskTemplate:
        if not self.phrasings:
            raise ValueError("intent is empty")
        if not (self.effects or self.answer or self.requests or self.page or self.verify):
            raise ValueError("a task needs a rule: effects, answer, requests, page or verify")
        return self

    @model_validator(mode="after")
    def _parents_come_first(self) -> TaskTemplate:
        known: list[str] = []
        rules: list[EffectRule | MayRule] = [*self.effects, *self.may]
        for rule in rules:
            for name in rule.parents:
                if name not in known:
                    names = ", ".join(known) or "none has a `name`"
                    raise ValueError(f"key_of: {name} is no earlier effect of the task; earlier ones: {names}")
            if isinstance(rule, EffectRule) and rule.name:
                if rule.name in known:
                    raise ValueError(f"two effects have the name {rule.name}")
                known.append(rule.name)
        return self

    def steps(self, facts: Facts, origin: str) -> list[Step]:
        """The oracle's steps for one task."""
        return steps_of(self.oracle or [], facts, origin)
