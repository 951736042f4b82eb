from __future__ import annotations

import pytest

from components.judge import agreement
from components.records import Outcome

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR


def test_agreement_is_the_one_worked_out_by_hand() -> None:
    labels = [S, S, S, F, F, F, F, F]
    said = [S, S, F, S, F, F, F, F]
    result = agreement(labels, said)
    assert result.confusion.model_dump() == {"tp": 2, "fp": 1, "tn": 4, "fn": 1}
    assert result.accuracy == 6 / 8
    assert result.precision == result.recall == pytest.approx(2 / 3)
    assert result.f1 == pytest.approx(2 / 3)
    assert result.majority_accuracy == 5 / 8
    assert (result.n, result.unparsed) == (8, 0)


def test_unreadable_verdicts_do_not_raise_the_agreement() -> None:
    result = agreement([S, S, F, F], [S, U, U, E])
    assert result.confusion.model_dump() == {"tp": 1, "fp": 2, "tn": 0, "fn": 1}
    assert (result.accuracy, result.unparsed) == (0.25, 3)
    assert (result.precision, result.recall) == (pytest.approx(1 / 3), 0.5)


def test_a_judge_that_never_says_success_has_zero_precision_and_no_crash() -> None:
    result = agreement([S, F, F], [F, F, F])
    assert (result.precision, result.recall, result.f1) == (0.0, 0.0, 0.0)
    assert result.accuracy == result.majority_accuracy == pytest.approx(2 / 3)


def test_incomparable_verdicts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        agreement([], [])
    with pytest.raises(ValueError, match="at least one"):
        agreement([S], [S, F])
    with pytest.raises(ValueError, match="held-out set"):
        agreement([U], [S])
