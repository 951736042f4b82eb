"""The sources of variance: worked out by hand, and found again in simulated studies."""

from __future__ import annotations

import numpy as np
import pytest

from components.study.variance import variance_sources

FAMILIES = 8


def scores(values_ST: np.ndarray) -> dict[int, dict[str, float | None]]:
    return {seed: {f"task-{t}": float(value) for t, value in enumerate(row)} for seed, row in enumerate(values_ST)}


def families(tasks: int, count: int) -> dict[str, str]:
    return {f"task-{t}": f"family-{t % count}" for t in range(tasks)}


def normal(random: np.random.Generator, sds: tuple[float, float, float], shape: tuple[int, int]) -> np.ndarray:
    """A table with parts of seeds, of tasks and of a rest, beside large differences of families."""
    (S, T), (of_seed, of_task, of_rest) = shape, sds
    family_T = 10 * np.arange(FAMILIES)[np.arange(T) % FAMILIES]
    return (
        random.normal(0, of_seed, (S, 1))
        + random.normal(0, of_task, (1, T))
        + random.normal(0, of_rest, (S, T))
        + family_T
    )


def test_a_small_table_by_hand():
    # rows have the means 0.5 and 1, columns of the two families 1, 0.5, 1, 0.5; the rest is one of 0.25 in each cell
    table = np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    found = variance_sources(scores(table), families(4, 2))
    assert found is not None
    assert found.observed == pytest.approx(np.sqrt(0.125))
    assert found.rest == pytest.approx(np.sqrt((8 * 0.0625 / 3) / 4))
    assert found.seeds == pytest.approx(np.sqrt(0.125 - 0.5 / 3 / 4))
    assert found.tasks == 0  # within a family all tasks are alike
    assert (found.runs, found.of_tasks) == (2, 4)


def test_simulated_parts_are_found_again():
    random, sds = np.random.default_rng(3), (0.5, 1.0, 2.0)
    S, T = 6, 40
    results = [variance_sources(scores(normal(random, sds, (S, T))), families(T, FAMILIES)) for _ in range(400)]
    of_seeds = [found.seeds_ci95.low <= 0.5 <= found.seeds_ci95.high for found in results]
    assert np.mean(of_seeds) == pytest.approx(0.95, abs=0.03)
    mean_squares = [np.mean([getattr(found, name) ** 2 for found in results]) for name in ("observed", "rest")]
    assert mean_squares == pytest.approx([0.25 + 4 / T, 4 / T], rel=0.1)
    assert np.mean([found.tasks**2 for found in results]) == pytest.approx(1 / T, rel=0.15)


def test_seeds_that_differ_by_single_episodes_alone_have_no_variance():
    random = np.random.default_rng(4)
    table = (random.random((5, 480)) < 0.95).astype(float)
    found = variance_sources(scores(table), families(480, FAMILIES))
    assert found.seeds_ci95.low == 0
    assert found.observed == pytest.approx(np.sqrt(0.95 * 0.05 / 480), rel=0.5)


def test_tasks_that_are_not_judged_in_every_run_are_left_out():
    table = scores(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    table[0]["task-0"] = None
    assert variance_sources(table, families(3, 1)).of_tasks == 2


@pytest.mark.parametrize("table", [{}, scores(np.array([[1.0, 0.0]])), scores(np.array([[1.0], [0.0]]))])
def test_one_seed_or_one_task_has_no_sources(table):
    assert variance_sources(table, families(2, 1)) is None
