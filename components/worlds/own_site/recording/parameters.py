"""Puts a task's parameters into recorded steps: the title that the person typed becomes `{title}`."""

from __future__ import annotations

import re
from typing import Any

from components.worlds.own_site.task_file import Facts

CLIPPED = 57
"""Characters of a name that an element list shows before `...`."""
LEAST_CLIPPED = 8
"""Characters that a clipped name must share with a parameter to be taken for it."""


def with_fields(value: Any, facts: Facts) -> Any:
    """A step with `{fields}` in place of the values of parameters, at any depth. Other braces are doubled.

    A value counts where no letter or digit touches it. Of several parameters with the same value, the first is taken.
    """
    if isinstance(value, dict):
        return {name: with_fields(part, facts) for name, part in value.items()}
    if isinstance(value, list):
        return [with_fields(part, facts) for part in value]
    return _text(value, _fields(facts)) if isinstance(value, str) else value


def _fields(facts: Facts) -> dict[str, str]:
    """The parameters as fields, by their values; longer values first, because shorter ones may be in them."""
    fields: dict[str, str] = {}
    for name, fact in facts.items():
        columns = (
            {f"{name}[{column}]": part for column, part in fact.items()} if isinstance(fact, dict) else {name: fact}
        )
        for field, part in columns.items():
            if part is not None and str(part):
                fields.setdefault(str(part), field)
    return dict(sorted(fields.items(), key=lambda item: -len(item[0])))


def _text(text: str, fields: dict[str, str]) -> str:
    if text.endswith("...") and len(text) == CLIPPED + 3:
        for fact, field in fields.items():
            begin = next((at for at in range(CLIPPED - LEAST_CLIPPED) if fact.startswith(text[at:CLIPPED])), None)
            if begin is not None and len(fact) > CLIPPED - begin:
                return f"{_text(text[:begin], fields)}{{{field}:.{CLIPPED - begin}}}*"
    if not fields:
        return _escaped(text)
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, fields)) + r")(?!\w)")
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [_escaped(text[end : match.start()]), f"{{{fields[match.group()]}}}"]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
