from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.tasks import dedup, embed
from components.tasks.dedup import _bounds, similar_pairs

ROOT = Path(__file__).parents[2]
WEBSITES = ("a.example", "b.example")


def naive(vectors_NE: np.ndarray, threshold: float, max_similar: int = 1, groups: list[str] | None = None) -> list[int]:
    """The obvious loop, with products as the real numbers that they are."""
    exact = [[Fraction(float(value)) for value in row] for row in vectors_NE]
    kept: list[int] = []
    for i in range(len(exact)):
        others = [j for j in kept if groups is None or groups[i] == groups[j]]
        near = [j for j in others if sum(a * b for a, b in zip(exact[i], exact[j], strict=True)) > threshold]
        if len(near) < max_similar:
            kept.append(i)
    return kept


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(count: int, clusters: int, width: int, seed: int) -> np.ndarray:
    """Rows around random directions, with cosines of about 0.9 in a cluster, and every tenth row once more."""
    rng = np.random.default_rng(seed)
    centres = unit(rng.standard_normal((clusters, width)))[rng.integers(0, clusters, count)]
    rows = unit(centres + rng.standard_normal((count, width)) * 0.34 / width**0.5)
    rows[9::10] = rows[: len(rows[9::10])]
    return rows


@settings(max_examples=100)
@given(
    count=st.integers(1, 40),
    seed=st.integers(0, 10_000),
    threshold=st.floats(-0.5, 1.01),
    max_similar=st.integers(1, 4),
    per_group=st.booleans(),
    block=st.integers(1, 9),
    chunk=st.integers(1, 9),
)
def test_dedup_in_blocks_is_the_naive_loop(
    count: int, seed: int, threshold: float, max_similar: int, per_group: bool, block: int, chunk: int
) -> None:
    rng = np.random.default_rng(seed)
    vectors_NE = unit(rng.normal(size=(count, 3)))
    groups = [WEBSITES[index] for index in rng.integers(0, 2, size=count)] if per_group else None
    expected = naive(vectors_NE, threshold, max_similar, groups)
    assert dedup(vectors_NE, threshold, max_similar, groups, block, chunk) == expected


@pytest.mark.slow
@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), block=st.integers(1, 9), chunk=st.integers(1, 9))
def test_a_product_at_the_threshold_is_decided_as_a_real_number(seed: int, block: int, chunk: int) -> None:
    """The threshold is the product of two of the rows, rounded to float64, and then its two neighbours; float32 cannot
    tell one from the other."""
    vectors_NE = clustered(30, 4, 16, seed)
    product = float(vectors_NE[0].astype(np.float64) @ vectors_NE[1].astype(np.float64))
    for threshold in (product, np.nextafter(product, 2), np.nextafter(product, -2)):
        assert dedup(vectors_NE, float(threshold), 1, None, block, chunk) == naive(vectors_NE, float(threshold))


@pytest.mark.parametrize("max_similar", [1, 3])
@pytest.mark.parametrize("threshold", [0.6, 0.88, 0.9])
def test_bounds_on_few_columns_lose_no_pair(threshold: float, max_similar: int) -> None:
    """Enough rows that products are of few columns, held to the loop in float64 (no product is within its rounding)."""
    vectors_NE = clustered(5000, 500, 96, seed=1)
    assert _bounds(vectors_NE, threshold).rows_NP.shape[1] < 96
    exact_NE, kept_NE, kept = vectors_NE.astype(np.float64), np.empty((5000, 96)), []
    for index, row in enumerate(exact_NE):
        if (kept_NE[: len(kept)] @ row > threshold).sum() < max_similar:
            kept_NE[len(kept)] = row
            kept.append(index)
    assert 400 < len(kept) < 4500
    for block, chunk in ((1024, 2048), (200, 130)):
        assert dedup(vectors_NE, threshold, max_similar, None, block, chunk) == kept


def test_similar_pairs_are_exact_below_the_rounding_of_float64() -> None:
    big, small = np.float32(0.5), np.float32(2.0**-60)
    x = np.array([[big, small], [big, -small], [big, 0]], dtype=np.float32)
    y = np.array([[big, big]] * 3, dtype=np.float32)  # products: 0.25 + 2^-61, 0.25 - 2^-61, 0.25
    assert similar_pairs(x, y, 0.25).tolist() == [True, False, False]


