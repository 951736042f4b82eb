"""The papers' rows, against their own text where it is here: nothing on the board that no paper printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.evaluation.taxonomy import PUBLISHED
from components.reports import published

TEXTS = Path(__file__).parents[3] / "shared" / "papers"
FILES = {
    "OpenWebRL": "000_3a64cacb8e633673.txt",
    "WebGym": "001_b148a32ba4cde705.txt",
    "WebAgent-R1": "002_d46347ee49200b79.txt",
    "BrowserAgent": "003_a5be68becc1446a2.txt",
}


def test_the_four_papers_have_rows_and_name_what_is_missing():
    assert {row.paper for row in published.rows()} == set(FILES)
    assert {line.partition(":")[0] for line in published.left_out()} == set(FILES)


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the papers are not here")
@pytest.mark.parametrize("paper", FILES)
def test_every_value_stands_in_the_papers_text(paper):
    text = (TEXTS / FILES[paper]).read_text()
    digits = {3: "{:.3f}", 1: "{:.1f}", 0: "{:.0f}"}
    missing = [
        (row.source, row.model, value)
        for row in published.rows()
        if row.paper == paper
        for value in row.values.values()
        if value is not None and not any(form.format(value) in text for form in digits.values())
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("paper", "number", "metric", "rows"),
    [
        ("OpenWebRL", "2", "success", 22),
        ("OpenWebRL", "3", "judge agreement", 8),
        ("OpenWebRL", "4", "success", 6),
        ("OpenWebRL", "9", "judge agreement", 7),
        ("WebGym", "2", "success", 6),
        ("WebGym", "3", "success", 5),
        ("WebGym", "4", "success", 19),
        ("WebAgent-R1", "2", "success", 16),
        ("WebAgent-R1", "3", "success", 6),
        ("BrowserAgent", "2", "success", 13),
        ("BrowserAgent", "4", "success", 3),
        ("BrowserAgent", "5", "steps", 3),
        ("BrowserAgent", "6", "success", 4),
    ],
)
def test_a_table_has_all_its_rows(paper, number, metric, rows):
    assert len(published.table(paper, number, metric)) == rows


def test_averages_are_those_of_their_rows():
    for row in (*published.table("OpenWebRL", "2", "success"), *published.table("BrowserAgent", "2", "success")):
        values = [value for column, value in row.values.items() if column != published.AVERAGE and value is not None]
        if row.values[published.AVERAGE] is not None:
            rounding = 0.0021 if row.unit == "share" else 0.11
            assert row.values[published.AVERAGE] == pytest.approx(sum(values) / len(values), abs=rounding), row.model


def test_a_share_is_between_0_and_1_whatever_the_unit():
    rows = {row.model: row for row in (*published.table("OpenWebRL", "2", "success"),)}
    assert rows["OpenWebRL-4B"].share("webvoyager-595") == pytest.approx(0.741)
    assert rows["Holo1-7B"].share("deepshop") is None
    em = published.table("BrowserAgent", "2", "success")[0]
    assert em.share("nq") == 0.134
    with pytest.raises(ValueError, match="table 5 is in steps"):
        published.table("BrowserAgent", "5", "steps")[0].share("nq")


def test_the_taxonomys_shares_are_the_papers():
    (row,) = published.table("OpenWebRL", "E", "failures")
    assert {group: value / 100 for group, value in row.values.items()} == PUBLISHED
    assert row.source == "OpenWebRL, appendix E"


def test_the_shape_table_names_rows_that_are_there():
    assert [row.model for row in published.shape()] == list(published.SHAPE)
    assert [row.values["average"] for row in published.shape()] == [39.3, 52.0, 68.4, 48.0, 56.7, 68.7]


def test_every_benchmark_of_the_papers_can_be_run_here():
    columns = {name for row in published.rows() for name in row.values if row.metric == "success" and "/" not in name}
    recipes = {path.stem for path in (Path(__file__).parents[2] / "recipes/benchmarks").glob("*.yaml")}
    assert columns - {published.AVERAGE} <= recipes
