"""The templates of tasks in a user's `site.yaml`, `tasks.yaml` or `tasks.py`: parameters, rules and oracles.

Texts may have parameters as `{fields}`; SQL has them as `:name`. A parameter with several columns, such as `ticket`, is
`{ticket[title]}` in texts and `:ticket_title` in SQL.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from components.params import Section
from components.worlds.oracle import (
    Step,
    Target,
    back,
    choose,
    click,
    close_tab,
    fill,
    goto,
    new_tab,
    press,
    scroll,
    switch_tab,
)
from components.worlds.own_site.texts import Facts, address, formatted


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


def _literal(key: str, value: object) -> str:
    """A text of a step. Whole numbers are texts, too.

    Raises:
        ValueError: YAML has read the text as something else, which may be written in another way than the text was.
    """
    if isinstance(value, bool | float | datetime.datetime):
        raise ValueError(f"{key}: YAML reads this as {_ANOTHER_WAY[type(value)]}, {value}: put the text in quotes")
    if value is None:
        raise ValueError(f"{key} has no value, as YAML reads ~ and null, too: put the text in quotes")
    return str(value)


_ANOTHER_WAY = {
    bool: "a boolean (as it does yes, no, on and off)",
    float: "a number with a fraction",
    datetime.datetime: "a time",
}


def _step(raw: Any) -> dict[str, Any]:
    """Checks one step of an oracle.

    Raises:
        ValueError: it has no known form.
    """
    if not isinstance(raw, dict) or len(raw) != 1:
        raise ValueError(f"a step is one key with its value, such as `click: button Save`, not {raw!r}")
    try:
        _parsed(raw, {})
    except TypeError as error:
        raise ValueError(f"the step {raw!r}: {error}") from error
    return raw


Direction = Literal["up", "down", "left", "right"]
STEP_KEYS = {
    "click": ("role", "name", "value", "after", "number", "button", "click_type", "modifiers"),
    "fill": ("field", "text", "role", "value", "after", "number"),
    "choose": ("select", "option", "after", "number"),
    "scroll": ("direction", "amount", "over"),
}
"""The keys of the steps of an oracle that are mappings."""
TEXT_KEYS = frozenset(("role", "name", "value", "after", "field", "text", "select", "option", "over"))
"""Those of them that are texts."""
OracleStep = Annotated[dict[str, Any], PlainValidator(_step)]


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
        return [_parsed(_filled(step, facts), facts, origin) for step in self.oracle or []]


def _filled(step: dict[str, Any], facts: Facts) -> dict[str, Any]:
    return {kind: address(value, facts) if kind == "goto" else formatted(value, facts) for kind, value in step.items()}


def _parsed(raw: Mapping[str, Any], facts: Facts, origin: str = "") -> Step:
    """One step: `click: button Save`, `click: {role: button, name: Save, after: …, number: 1}`, `fill: {field: Title,
    text: …}`, `choose: {select: Status, option: Closed}`, `press: [Enter]`, `goto: /path`, `back: null`,
    `scroll: {direction: down, amount: 0.5, over: link Save}`, `switch_tab: 1`, `new_tab: null`, `close_tab: null`.

    Names are literal; `*` stands for any text.
    """
    ((kind, value),) = raw.items()
    fields = value if isinstance(value, dict) else {}
    if unknown := [key for key in fields if key not in STEP_KEYS.get(kind, ())]:
        known = ", ".join(STEP_KEYS.get(kind, ())) or "none"
        raise ValueError(f"{kind} has no key {unknown[0]!r}; its keys: {known}")
    texts = {key: _literal(key, part) for key, part in fields.items() if key in TEXT_KEYS}
    place: dict[str, Any] = {"number": int(fields.get("number", 0))}
    if "after" in fields:
        place["after"] = _pattern(texts["after"])
    shown = _pattern(texts.get("value", "*"))
    match kind:
        case "click" if isinstance(value, str):
            role, _, name = value.partition(" ")
            return click(role, _pattern(name or "*"))
        case "click" if "role" in fields:
            options = {key: fields[key] for key in ("button", "click_type", "modifiers") if key in fields}
            return click(texts["role"], _pattern(texts.get("name", "*")), value=shown, options=options, **place)
        case "fill" if {"field", "text"} <= {*fields}:
            role = texts.get("role", "field")
            return fill(_pattern(texts["field"]), texts["text"], role=role, value=shown, **place)
        case "choose" if {"select", "option"} <= {*fields}:
            return choose(_pattern(texts["select"]), texts["option"], **place)
        case "press" if isinstance(value, list):
            return press(*[_literal("press", key) for key in value])
        case "goto" if isinstance(value, str):
            return goto(origin + value)
        case "back":
            return back()
        case "scroll" if {"direction", "amount"} <= {*fields}:
            if fields["direction"] not in get_args(Direction):
                raise ValueError(
                    f"direction must be one of {', '.join(get_args(Direction))}, not {fields['direction']!r}"
                )
            role, _, name = texts.get("over", "").partition(" ")
            over = Target(role, _pattern(name or "*")) if role else None
            return scroll(fields["direction"], float(fields["amount"]), over)
        case "switch_tab" if isinstance(value, int):
            return switch_tab(value)
        case "new_tab":
            return new_tab()
        case "close_tab":
            return close_tab()
    raise ValueError(
        f"the step {dict(raw)!r} is none of `click: button Save`, `fill: {{field: …, text: …}}`, "
        "`choose: {select: …, option: …}`, `press: [Enter]`, `goto: /path`, `back:`, "
        "`scroll: {direction: down, amount: 0.5}`, `switch_tab: 1`, `new_tab:`, `close_tab:`"
    )


def _pattern(name: str) -> str:
    """The regular expression of a literal name in which `*` stands for any text."""
    import re

    return ".*".join(re.escape(part) for part in name.split("*"))
