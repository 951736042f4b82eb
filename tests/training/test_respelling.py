"""Words of a page and of the questions about it are replaced, and every question keeps its answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from components.agent.grammar import ToolCall, format_call, format_response, parse_response
from components.browser.elements import parse_elements
from components.training.questions import Question
from components.training.respelling import respell, word_pieces
from components.training.sentence_pages import random_title
from components.training.sentence_questions import ask_in_sentences

PAGE = [
    '- field "Search" value "old name" 300 40',
    '- link "Lock topic" 300 100',
    '- link "Change to sticky topic" 300 150',
    '- checkbox "Select “Re: Two oars, 14 mm”" checked 20 300',
    '- link "Blue rope, 14 mm" 100 400',
    '- button "Remove" 500 440',
    '- link "Click: text arguments" 100 500',
    '- button "Remove" 500 540',
    '- select "Kind of topic" value "Sticky" options "Sticky | Normal | 3 more" 300 600',
]
PIECES = ["ell", "oon", "ar", "qu", "tion", "m", "ix", "ve"]


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained("data/city_base_model")


def test_pieces_are_all_letter_tokens_of_the_vocabulary(tokenizer):
    pieces = word_pieces(tokenizer)
    assert {"ell", "oon", "ew"} <= {*pieces}
    assert all(piece.isalpha() and piece == piece.lower() for piece in pieces)
    assert len(pieces) > 800


@pytest.mark.slow
def test_new_names_have_tokens_that_generated_titles_never_have(tokenizer):
    rng = random.Random(1)
    ell = tokenizer.convert_tokens_to_ids("ell")
    assert ell in tokenizer("Farewell")["input_ids"]
    assert all(ell not in tokenizer(random_title(rng))["input_ids"] for _ in range(2000))
    seen: set[int] = set()
    for _ in range(600):
        lines, _ = respell(PAGE, [], rng, word_pieces(tokenizer), 1.0)
        seen |= {*tokenizer("\n".join(lines))["input_ids"]}
    assert ell in seen


def acts_on(call: ToolCall) -> tuple[str, object, object]:
    return call.name, call.arguments.get("x"), call.arguments.get("y")


@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.7, 1.0]))
def test_questions_keep_their_answers(seed: int, share: float):
    rng = random.Random(seed)
    asked = ask_in_sentences(PAGE, rng, 8)
    lines, questions = respell(PAGE, asked, rng, PIECES, share)
    before, after = parse_elements("\n".join(PAGE)), parse_elements("\n".join(lines))
    assert [(e.role, e.x, e.y, e.states) for e in before] == [(e.role, e.x, e.y, e.states) for e in after]
    assert len({e.name for e in before}) == len({e.name for e in after})
    assert after[5].name == after[7].name
    for old, new in zip(asked, questions, strict=True):
        was, now = parse_response(old.response), parse_response(new.response)
        assert now.error is None
        assert [acts_on(call) for call in was.calls] == [acts_on(call) for call in now.calls]
        for call in now.calls:
            if call.name == "write":
                assert call.arguments["text"] in new.instruction
            if call.name == "click":
                place = call.arguments["x"], call.arguments["y"]
                named, renamed = (next(e for e in page if (e.x, e.y) == place) for page in (before, after))
                assert (named.words in was.thought) == (renamed.words in now.thought)


def test_a_share_of_one_replaces_all_words_but_those_of_the_form():
    writes = Question("write", format_response("write", [format_call("write", text="oars")]))
    lines, _ = respell(PAGE, [writes], random.Random(1), PIECES, 1.0)
    names = " ".join(line.name for line in parse_elements("\n".join(lines)))
    assert not {"Lock", "topic", "sticky", "Remove", "rope"} & {*names.split()}
    assert lines[6].endswith(' text arguments" 100 500'), "words of a call stay, so that the responses can be read"
    assert lines[8].endswith('3 more" 300 600')


def test_with_no_share_nothing_changes():
    asked = ask_in_sentences(PAGE, random.Random(1), 8)
    assert respell(PAGE, asked, random.Random(1), PIECES, 0.0) == (PAGE, asked)
