"""Names in plain texts: which marks on letters are accents."""

from __future__ import annotations

import unicodedata

import pytest

from components.worlds.answers import Names
from components.worlds.plain_text import plain


@pytest.mark.parametrize(("right", "wrong"), [("ハス", "バス"), ("मीना", "मोना"), ("राम", "रामा"), ("กา", "กี")])
def test_a_mark_that_makes_another_letter_is_no_accent(right: str, wrong: str) -> None:
    for form in ("NFC", "NFD"):
        answer = unicodedata.normalize(form, wrong)
        assert not Names([right], [right, wrong]).accepts(answer)
        assert not Names([right], [right]).accepts(answer)
        assert Names([wrong], [right, wrong]).accepts(f"{answer}.")
        assert not Names([right], [right], others=[wrong]).accepts(f"{right}, {answer}")


@pytest.mark.parametrize(
    ("text", "other"), [("José", "jose"), ("Ёлка", "елка"), ("Ὀδύσσεια", "οδυσσεια"), ("שָׁלוֹם", "שלום"), ("6️⃣ ♥️", "6")]
)
def test_accents_and_signs_on_other_characters_do_not_matter(text: str, other: str) -> None:
    assert plain(text) == other == plain(other)
