from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import rules_verdict
from components.judge.rules import score_answer
from components.judge.rules.qa import normal
from components.records import Outcome
from tests.judge.webarena_episodes import PUBLISHED
from tests.samples import a_task, a_trajectory

NQ = PUBLISHED / "browseragent_nq_dev.parquet"


@pytest.mark.parametrize(
    ("answer", "golden", "exact"),
    [
        ("Edward IV of England", ["Edward IV of England"], True),
        ("  edward iv  of england.", ["Edward IV of England"], True),
        ("The Beatles", ["Beatles"], True),
        ("September 1, 1986", ["September 1 1986"], True),
        ("U.S.", ["US"], True),
        ("b", ["a", "b"], True),
        ("King Edward IV", ["Edward IV of England"], False),  # the paper's own example of what EM does not see
        ("silent", ["listen"], False),
        ("1991", ["1919"], False),
        ("nobody knows", ["no"], False),
        ("London", ["東京"], False),
        ("東京", ["東京"], True),
        ("Peter Schoffer", ["Peter Schöffer"], False),
        ("", ["?"], False),
        ("The The", ["The The"], True),
        ("a", ["The The"], False),
        ("-5", ["5"], False),
        ("5", ["-5"], False),
        ("15", ["1.5"], False),
        ("7-0", ["70"], False),
        ("1,006", ["1006"], True),
        ("12–13", ["12-13"], True),
        ("11/1", ["1/11"], False),
        ("22-2", ["2-22"], False),
        ("2-22", ["22-2", "2–22"], True),
        ("€5", ["$5"], False),
        ("5 $", ["$5"], True),
        ("5%", ["5"], False),
        (">5", ["<5"], False),
        ("≥ 5", ["> 5"], False),
        ("C", ["C++"], False),
        ("N/A", ["Na"], False),
        ("n/a.", ["Na", "sodium"], False),
        ("N/A", ["N/A"], True),
        ("Na", ["Na"], True),
        ("١٩١٩", ["1919"], True),
    ],
)
def test_exact_match_compares_normalised_answers(answer, golden, exact):
    assert score_answer(answer, golden).exact is exact


def test_contains_and_f1_are_those_worked_out_by_hand():
    scores = score_answer("King Edward IV", ["Edward IV of England", "Edward IV"])
    # of the words king, edward, iv two are in "edward iv": precision 2/3, recall 1
    assert (scores.exact, scores.contains) == (False, True)
    assert scores.f1 == pytest.approx(0.8)
    assert score_answer("x", ["y"]).f1 == 0


TEXT = st.text(st.sampled_from("aAn the.,'!éß東1 ") | st.characters(codec="utf-8"), max_size=12)


@given(TEXT)
def test_normalising_twice_changes_nothing(text):
    assert normal(normal(text)) == normal(text)


@given(TEXT, st.lists(TEXT, max_size=2))
def test_a_golden_answer_is_right_by_all_scores(text, others):
    scores = score_answer(text, [*others, text])
    assert scores.exact
    assert scores.contains
    assert scores.f1 == (1 if normal(text) else scores.f1)


@given(st.permutations("listen"))
def test_only_the_word_itself_is_right_among_its_anagrams(letters):
    word = "".join(letters)
    assert score_answer(word, ["listen"]).exact == (word == "listen")


def verdict(answer: str, golden: list[str]):
    task = a_task(evaluator={"type": "qa", "answers": golden})
    return rules_verdict(a_trajectory(task, answer=answer))


def test_the_verdict_is_exact_match():
    right, wrong = verdict("Yuzuru Hanyu.", ["Yuzuru Hanyu"]), verdict("It was Yuzuru Hanyu", ["Yuzuru Hanyu"])
    assert (right.outcome, wrong.outcome) == (Outcome.SUCCESS, Outcome.FAILURE)
    assert right.judge_version == wrong.judge_version == "qa-em-6"
    assert wrong.rationale.endswith("; the answer is not the one that was asked for")
    assert "Hanyu" not in right.rationale


@pytest.mark.skipif(not Path(NQ).exists(), reason="the published file is not here")
def test_each_published_question_is_right_by_its_own_answers_alone():
    rows = pq.read_table(NQ).to_pylist()
    assert len(rows) == 300
    for row in rows:
        for golden in row["golden_answers"]:
            assert verdict(golden, row["golden_answers"]).outcome is Outcome.SUCCESS
        assert verdict("", row["golden_answers"]).outcome is Outcome.FAILURE
    crossed = sum(
        score_answer(row["golden_answers"][0], other["golden_answers"]).exact
        for row in rows
        for other in rows
        if row is not other
    )
    assert crossed < 20
