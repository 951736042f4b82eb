"""The chance that at least one of k attempts at a task succeeds, from n >= k attempts (Chen et al. 2021, equation 1).

Per task it is `1 - C(n - c, k) / C(n, k)` for c successes among n judged attempts. This estimate is unbiased, which
`1 - (1 - c/n)^k` is not, and it uses all attempts, not only the first k. The mean and its interval are over tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, comb

import numpy as np

from components.evaluation.episodes import Episode
from components.statistics import SuccessRate, success_rate

COVERED = 0.9
"""Least share of the judged tasks that have k judged attempts; tasks with fewer are left out of all k."""


def unbiased(n: int, c: int, k: int) -> float:
    """The estimate for one task with c successes in n attempts.

    Raises:
        ValueError: there are fewer attempts than k.
    """
    if not 0 <= c <= n or not 0 < k <= n:
        raise ValueError(f"pass@{k} needs at least {k} attempts, there are {n} with {c} successes: raise the attempts")
    return 1 - comb(n - c, k) / comb(n, k)


def pass_at_k(episodes: Iterable[Episode]) -> dict[str, SuccessRate]:
    """By k, for powers of two and the largest k that `COVERED` of the judged tasks have; empty below two attempts.

    All k use the same tasks, so the numbers can only grow with k.
    """
    outcomes_by_task: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.success is not None:
            outcomes_by_task.setdefault(episode.task_id, []).append(episode.success)
    counts = sorted((len(outcomes) for outcomes in outcomes_by_task.values()), reverse=True)
    largest = counts[ceil(COVERED * len(counts)) - 1] if counts else 0
    if largest < 2:
        return {}
    kept = [outcomes for _, outcomes in sorted(outcomes_by_task.items()) if len(outcomes) >= largest]
    by_k = {}
    for k in sorted({largest, *(1 << power for power in range(largest.bit_length()))}):
        rates_N = np.array([unbiased(len(outcomes), sum(outcomes), k) for outcomes in kept])
        by_k[str(k)] = success_rate(rates_N, sum(len(outcomes) for outcomes in kept))
    return by_k
