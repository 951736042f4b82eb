"""The steps of an oracle as `site.yaml` has them: their keys, and the elements that they name."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import PlainValidator

from components.browser import written_name
from components.worlds.oracle import (
    Step,
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
from components.worlds.target import Target


def steps_of(raw: Sequence[dict[str, Any]], facts: Facts, origin: str) -> list[Step]:
    """The steps of one task.

    Raises:
        ValueError: a text names a parameter that does not exist, or a step has no known form with it.
    """
    return [parsed(_filled(step, facts), origin) for step in raw]


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
    ((kind, value),) = raw.items()
    if isinstance(value, dict) and "{" in str(value.get("number")):
        value = {**value, "number": 0}  # it is known when the parameter is filled in
    try:
        parsed({kind: value})
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


def _filled(step: dict[str, Any], facts: Facts) -> dict[str, Any]:
    return {kind: address(value, facts) if kind == "goto" else formatted(value, facts) for kind, value in step.items()}


def parsed(raw: Mapping[str, Any], origin: str = "") -> Step:
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
    place: dict[str, Any] = {"number": _number(fields.get("number", 0))}
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
        f"the step {dict(raw)!r} is none of `click: button Save`, "
        "`click: {role: button, name: Save, after: …}`, `fill: {field: …, text: …}`, "
        "`choose: {select: …, option: …}`, `press: [Enter]`, `goto: /path`, `back:`, "
        "`scroll: {direction: down, amount: 0.5}`, `switch_tab: 1`, `new_tab:`, `close_tab:`"
    )


def _number(value: object) -> int:
    """Which of several elements.

    Raises:
        ValueError: it is no whole number.
    """
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value).strip()):
        raise ValueError(f"number is a whole number, or a parameter that has one, not {value!r}")
    return int(str(value))


def _pattern(name: str) -> str:
    """The regular expression of a literal name, as an element list writes it, in which `*` stands for any text."""
    forms = {written_name(name): None}
    if "*" in name:
        forms[written_name(name, is_cut=False)] = None  # how much of it the list cuts depends on the page
    return "|".join(".*".join(re.escape(part) for part in form.split("*")) for form in forms)