def make(count: int) -> np.ndarray:
    return np.tile(np.array([[1, 0]], dtype=np.float32), (count, 1))


def test_the_papers_rule_keeps_the_first_of_near_duplicates() -> None:
    vectors_NE = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)  # cosines: 0-1 0.8, 1-2 0.6, 0-2 0
    assert dedup(vectors_NE, threshold=0.7) == [0, 2]
    assert dedup(vectors_NE, threshold=0.5) == [0, 2]  # 1 is gone, so 2 has no kept neighbour
    assert dedup(vectors_NE, threshold=0.9) == [0, 1, 2]


def test_max_similar_counts_the_kept_neighbours_that_are_allowed() -> None:
    assert dedup(make(5), threshold=0.9, max_similar=3) == [0, 1, 2]


def test_only_rows_of_a_group_are_compared() -> None:
    assert dedup(make(4), threshold=0.9, groups=["a", "b", "a", "b"]) == [0, 1]


def test_a_threshold_above_one_keeps_everything() -> None:
    assert dedup(make(5), threshold=1.01) == [0, 1, 2, 3, 4]


def test_a_wrong_table_of_embeddings_is_refused() -> None:
    with pytest.raises(ValueError, match="finite float32"):
        dedup(np.full((2, 4), np.nan, dtype=np.float32), 0.9)
    with pytest.raises(ValueError, match="finite float32"):
        dedup(np.zeros((2, 4)), 0.9)
    with pytest.raises(ValueError, match="3 rows need as many groups"):
        dedup(make(3), 0.9, groups=["a"])


def test_minilm_puts_a_paraphrase_nearer_than_another_task(tmp_path: Path) -> None:
    texts = [
        "Find a cheap flight from Paris to Rome.",
        "Search for low-cost flights to Rome from Paris.",
        "Read the poem of the day.",
    ]
    vectors_NE = embed([*texts, texts[0]], "minilm", cache=tmp_path)
    assert vectors_NE.shape == (4, 384)
    assert vectors_NE.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors_NE, axis=1), 1, atol=1e-5)
    assert vectors_NE[0] @ vectors_NE[1] > 0.8 > 0.3 > vectors_NE[0] @ vectors_NE[2]
    np.testing.assert_array_equal(vectors_NE[0], vectors_NE[3])


def test_a_text_is_embedded_once_in_any_list_of_texts(tmp_path: Path) -> None:
    first = embed(["one", "two"], "minilm", cache=tmp_path)
    (file,) = tmp_path.rglob("*.npy")
    np.save(file, first[::-1])
    np.testing.assert_array_equal(embed(["one", "two"], "minilm", cache=tmp_path), first[::-1])
    again = embed(["two", "three", "two", "one"], "minilm", cache=tmp_path)
    np.testing.assert_array_equal(again[[0, 2, 3]], first[[0, 0, 1]])
    assert sorted(len(np.load(one)) for one in tmp_path.rglob("*.npy")) == [1, 2]
    assert not list(tmp_path.rglob("*.part"))


def test_a_shard_whose_process_was_killed_is_embedded_again(tmp_path: Path) -> None:
    first = embed(["one", "two"], "minilm", cache=tmp_path)
    (keys,) = tmp_path.rglob("*.keys")
    keys.unlink()
    np.testing.assert_allclose(embed(["one", "two"], "minilm", cache=tmp_path), first, atol=1e-6)


def test_an_empty_pool_is_refused_with_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="funnel"):
        embed([], "minilm", cache=tmp_path)


@pytest.mark.parametrize("data", ["spread", "crowded"])
def test_the_measurement_of_dedup_is_exact_and_ends_with_its_figures(data: str) -> None:
    few = ["--rows", "3000", "--loop-rows", "1000", "--all", "--data", data]
    ended = subprocess.run(
        [sys.executable, "-m", "perf.dedup", *few], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout.splitlines()[-1])
    assert {"rows", "seconds", "speedup", "peak_gib", "exact"} <= figures.keys()
    assert (figures["rows"], figures["checked"], figures["exact"]) == (3000, 3000, True)
    assert 0 < figures["kept"] < 3000
    assert figures["peak_gib"] < 3
