from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.records import Task
from components.tasks import dedup, embed

WEBSITES = ("a.example", "b.example")


def make(count: int, websites: list[int] | None = None) -> list[Task]:
    names = [WEBSITES[index] for index in websites] if websites else ["a.example"] * count
    return [
        Task(task_id=str(i), intent=str(i), start_url="https://a.example/", website=name, source="test")
        for i, name in enumerate(names)
    ]


def naive(vectors_NE: np.ndarray, threshold: float, max_similar: int, websites: list[int]) -> list[int]:
    """The obvious loop, in float64."""
    kept: list[int] = []
    for i in range(len(vectors_NE)):
        near = [j for j in kept if websites[i] == websites[j] and float(vectors_NE[i] @ vectors_NE[j]) > threshold]
        if len(near) < max_similar:
            kept.append(i)
    return kept


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(1, 40),
    seed=st.integers(0, 10_000),
    threshold=st.floats(-0.5, 1.01),
    max_similar=st.integers(1, 4),
    per_website=st.booleans(),
    block=st.integers(1, 9),
    chunk=st.integers(1, 9),
)
def test_blocked_dedup_is_the_naive_loop(
    count: int, seed: int, threshold: float, max_similar: int, per_website: bool, block: int, chunk: int
) -> None:
    rng = np.random.default_rng(seed)
    vectors_NE = rng.normal(size=(count, 3)).astype(np.float32)
    vectors_NE /= np.linalg.norm(vectors_NE, axis=1, keepdims=True)
    exact_NE = vectors_NE.astype(np.float64)
    assume(np.abs(exact_NE @ exact_NE.T - threshold).min() > 1e-6)  # float32 may round either way at the threshold
    websites = rng.integers(0, 2, size=count).tolist()
    expected = naive(exact_NE, threshold, max_similar, websites if per_website else [0] * count)
    assert dedup(make(count, websites), vectors_NE, threshold, max_similar, per_website, block, chunk) == expected


def test_the_papers_rule_keeps_the_first_of_near_duplicates() -> None:
    vectors_NE = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)  # cosines: 0-1 0.8, 1-2 0.6, 0-2 0
    assert dedup(make(3), vectors_NE, threshold=0.7) == [0, 2]
    assert dedup(make(3), vectors_NE, threshold=0.5) == [0, 2]  # 1 is gone, so 2 has no kept neighbour
    assert dedup(make(3), vectors_NE, threshold=0.9) == [0, 1, 2]


def test_max_similar_counts_the_kept_neighbours_that_are_allowed() -> None:
    vectors_NE = np.tile(np.array([[1, 0]], dtype=np.float32), (5, 1))
    assert dedup(make(5), vectors_NE, threshold=0.9, max_similar=3) == [0, 1, 2]


def test_a_threshold_above_one_keeps_everything() -> None:
    vectors_NE = np.tile(np.array([[1, 0]], dtype=np.float32), (5, 1))
    assert dedup(make(5), vectors_NE, threshold=1.01) == [0, 1, 2, 3, 4]


def test_a_missing_embedding_is_refused() -> None:
    with pytest.raises(ValueError, match="3 tasks"):
        dedup(make(3), np.zeros((2, 4), dtype=np.float32), 0.9)


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


def test_cached_vectors_are_used_and_only_for_the_same_texts(tmp_path: Path) -> None:
    first = embed(["one", "two"], "minilm", cache=tmp_path)
    (file,) = tmp_path.rglob("*.npy")
    np.save(file, first[::-1])
    np.testing.assert_array_equal(embed(["one", "two"], "minilm", cache=tmp_path), first[::-1])
    np.testing.assert_allclose(embed(["two", "one"], "minilm", cache=tmp_path), first[::-1], atol=1e-6)
    assert len(list(tmp_path.rglob("*.npy"))) == 2


def test_an_empty_pool_is_refused_with_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="funnel"):
        embed([], "minilm", cache=tmp_path)
