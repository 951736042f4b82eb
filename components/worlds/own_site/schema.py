"""Whether the tables and columns that a site's rules name are in the application's state.

A rule with a misspelled table is never satisfied, and its episode only shows what changed in the right one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from components.worlds.own_site.site_file import OwnSiteError, SiteFile
from components.worlds.own_site.task_file import EffectRule, KeyOfRow, MayRule

NEAR = 0.85
"""How alike a name must be to be meant (`difflib`, of 1)."""

Columns = Mapping[str, Sequence[str] | None]
"""The columns by table. None: they are not known, because items of JSON may have different fields."""


def require_names(site: SiteFile, families: Sequence[str], columns: Columns) -> None:
    """Refuses rules that name what the state does not have.

    `may` and `state.noise` may name a table that the application makes later, so they are refused only if a table with
    nearly the same name is there.

    Args:
        families: the templates whose rules are read.
        columns: of the application before an episode.

    Raises:
        OwnSiteError: there are such rules; the message lists their places.
    """
    problems = [*_of_noise(site.state.noise, columns)]
    for family in families:
        template = site.tasks[family]
        tables = {rule.name: _table_of(rule) for rule in template.effects if rule.name}
        rules: dict[str, EffectRule | MayRule] = {f"effects.{at}": rule for at, rule in enumerate(template.effects)}
        rules |= {f"may.{at}": rule for at, rule in enumerate(template.may)}
        for place, rule in rules.items():
            problems += [f"tasks.{family}.{place}: {problem}" for problem in _of_rule(rule, tables, columns)]
    if problems:
        raise OwnSiteError("\n".join(["the rules do not fit the state of the application:", *problems]))


@dataclass(frozen=True)
class _Named:
    """A table, which may be a pattern, and names or patterns of its columns."""

    table: str
    columns: Sequence[str]
    may_come_later: bool = False
    """Whether a table that is not there, and has no near name, is not refused."""

    def problems(self, columns: Columns) -> Iterator[str]:
        """What the state does not have."""
        matched = {table: known for table, known in columns.items() if fnmatchcase(table, self.table)}
        if not matched:
            near = get_close_matches(self.table, columns, cutoff=NEAR)
            if near or not self.may_come_later:
                there = f"near it: {', '.join(near)}" if near else f"it has {', '.join(columns) or 'none'}"
                yield f"the state has no table {self.table!r}; {there}"
            return
        known = [name for names in matched.values() for name in names or ()]
        if None not in matched.values():
            for column in self.columns:
                if not any(fnmatchcase(name, column) for name in known):
                    yield f"the table {self.table} has no column {column!r}; it has {', '.join(known)}"


def _of_rule(rule: EffectRule | MayRule, tables: Mapping[str, str], columns: Columns) -> Iterator[str]:
    if isinstance(rule, MayRule):
        named, values = _Named(rule.table, [*rule.values], may_come_later=True), [*rule.values.values()]
    else:
        parts = [*rule.values.items(), *rule.where.items(), *rule.to.items()]
        named, values = _Named(_table_of(rule), [*[name for name, _ in parts], *rule.also]), [part for _, part in parts]
    yield from named.problems(columns)
    for value in values:
        if isinstance(value, KeyOfRow) and value.column:
            yield from _Named(tables[value.key_of], [value.column], may_come_later=True).problems(columns)


def _table_of(rule: EffectRule) -> str:
    return rule.added or rule.removed or rule.changed


def _of_noise(noise: Sequence[str], columns: Columns) -> Iterator[str]:
    for number, pattern in enumerate(noise):
        table, _, column = pattern.rpartition(".")
        named = _Named(table, [column]) if table in columns else _Named(pattern, [], may_come_later=True)
        if any(fnmatchcase(name, pattern) for name in _full_names(columns)):
            continue
        for problem in named.problems(columns):
            yield f"state.noise.{number}: {problem}"


def _full_names(columns: Columns) -> Iterator[str]:
    for table, names in columns.items():
        yield table
        yield from (f"{table}.{name}" for name in names or ())
