"""Questions about pages of applications: each can be answered from the page, and from nothing else."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from components.agent.grammar import parse_response
from components.browser.elements import parse_elements
from components.training.application_pages import random_phrase
from components.training.application_questions import ask_on_application

TABLE = [
    '- field "Search" 500 40',
    '- select "Status" value "Open" options "Open | Closed | On hold" 300 100',
    '- link "Blue rope" 200 300',
    '- button "Remove" 900 301',
    '- link "Red rope" 200 360',
    '- button "Remove" 900 359',
    "(more below: 1.0 screens)",
]
CARDS = [
    '- link "Bell" 100 200',
    '- link "Lamp" 400 200',
    '- button "Add" 100 300',
    '- button "Add" 400 300',
    '- link "Mast" 100 600',
    '- link "Oar" 400 600',
    '- button "Add" 100 700',
    '- button "Add" 400 700',
]


def clicks(lines: list[str], name: str) -> dict[str, set[tuple[int, int]]]:
    """Where questions click the buttons of a name, by the label that the question gives."""
    rng, out = random.Random(1), {}
    labels = [line.name for line in parse_elements("\n".join(lines)) if line.role == "link"]
    for question in ask_on_application(lines, rng, 2000):
        calls = parse_response(question.response).calls
        named = [label for label in labels if label in question.instruction]
        if name in question.instruction and len(named) == 1 and len(calls) == 1 and calls[0].name == "click":
            out.setdefault(named[0], set()).add((calls[0].arguments["x"], calls[0].arguments["y"]))
    return out


def test_a_repeated_button_is_named_by_its_row() -> None:
    points = clicks(TABLE, "Remove")
    buttons = {label: {point for point in where if point[0] == 900} for label, where in points.items()}
    assert buttons == {"Blue rope": {(900, 301)}, "Red rope": {(900, 359)}}


def test_a_repeated_button_is_named_by_its_card() -> None:
    points = clicks(CARDS, "Add")
    buttons = {label: {point for point in where if point[1] in (300, 700)} for label, where in points.items()}
    assert buttons == {"Bell": {(100, 300)}, "Lamp": {(400, 300)}, "Mast": {(100, 700)}, "Oar": {(400, 700)}}


def test_an_option_is_chosen_in_the_select_that_has_it() -> None:
    chosen = set()
    for question in ask_on_application(TABLE, random.Random(1), 500):
        calls = parse_response(question.response).calls
        if calls[0].arguments == {"x": 300, "y": 100} and [call.name for call in calls] == ["click", "write"]:
            assert calls[1].arguments["text"] in question.instruction
            chosen.add(calls[1].arguments["text"])
    assert chosen == {"Open", "Closed", "On hold"}


@st.composite
def pages(draw: st.DrawFn) -> list[str]:
    """Element lists with labels as pages of applications have them."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    names = [random_phrase(rng).replace('"', "") for _ in range(6)]
    lines = []
    for _ in range(draw(st.integers(1, 40))):
        role, x, y = rng.choice(["button", "link", "field", "tab", "select"]), rng.randrange(20), rng.randrange(20)
        options = ' options "a | b"' if role == "select" else ""
        lines.append(f'- {role} "{rng.choice(names)}"{options} {50 * x} {50 * y}')
    return lines


@given(pages(), st.integers(0, 10**6))
def test_each_answer_acts_on_elements_that_the_question_names(lines: list[str], seed: int) -> None:
    places = {(line.x, line.y): line for line in parse_elements("\n".join(lines))}
    for question in ask_on_application(lines, random.Random(seed), 8):
        response = parse_response(question.response)
        assert response.error is None
        for call in response.calls:
            if call.name == "click":
                assert (call.arguments["x"], call.arguments["y"]) in places
            elif call.name == "write":
                assert call.arguments["text"] in question.instruction
