"""The effects that a task asks for, and the comparison of an episode's changes with them.

A change that matches no effect is a side effect, and a failure: an agent that does what was asked and orders something
else besides has not done the task.
"""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

import numpy as np
from scipy.optimize import linear_sum_assignment

from components.records import RowChange, StateCheck
from components.worlds.answers import Answer


@dataclass(frozen=True)
class KeyOf:
    """A column's expected value: the key of a row that this effect, or this accompanying change, is about.

    It ties a row to its parent: the post belongs to the topic that the task asks for, and to no other.

    Attributes:
        parent: what the row of that key must match.
        column: the column of that row with the key; empty for the key by which rows are told apart.
    """

    parent: Effect | Incidental
    column: str = ""


Value = str | int | float | bool | None | KeyOf | Callable[[str | None], bool]
"""A column's expected value, the key of another row, or a function that says whether a value's text form is right."""


def contains(*texts: str) -> Callable[[str | None], bool]:
    """A value that contains all of these texts, whatever their case."""
    return lambda value: value is not None and all(text.casefold() in value.casefold() for text in texts)


def words(text: str) -> Callable[[str | None], bool]:
    """A value with these words, whatever the case, white space and markup between them. Markup is what an editor of
    formatted text writes (`<p>`, `<b>`, `&amp;`); a link, a picture or any other text in `<…>` is text."""
    return lambda value: value is not None and _words(text) == _words(value)


_MARKUP = re.compile(
    r"</?(?:b|blockquote|br|code|div|em|font|h[1-6]|hr|i|ins|li|mark|ol|p|pre|s|small|span|strike|strong|sub|sup|u|ul)"
    r"""(?:\s+(?:(?:class|dir|id|lang|align|data-[\w-]+)="[^"<>\s]*"|style="(?:[\w-]+:\s*[\w#.,%()-]+;?\s*)*"))*"""
    r"\s*/?>",
    re.IGNORECASE,
)
"""Tags of formatted text. Their attributes hold no sentence, so that no words can hide in them."""


def _words(text: str) -> list[str]:
    return html.unescape(_MARKUP.sub(" ", text)).casefold().split()


@dataclass(frozen=True)
class Effect(ABC):
    """A change that a task asks for, in one row of a table.

    Attributes:
        table: the table's name.
    """

    table: str

    @abstractmethod
    def matches(self, change: RowChange) -> bool:
        """Whether a change is this effect."""

    @abstractmethod
    def describe(self) -> str:
        """The effect in words, for the report."""

    @abstractmethod
    def tied(self, changes: Sequence[RowChange]) -> Effect:
        """The same effect with the keys of the rows in `changes` for each `KeyOf`."""


@dataclass(frozen=True)
class Added(Effect):
    """A row is added that has these values."""

    values: Mapping[str, Value] = field(default_factory=dict)

    def matches(self, change: RowChange) -> bool:
        """Whether the change is an added row with the values."""
        if change.before is not None or change.after is None:
            return False
        return fnmatchcase(change.table, self.table) and has(change.after, self.values)

    def describe(self) -> str:
        """Such as `1 row added to basket_line (product_id 5)`."""
        return f"1 row added to {self.table}{_list(self.values)}"

    def tied(self, changes: Sequence[RowChange]) -> Added:
        """The same effect with the keys of its parents."""
        return replace(self, values=_tied(self.values, changes))


@dataclass(frozen=True)
class Removed(Effect):
    """A row is removed that had these values."""

    values: Mapping[str, Value] = field(default_factory=dict)

    def matches(self, change: RowChange) -> bool:
        """Whether the change is a removed row that had the values."""
        if change.after is not None or change.before is None:
            return False
        return fnmatchcase(change.table, self.table) and has(change.before, self.values)

    def describe(self) -> str:
        """Such as `1 row removed from basket_line (product_id 5)`."""
        return f"1 row removed from {self.table}{_list(self.values)}"

    def tied(self, changes: Sequence[RowChange]) -> Removed:
        """The same effect with the keys of its parents."""
        return replace(self, values=_tied(self.values, changes))


@dataclass(frozen=True)
class Changed(Effect):
    """A row is changed.

    Attributes:
        where: values that the row had before, such as its id.
        to: the changed columns and their new values.
        also: patterns of further columns that may change, because the application computes them.
    """

    where: Mapping[str, Value] = field(default_factory=dict)
    to: Mapping[str, Value] = field(default_factory=dict)
    also: Sequence[str] = ()

    def matches(self, change: RowChange) -> bool:
        """Whether the change is of such a row, to these values, and in no other column."""
        before, after = change.before, change.after
        if before is None or after is None or not fnmatchcase(change.table, self.table):
            return False
        others = [name for name in after if after[name] != before.get(name) and name not in self.to]
        is_allowed = all(any(fnmatchcase(name, pattern) for pattern in self.also) for name in others)
        return is_allowed and has(before, self.where) and has(after, self.to)

    def describe(self) -> str:
        """Such as `a row of helpdesk_ticket (id 3) changed (status 4)`."""
        return f"a row of {self.table}{_list(self.where)} changed{_list(self.to)}"

    def tied(self, changes: Sequence[RowChange]) -> Changed:
        """The same effect with the keys of its parents."""
        return replace(self, where=_tied(self.where, changes), to=_tied(self.to, changes))


