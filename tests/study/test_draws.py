"""The sources of variance of a nested study: worked out by hand, and found again in simulated studies."""

from __future__ import annotations

import numpy as np
import pytest

from components.study.draws import Draw, draw_sources


def scores(values_ABCT: np.ndarray) -> dict[Draw, dict[str, float | None]]:
    """The seeds of RL are those of one policy alone, as they are in a study whose base has the recipe's seed."""
    return {
        Draw(a, 10 * a + b, 100 * a + 10 * b + c): {f"task-{t}": float(x) for t, x in enumerate(values_ABCT[a, b, c])}
        for a, b, c in np.ndindex(values_ABCT.shape[:3])
    }


def test_a_small_study_by_hand():
    # rates of the attempts: of one policy 0.5 and 1, 0 and 0.5; of the other all 1
    table = np.array([[[[1, 0], [1, 1]], [[0, 0], [1, 0]]], [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]], dtype=float)
    sources = draw_sources(scores(table))
    assert sources is not None
    attempts = (4 * 0.0625) / 4  # squares of rates within a pair, by 4 degrees of freedom
    tasks = 2 * (2 * 0.0625) / 2  # 0.75 and 0.25 around 0.5, twice over, by 2
    policy = 4 * (2 * 0.0625) / 1  # 0.5 and 1 around 0.75
    episodes = (8 * 0.0625) / 4 / 2
    assert sources.episodes == pytest.approx(np.sqrt(episodes))
    assert sources.attempts.sd == pytest.approx(np.sqrt(max(0, attempts - episodes)))
    assert sources.tasks.sd == pytest.approx(np.sqrt((tasks - attempts) / 2))
    assert sources.policy.sd == pytest.approx(np.sqrt((policy - tasks) / 4))
    assert (sources.policies, sources.draws_of_tasks, sources.draws_of_attempts, sources.of_tasks) == (2, 2, 2, 2)


def test_simulated_parts_are_found_again_and_intervals_hold():
    random, (A, B, C, T) = np.random.default_rng(5), (3, 2, 2, 60)
    sds = {"policy": 0.6, "tasks": 0.4, "attempts": 0.5}
    results = []
    for _ in range(400):
        table = random.normal(0, 1, (1, 1, 1, T)) + random.normal(0, 2, (A, B, C, T))
        table += random.normal(0, sds["policy"], (A, 1, 1, 1)) + random.normal(0, sds["tasks"], (A, B, 1, 1))
        table += random.normal(0, sds["attempts"], (A, B, C, 1))
        results.append(draw_sources(scores(table)))
    for name, sd in sds.items():
        of = [getattr(sources, name) for sources in results]
        assert np.mean([source.ci95.low <= sd <= source.ci95.high for source in of]) >= 0.92, name
    assert np.mean([sources.episodes**2 for sources in results]) == pytest.approx(4 / T, rel=0.05)
    squares = np.mean([sources.policy.sd**2 for sources in results])
    assert squares == pytest.approx(0.36, rel=0.35)  # above it, because estimates below 0 count as 0


def test_runs_that_differ_by_single_episodes_alone_have_no_other_source():
    random = np.random.default_rng(6)
    sources = draw_sources(scores((random.random((3, 2, 2, 200)) < 0.5).astype(float)))
    assert sources.episodes == pytest.approx(np.sqrt(0.25 / 200), rel=0.2)
    assert (sources.policy.ci95.low, sources.tasks.ci95.low, sources.attempts.ci95.low) == (0, 0, 0)


def test_tasks_run_once_each_are_one_source_with_the_attempts():
    table = np.array([[[[1, 0, 1, 0]], [[0, 0, 1, 0]]], [[[1, 1, 1, 1]], [[1, 1, 1, 1]]]], dtype=float)
    sources = draw_sources(scores(table))
    assert sources.attempts is None
    episodes = (2 * (0.375**2 + 3 * 0.125**2)) / 6 / 4  # one task differs between the runs from the first policy
    assert sources.episodes == pytest.approx(np.sqrt(episodes))
    assert sources.tasks.sd == pytest.approx(np.sqrt(max(0, 2 * 0.125**2 / 2 - episodes)))


@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 1, 2), (2, 1, 1)])
def test_a_study_with_one_draw_of_a_source_has_no_sources(shape):
    assert draw_sources(scores(np.ones((*shape, 8)))) is None


def test_a_study_that_is_not_finished_has_no_sources():
    table = scores(np.ones((2, 2, 2, 8)))
    del table[Draw(0, 0, 0)]
    assert draw_sources(table) is None
    assert draw_sources({}) is None
