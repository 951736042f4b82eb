"""Numbers land where they belong on a chart."""

from __future__ import annotations

import pytest

from components.reports.charts import line_chart, ticks
from components.reports.formats import duration, number
from components.reports.rl_validation import ValidationRow, WatchedPhase, validation_chart
from components.statistics import Interval, SuccessRate


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.5, 1.0]),
        (0, 0.79, [0, 0.2, 0.4, 0.6, 0.8]),
        (0, 37, [0, 10, 20, 30, 40]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0.998, 1.002, [0.998, 0.999, 1.0, 1.001, 1.002]),
    ],
)
def test_ticks_are_round_and_cover_the_range(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_values_are_scaled_into_the_box():
    # plot area: x 44 to 328, y 146 (0) to 12 (10)
    chart = line_chart("t", [0, 1, 2], {"a": [0, 5, 10]})
    assert chart.series[0].segments == ["44.0,146.0 186.0,79.0 328.0,12.0"]


def test_a_missing_value_breaks_the_line():
    chart = line_chart("t", [0, 1, 2, 3], {"a": [1, None, float("nan"), 2]})
    assert len(chart.series[0].segments) == 2


def test_a_phase_without_iterations_is_drawn_where_it_begins():
    def validated(*iterations: int) -> WatchedPhase:
        success = SuccessRate(rate=0.5, n=4, ci95=Interval(0.4, 0.6))
        return WatchedPhase(validation=[ValidationRow(iteration=at, success=success, seconds=1) for at in iterations])

    def places(phases: dict[str, WatchedPhase], iterations: list[str]) -> list[str]:
        return [dot.title for dot in validation_chart(phases, iterations).series[0].dots]

    phases = {"short": validated(0, 4), "long": validated(0)}
    assert places(phases, ["short"] * 4) == [f"validation at {at}: 0.5" for at in (0, 4, 4)]
    phases = {"short": validated(0), "long": validated(0, 3)}
    assert places(phases, ["long"] * 3) == [f"validation at {at}: 0.5" for at in (0, 0, 3)]


def test_no_data_gives_no_chart():
    assert line_chart("t", [0, 1], {"a": [None, float("nan")]}) is None


@pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 1e-7])
def test_a_constant_series_is_drawn(value):
    chart = line_chart("t", [0, 1], {"a": [value, value]})
    assert all(12 <= dot.y <= 146 for dot in chart.series[0].dots)


def test_a_single_point_is_drawn():
    assert len(line_chart("t", [1], {"a": [0.5]}).series[0].dots) == 1


def test_labels_of_ticks_are_distinct():
    chart = line_chart("t", [0, 1], {"a": [0.998, 1.002]}, zero=False)
    assert [tick.label for tick in chart.ticks_y] == ["0.998", "0.999", "1.000", "1.001", "1.002"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.94, "59.9 s"), (59.97, "1 min 0 s"), (119.7, "2 min 0 s"), (3599.7, "1 h 0 min"), (7199.0, "1 h 59 min")],
)
def test_a_duration_has_no_60_seconds_in_it(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (999.4, "999"),
        (999.7, "1,000"),
        (-999.7, "-1,000"),
        (0, "0"),
        (0.5, "0.5"),
        (1234.5, "1,234"),
        (0.00002, "2e-05"),
        (12.34, "12.3"),
    ],
)
def test_numbers_are_short(value, label):
    assert number(value) == label
