"""An oracle's steps on a site that shows other words than usual: in another language, or with other labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from components.worlds.oracle import Step
from components.worlds.target import is_match

CUT_AT = 57
"""Characters of a long name in an element list, before `...` (`quoted` in `components/browser/controls.js`)."""


def is_match_of_label(pattern: str, label: str) -> bool:
    """Whether a target's pattern matches a label, also one that a colon or further words follow."""
    return any(is_match(pattern, text) for text in (label, f"{label}:", f"{label} "))


def reworded(steps: Sequence[Step], labels: Mapping[str, str], options: Mapping[str, str]) -> list[Step]:
    """The steps for a site that shows other words.

    Args:
        labels: the text that is shown for buttons, links and fields, by the usual text. The usual one is accepted too.
        options: the same for the options of selects.
    """
    return [_reworded(step, labels, options) for step in steps]


def _reworded(step: Step, labels: Mapping[str, str], options: Mapping[str, str]) -> Step:
    target = step.target
    if target is None:
        return step
    if target.role == "select" and step.text in options and not step.is_data:
        step = step.with_text(options[step.text])
    name, after, level_with = (_pattern(text, labels) for text in (target.name, target.after, target.level_with))
    value = _pattern(target.value, options)
    return replace(step, target=replace(target, name=name, after=after, level_with=level_with, value=value))


def _pattern(pattern: str, words: Mapping[str, str]) -> str:
    """A pattern that matches what it matched, and the shown text of each usual text that it matches, also if the list
    cuts it."""
    if pattern in ("", ".*"):
        return pattern
    rest = ".*" if pattern.endswith(".*") else "[:.\N{HORIZONTAL ELLIPSIS} *]*"
    shown = sorted({new for usual, new in words.items() if is_match_of_label(pattern, usual)})
    cut = [re.escape(f"{new[:CUT_AT]}...") for new in shown if len(new) >= CUT_AT]
    return "|".join(f"(?:{text})" for text in [pattern, *(f"{re.escape(new)}{rest}" for new in shown), *cut])
