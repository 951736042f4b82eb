"""Questions in sentences: each can be answered from the page, and its thought quotes what sentence and name share."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from components.agent.grammar import parse_response
from components.browser.elements import parse_elements
from components.training.sentence_pages import random_title, sentence_page
from components.training.sentence_questions import ask_in_sentences

MENU = [
    '- link "Lock topic" 300 100',
    '- link "Change to sticky topic" 300 150',
    '- link "Move topic" 300 200',
    '- checkbox "Select “Re: Two oars, 14 mm”" 20 300',
    '- checkbox "Select “Re: Two ropes”" 20 340',
]
CART = [
    '- link "Blue rope, 14 mm" 100 200',
    '- link "Remove" 500 240',
    '- link "Red rope" 100 300',
    '- link "Remove" 500 340',
    '- link "Help page" 100 900',
]
QUOTED = re.compile(r'for "([^"]*)": click (\w+) "(.*)" (\d+) (\d+)')


def quotations(lines: list[str], count: int = 3000) -> dict[str, set[str]]:
    """What thoughts quote, by the name of the element that they click."""
    out: dict[str, set[str]] = {}
    for question in ask_in_sentences(lines, random.Random(1), count):
        if found := QUOTED.match(parse_response(question.response).thought):
            assert found[1][1:] in question.instruction
            out.setdefault(found[3], set()).add(found[1].lower())
    return out


def test_a_part_that_one_name_alone_has_means_its_element():
    found = quotations(MENU)
    assert found["Lock topic"] == {"lock", "lock topic"}
    assert "sticky topic" in found["Change to sticky topic"]
    assert {"oars", "two oars", "14 mm"} <= found["Select “Re: Two oars, 14 mm”"]
    assert not {"topic", "select", "re", "two"} & {part for parts in found.values() for part in parts}


def test_an_article_and_a_button_mean_the_button_below_the_article():
    points = {}
    for question in ask_in_sentences(CART, random.Random(1), 3000):
        calls = parse_response(question.response).calls
        labels = [label for label in ("Blue rope, 14 mm", "Red rope") if f'"{label}"' in question.instruction]
        if len(calls) == 1 and calls[0].arguments.get("x") == 500 and len(labels) == 1:
            assert "remove" in question.instruction.lower()
            points.setdefault(labels[0], set()).add(calls[0].arguments["y"])
    assert points == {"Blue rope, 14 mm": {240}, "Red rope": {340}}


def test_words_that_several_names_have_stand_beside_the_part():
    asked = [q.instruction for q in ask_in_sentences(MENU, random.Random(1), 3000)]
    beside = [text for text in asked if re.search(r"\bsticky\b(?! topic).*\btopic\b", text)]
    assert beside
    assert not [text for text in beside if re.search(r"\b(lock|move)\b", text, re.IGNORECASE)]


@given(st.integers(0, 10**6))
def test_titles_and_pages_can_be_read_back(seed: int) -> None:
    rng = random.Random(seed)
    assert '"' not in random_title(rng)
    page = sentence_page(rng)
    assert page.startswith("<body")
    assert page.endswith("</body>")
    assert page.count("<body") == 1


@given(st.lists(st.sampled_from([*MENU, *CART]), min_size=1, unique=True), st.integers(0, 10**6))
def test_each_answer_acts_on_an_element_of_the_page(lines: list[str], seed: int) -> None:
    places = {(line.x, line.y) for line in parse_elements("\n".join(lines))}
    for question in ask_in_sentences(lines, random.Random(seed), 8):
        response = parse_response(question.response)
        assert response.error is None
        for call in response.calls:
            assert call.name != "click" or (call.arguments["x"], call.arguments["y"]) in places
