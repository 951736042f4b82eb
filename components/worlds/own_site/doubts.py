"""What the runs of a check cannot decide about a task, as notes for the person who writes it.

The oracle answers what the rule's own SQL says, so its reward does not show that the answer is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from components.worlds.answers import Number, numbers_in
from components.worlds.own_site.instances import Instance
from components.worlds.own_site.task_file import TaskTemplate
from components.worlds.plain_text import has_phrase, plain


def notes_on(instance: Instance, pages: Sequence[str]) -> list[str]:
    """Notes on a task: an answer that no page shows, and accompanying changes that hide side effects.

    Args:
        pages: the texts of what the oracle saw before it answered.
    """
    notes = wide_rules(instance.template)
    if not is_shown(instance.answer, pages):
        assert instance.expected is not None
        notes.append(
            f'no page that the oracle saw shows the answer "{instance.expected.example}": if it is a count or a sum, '
            "do the task once by hand and compare; else correct `answer`, or let the oracle open a page that shows it"
        )
    return notes


def wide_rules(template: TaskTemplate) -> list[str]:
    """Notes on `may` without values, of a table that the task's effects change."""
    tables = [rule.added or rule.removed or rule.changed for rule in template.effects]
    return [
        f"may.{number} allows every change of {rule.table}, which the task itself changes: give `values` that only the "
        "task's own action writes"
        for number, rule in enumerate(template.may)
        if not rule.values and any(fnmatchcase(table, rule.table) for table in tables)
    ]


def is_shown(answer: Mapping[str, Any], pages: Sequence[str]) -> bool:
    """Whether the texts of pages have the value of an answer: its number, one form of its phrase, or all of its names.

    A refusal has no value, and a task without an answer asks for none.

    Args:
        answer: as in `Instance`.
    """
    match answer:
        case {"number": value}:
            numbers = {number for page in pages for number in numbers_in(page)}
            return any(Number(value).accepts(number) for number in numbers)
        case {"phrase": forms}:
            return any(_has(page, form) for page in map(plain, pages) for form in forms)
        case {"names": names}:
            texts = [*map(plain, pages)]
            return all(any(_has(text, name) for text in texts) for name in names)
    return True


def _has(text: str, value: str) -> bool:
    return has_phrase(text, plain(value))
