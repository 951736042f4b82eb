"""Answers that the judge is to learn and its own limit on answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.judge.distilled import require_room, target
from components.model import VLM, Encoder
from components.params import parse
from components.records import Outcome, Verdict
from tests.samples import a_task, a_trajectory, a_verdict, shipped

ROOT = Path(__file__).parents[2]


def labels(*lengths: int) -> list[Verdict]:
    return [
        a_verdict(a_trajectory(a_task(index)), Outcome.FAILURE, rationale="click " * length)
        for index, length in enumerate(lengths)
    ]


def test_the_share_of_answers_that_would_be_cut_is_counted(encoder):
    given = labels(1, 1, 1, 60)
    longest = max(len(target(label, encoder)) for label in given)
    assert require_room(given, encoder, longest) == 0
    assert require_room(given, encoder, longest - 1) == 0.25
    assert require_room([], encoder, 1) == 0


def test_a_limit_that_cuts_most_answers_is_refused(encoder):
    given = labels(1, 60, 60, 60)
    longest = max(len(target(label, encoder)) for label in given)
    with pytest.raises(ValueError, match=rf"= 20 cuts 75% of the answers .* set it to at least {longest}"):
        require_room(given, encoder, 20)


def test_verdicts_that_are_not_learned_do_not_count(encoder):
    outage = labels(60)[0].model_copy(update={"outcome": Outcome.ERROR})
    assert require_room([outage], encoder, 1) == 0


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    params = parse(shipped("smoke"))
    return Encoder(VLM.load(str(ROOT / "data/base_model"), params.model))
