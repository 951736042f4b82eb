"""Questions about generated pages: whatever their wording, they can be answered from what is on the page."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from components.agent.grammar import parse_response
from components.browser.elements import parse_elements
from components.training.pages import WORDS, random_label
from components.training.questions import ask

FORMS = {"open"}
"""A word of the fixed wordings that a generated page may have as a label too."""

ROLES = ["button", "link", "field", "checkbox", "radio", "tab"]


@st.composite
def pages(draw: st.DrawFn) -> list[str]:
    """Element lists with labels as generated pages have them."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        x, y = rng.randrange(1000), rng.randrange(1000)
        role = rng.choice(ROLES)
        lines.append(f"- {role} {x} {y}" if role == "field" else f'- {role} "{random_label(rng)}" {x} {y}')
    return lines


@given(pages(), st.integers(0, 10**6))
def test_each_answer_is_a_readable_response_that_clicks_what_was_asked(lines, seed):
    rng = random.Random(seed)
    elements = {(element.x, element.y): element for element in parse_elements("\n".join(lines))}
    for question in ask(lines, rng, random_label(rng), 8, varied=True):
        response = parse_response(question.response)
        assert response.error is None
        for call in response.calls:
            if call.name == "click":
                element = elements[call.arguments["x"], call.arguments["y"]]
                assert not element.name or element.name in question.instruction
            elif call.name == "write":
                assert call.arguments["text"] in question.instruction


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8, unique=True), st.integers(0, 10**6))
def test_an_instruction_names_only_the_elements_to_click(names, seed):
    lines = [f'- button "{name}" {number} {number}' for number, name in enumerate(names)]
    for question in ask(lines, random.Random(seed), "Zub", 8, varied=True):
        calls = parse_response(question.response).calls
        if calls[0].name == "click":
            clicked = {names[call.arguments["x"]] for call in calls}
            assert set(re.findall(r"\w+", question.instruction)) & set(names) <= clicked | FORMS
