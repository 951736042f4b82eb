"""The steps of oracles in `site.yaml`: which elements of a page they name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from components.browser import Listed, written_name
from components.worlds.own_site.steps import OracleStep, steps_of
from components.worlds.own_site.texts import Facts

LONG = "Cordless drill with two batteries, a charger, nine bits and a case of steel"


def read_steps(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Steps as `site.yaml` is read."""
    return TypeAdapter(list[OracleStep]).validate_python([*steps])


def page(*names: str, role: str = "link") -> list[Listed]:
    """Lines of one role, each lower than the one before."""
    return [Listed(role, written_name(name), "", frozenset(), 10, 10 * at) for at, name in enumerate(names)]


def found(step: dict[str, Any], facts: Facts, lines: list[Listed]) -> int | None:
    """The place of the line that the step names; None if there is none."""
    ((target),) = [step.target for step in steps_of([step], facts, "http://notes.test")]
    assert target is not None
    line = target.among(lines)
    return None if line is None else lines.index(line)


@pytest.mark.parametrize(
    "name", ['Torque wrench 1/2"', LONG, f'{LONG[:56]}"""', "a  b\u200b", f"5*5 {LONG}", "\N{HAMMER}" * 40]
)
def test_an_oracle_names_an_element_as_the_data_do(name: str) -> None:
    lines = page("Tool shed", name, "My loans", *["Back"] * 2)
    assert found({"click": "link {tool}"}, {"tool": name}, lines) == 1
    assert found({"click": {"role": "link", "name": "Back", "after": "{tool}"}}, {"tool": name}, lines) == 3


@pytest.mark.parametrize("name", ["Cordless*", f"{LONG[:57]}*", "*with two*", "*..."])
def test_a_star_stands_for_any_text_of_a_long_name(name: str) -> None:
    assert found({"click": f"link {name}"}, {}, page("Tool shed", LONG)) == 1


def test_a_name_that_was_cut_is_no_other_one() -> None:
    assert found({"click": "link {tool}"}, {"tool": f"Other {LONG}"}, page(LONG)) is None


def test_a_parameter_may_be_the_number_of_an_element() -> None:
    step = {"click": {"role": "link", "name": "Back", "number": "{loan[row]}"}}
    assert read_steps(step) == [step]
    assert found(step, {"loan": {"row": 2}}, page("Tool shed", "Back", "Back", "Back")) == 3


@pytest.mark.parametrize("number", ["last", 1.5, True, "{loan[name]}"])
def test_a_number_that_is_none_is_refused(number: object) -> None:
    step = {"click": {"role": "link", "name": "Back", "number": number}}
    value = "Ladder" if number == "{loan[name]}" else number
    with pytest.raises(ValueError, match=f"number is a whole number, or a parameter that has one, not {value!r}"):
        steps_of(read_steps(step), {"loan": {"name": "Ladder"}}, "")
