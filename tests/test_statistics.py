"""Records of figures with intervals, with numbers worked out by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from components.statistics import Estimate, Interval, SuccessRate, bootstrap_mean, success_rate, wilson


def test_an_interval_is_a_list_of_two_numbers_in_json():
    rate = SuccessRate(rate=0.5, n=4, ci95=Interval(0.25, 0.75))
    assert json.loads(rate.model_dump_json()) == {"rate": 0.5, "n": 4, "ci95": [0.25, 0.75]}
    assert Estimate.model_validate_json('{"value": 0.5, "ci95": [0.25, 0.75]}').ci95 == Interval(0.25, 0.75)


def test_a_success_rate_is_the_mean_over_tasks_with_their_bootstrap():
    scores_N = np.array([1.0, 0.0, 0.5, 0.5])
    rate = success_rate(scores_N, 1000, 0)
    assert (rate.rate, rate.n) == (0.5, 4)
    assert rate.ci95 == bootstrap_mean(scores_N, 1000, 0)
    assert rate.ci95.low < 0.5 < rate.ci95.high


def test_equal_scores_have_no_width_in_the_bootstrap_but_in_wilson():
    assert bootstrap_mean(np.array([1.0, 1.0, 1.0]), 100, 0) == Interval(1.0, 1.0)
    assert wilson(1.0, 3).low == pytest.approx(0.4385, abs=1e-4)