@dataclass(frozen=True)
class Incidental:
    """Changes that may accompany the effects and count for nothing, such as the log entry of an edit.

    Attributes:
        table: a pattern such as `order_*`.
        values: values of the row: of the new one, or of a removed one.
    """

    table: str
    values: Mapping[str, Value] = field(default_factory=dict)

    def matches(self, change: RowChange) -> bool:
        """Whether the change is such a one."""
        row = change.after if change.after is not None else change.before
        return row is not None and fnmatchcase(change.table, self.table) and has(row, self.values)

    def tied(self, changes: Sequence[RowChange]) -> Incidental:
        """The same with the keys of its parents."""
        return replace(self, values=_tied(self.values, changes))


def check_changes(
    effects: Sequence[Effect],
    incidental: Sequence[Incidental],
    changes: Sequence[RowChange],
    expected_answer: Answer | None,
    answer: str | None,
    is_guess: bool = False,
) -> StateCheck:
    """Compare an episode's changes and answer with what its task asks for.

    Args:
        effects: all of them must be there, each in a row of its own.
        incidental: changes that are allowed besides.
        expected_answer: None if the task asks for no answer; then any is right.
        answer: of `done`; None if the agent did not call it.
        is_guess: the agent has not seen what it says, so its answer does not count.
    """
    accompanying = [kind.tied(changes) for kind in incidental]
    counted = [not any(kind.matches(change) for kind in accompanying) for change in changes]
    change_of = _assigned([effect.tied(changes) for effect in effects], changes, counted)
    missing = [effect.describe() for number, effect in enumerate(effects) if number not in change_of]
    matched = set(change_of.values())
    unasked = [change for number, change in enumerate(changes) if counted[number] and number not in matched]
    answer_ok = None
    if expected_answer is not None:
        answer_ok = answer is not None and not is_guess and expected_answer.accepts(answer)
    total = len(effects) + (expected_answer is not None)
    there = len(effects) - len(missing) + bool(answer_ok)
    is_done = not missing and not unasked and answer_ok is not False
    return StateCheck(
        reward=float(is_done),
        credit=there / total if total else 0.0,
        missing=missing,
        side_effects=[f"also {describe(change)}" for change in unasked],
        answer_ok=answer_ok,
        changes=list(changes),
    )


def _tied(values: Mapping[str, Value], changes: Sequence[RowChange]) -> dict[str, Value]:
    return {
        name: _one_of(_keys(value, changes)) if isinstance(value, KeyOf) else value for name, value in values.items()
    }


def _keys(key: KeyOf, changes: Sequence[RowChange]) -> frozenset[str]:
    tied = key.parent.tied(changes)
    rows = [change for change in changes if tied.matches(change)]
    if not key.column:
        return frozenset(change.key for change in rows)
    values = [(change.after or change.before or {}).get(key.column) for change in rows]
    return frozenset(value for value in values if value is not None)


def _one_of(keys: frozenset[str]) -> Callable[[str | None], bool]:
    return lambda value: value in keys


def _assigned(effects: Sequence[Effect], changes: Sequence[RowChange], counted: Sequence[bool]) -> dict[int, int]:
    """The position of the change that each effect is found in, by the effect's position: as many effects as possible,
    and of equally many those that leave the fewest side effects.

    Args:
        counted: for each change, whether it would be a side effect without an effect.
    """
    if not effects or not changes:
        return {}
    matches_EC = np.array([[effect.matches(change) for change in changes] for effect in effects])
    weights_EC = matches_EC * (len(effects) + 1 + np.array(counted))
    pairs = zip(*linear_sum_assignment(weights_EC, maximize=True), strict=True)
    return {int(effect): int(change) for effect, change in pairs if matches_EC[effect, change]}


def describe(change: RowChange) -> str:
    """A change in words."""
    if change.before is None:
        return f"added 1 row to {change.table} ({_values(change.after or {})})"
    if change.after is None:
        return f"removed 1 row from {change.table} ({_values(change.before)})"
    old, new = change.before, change.after
    parts = [f"{name} from {old.get(name)} to {value}" for name, value in new.items() if value != old.get(name)]
    return f"changed row {change.key} of {change.table} ({', '.join(parts)[:300]})"


def has(row: Mapping[str, str | None], values: Mapping[str, Value]) -> bool:
    """Whether a row has all of these values. A column that the row lacks has none."""
    return all(name in row and is_equal(row[name], value) for name, value in values.items())


_NO_NUMBER = re.compile(r"-?0\d|\+|.*_")
_EXPONENT = re.compile(r"\d[eE][+-]?\d")


def is_equal(text: str | None, value: Value) -> bool:
    """Whether the text form of a database value is the expected value; numbers are compared as numbers.

    A text that begins with a needless 0 or a +, such as a postcode or a telephone number, is no number, nor is one with
    a `_`, or an expected text with an exponent, such as the name `1e3`.
    """
    if callable(value):
        return value(text)
    if isinstance(value, KeyOf):
        raise TypeError("a KeyOf has no value without the changes of an episode: use check_changes, or tied()")
    if value is None or text is None:
        return text is None and value is None
    if isinstance(value, bool):
        return text in (str(int(value)), str(value), str(value).lower())  # of SQLite, Python and JSON
    if text == str(value):
        return True
    if any(_NO_NUMBER.match(side) for side in (text, str(value))):
        return False
    if isinstance(value, str) and any(_EXPONENT.search(side) for side in (text, value)):
        return False
    try:
        return Decimal(text) == Decimal(str(value))
    except InvalidOperation:
        return False


def _values(row: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items() if value not in (None, ""))[:300]


def _list(values: Mapping[str, Value]) -> str:
    parts = [f"{name} {_said(value)}" for name, value in values.items()]
    return f" ({', '.join(parts)})" if parts else ""


def _said(value: Value) -> str:
    if isinstance(value, KeyOf):
        return f"of the row of {value.parent.table}"
    return "as asked" if callable(value) else str(value)
