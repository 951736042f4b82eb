"""The effects of arms: by hand, against resampling, and by simulation of what the intervals promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from components.study.effects import ALPHA, crossed, effect, effects, holm, paired

TASKS = 216


def by_task(values) -> dict[str, float | None]:
    return {f"task-{index:03}": value for index, value in enumerate(values)}


def runs(scores_ST: np.ndarray) -> dict[int, dict[str, float | None]]:
    return {seed: by_task(row.tolist()) for seed, row in enumerate(scores_ST)}


def study(random: np.random.Generator, seeds: int, gain: float, between_seeds: float, arms: int = 1) -> np.ndarray:
    """Successes of a base and of arms with one true effect, (arms + 1, seeds, TASKS): tasks differ in difficulty, and a
    run is luckier or unluckier than others by `between_seeds`, all in probits."""
    difficulty_T = random.normal(0.8, 1.2, TASKS)
    luck_AS = random.normal(0, between_seeds, (arms + 1, seeds))
    gains_A = np.array([0.0] + [gain] * arms)
    chances = stats.norm.cdf(difficulty_T + gains_A[:, None, None] + luck_AS[:, :, None])
    return (random.random(chances.shape) < chances).astype(float)


def truth(gain: float, between_seeds: float) -> float:
    """The expected difference of success in `study`: probits add up to a wider normal distribution."""
    width = np.sqrt(1 + 1.2**2 + between_seeds**2)
    return float(stats.norm.cdf((0.8 + gain) / width) - stats.norm.cdf(0.8 / width))


def test_the_variance_of_a_small_table_is_that_worked_out_by_hand():
    # rows 1 and 3 differ by 2 on average, columns 1 and 3 too, and nothing is left: MS_rows = MS_columns = 4
    spread = crossed(np.array([[0.0, 2.0], [2.0, 4.0]]))
    assert spread.variance == pytest.approx((4 + 4 - 0) / 4)
    assert spread.df == pytest.approx(8**2 / (4**2 / 1 + 4**2 / 1))  # 2, which is 2 (S - 1), too


def test_a_mean_square_below_the_rest_is_raised_to_it():
    # every row and column has the mean 0, so both squares are 0; the rest is 4 with one degree of freedom
    spread = crossed(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert (spread.variance, spread.df) == (pytest.approx(4 / 4), pytest.approx(1.0))


@pytest.mark.parametrize("tasks", [1, 40])
def test_equal_differences_are_no_certainty_for_an_error_of_rounding(tasks):
    """Every seed has tasks of its own, and one more success of 20: the means differ in the last bit at most."""
    count = 20 * tasks
    base, arm = {}, {}
    for seed in range(3):
        names = [f"{seed}-{index}" for index in range(count)]
        base[seed] = {name: float(index % (7 + seed) == 0) for index, name in enumerate(names)}
        free = [name for name in names if not base[seed][name]]
        arm[seed] = base[seed] | dict.fromkeys(free[: count // 20], 1.0)
    found = effect(arm, base)
    assert (found.same_tasks, found.diff) == (False, pytest.approx(0.05))
    expected = stats.t.ppf(0.975, 2) * np.sqrt(0.05 * 0.95 / (3 * (count - 1)))
    assert found.ci95.high - found.diff == pytest.approx(expected)
    assert found.diff - found.ci95.low == pytest.approx(expected)


def test_the_closed_form_is_what_resampling_seeds_and_tasks_gives():
    random = np.random.default_rng(5)
    base, arm = study(random, seeds=8, gain=0.4, between_seeds=0.3)
    diffs_ST = arm - base
    S, T = diffs_ST.shape
    drawn = 20_000
    of_seeds = random.multinomial(S, [1 / S] * S, drawn) @ diffs_ST.mean(axis=1) / S
    of_tasks = random.multinomial(T, [1 / T] * T, drawn) @ diffs_ST.mean(axis=0) / T
    rows, columns = diffs_ST.mean(axis=1, keepdims=True), diffs_ST.mean(axis=0, keepdims=True)
    rest = ((diffs_ST - rows - columns + diffs_ST.mean()) ** 2).sum() / ((S - 1) * (T - 1))
    resampled = of_seeds.var() * S / (S - 1) + of_tasks.var() * T / (T - 1) - rest / (S * T)
    assert crossed(diffs_ST).variance == pytest.approx(resampled, rel=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "between_seeds"), [(3, 0.0), (3, 0.1), (3, 0.3), (5, 0.1), (5, 0.3)])
def test_an_interval_covers_the_true_effect(seeds, between_seeds):
    random, gain, covered = np.random.default_rng(seeds), 0.3, 0
    expected = truth(gain, between_seeds)
    for _ in range(400):
        base, arm = study(random, seeds, gain, between_seeds)
        found = effect(runs(arm), runs(base))
        assert found is not None
        covered += found.ci95.low <= expected <= found.ci95.high
    assert covered >= 0.91 * 400  # 95% less three standard errors of 400 simulated studies is 92%


@pytest.mark.slow
def test_quantiles_of_resampled_means_cover_too_little():
    random, covered = np.random.default_rng(3), 0
    expected = truth(0.3, 0.3)
    for _ in range(400):
        base, arm = study(random, 3, 0.3, 0.3)
        weights_BS = random.multinomial(3, [1 / 3] * 3, 400) / 3
        weights_BT = random.multinomial(TASKS, [1 / TASKS] * TASKS, 400) / TASKS
        low, high = np.quantile(np.einsum("bs,st,bt->b", weights_BS, arm - base, weights_BT), [0.025, 0.975])
        covered += low <= expected <= high
    assert covered <= 0.90 * 400


@pytest.mark.slow
def test_the_intervals_of_all_arms_hold_together():
    random, held = np.random.default_rng(7), 0
    expected = truth(0.3, 0.1)
    for _ in range(250):
        base, *arms = study(random, seeds=5, gain=0.3, between_seeds=0.1, arms=4)
        found = effects({"base": runs(base), **{f"arm{n}": runs(arm) for n, arm in enumerate(arms)}}, "base")
        held += all(one.ci95.low <= expected <= one.ci95.high for one in found.values() if one is not None)
    assert held >= 0.91 * 250


@pytest.mark.slow
def test_an_arm_without_effect_is_rarely_called_better_or_worse():
    random, called = np.random.default_rng(11), 0
    for _ in range(250):
        base, *arms = study(random, seeds=3, gain=0.0, between_seeds=0.15, arms=3)
        found = effects({"base": runs(base), **{f"arm{n}": runs(arm) for n, arm in enumerate(arms)}}, "base")
        called += any(one.p_holm < ALPHA for one in found.values() if one is not None)
    assert called <= 0.09 * 250


def test_holm_multiplies_the_smallest_p_value_by_the_number_of_arms():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}


def test_an_interval_is_wider_with_more_arms():
    base, arm, other = study(np.random.default_rng(2), seeds=3, gain=0.3, between_seeds=0.1, arms=2)
    alone = effects({"base": runs(base), "arm": runs(arm)}, "base")["arm"]
    among = effects({"base": runs(base), "arm": runs(arm), "other": runs(other)}, "base")["arm"]
    assert alone is not None
    assert among is not None
    assert among.ci95.high - among.ci95.low > alone.ci95.high - alone.ci95.low


def test_a_task_without_a_verdict_is_left_out_of_both_sides():
    arm, base = by_task([1.0, 1.0, None, 0.0]), by_task([0.0, None, 1.0, 0.0])
    assert paired(arm, base) == {"task-000": 1.0, "task-003": 0.0}


def test_tasks_that_one_seed_lacks_are_counted_as_left_out():
    scores = study(np.random.default_rng(2), seeds=3, gain=0.3, between_seeds=0.1)
    base, arm = (runs(side) for side in scores)
    arm[1]["task-000"] = None
    found = effect(arm, base)
    assert found is not None
    assert (found.tasks, found.left_out, found.same_tasks) == (TASKS - 1, 1, True)
    assert found.diff == pytest.approx(np.mean(scores[1, :, 1:] - scores[0, :, 1:]))


def test_tasks_without_a_verdict_are_still_the_same_tasks_in_each_seed():
    """A tenth of each run is unjudged, other tasks in each: four of ten tasks are judged in all six runs."""
    scores = study(np.random.default_rng(2), seeds=3, gain=0.3, between_seeds=0.1)[:, :, :200]
    base, arm = (runs(side) for side in scores)
    for index, run in enumerate([*base.values(), *arm.values()]):
        run |= {task: None for place, task in enumerate(run) if place % 10 == index}
    result = effect(arm, base)
    assert result is not None
    assert (result.tasks, result.left_out, result.same_tasks) == (80, 120, True)
    judged = [place for place in range(200) if place % 10 >= 6]
    assert result.se == pytest.approx(np.sqrt(crossed(scores[1][:, judged] - scores[0][:, judged]).variance))


def test_seeds_without_a_task_judged_in_all_are_compared_by_seed_alone():
    base = {seed: by_task([0.0 if place % 2 == seed else None for place in range(8)]) for seed in range(2)}
    arm = {seed: by_task([float(place < 2 + seed) for place in range(8)]) for seed in range(2)}
    result = effect(arm, base)
    assert result is not None
    assert (result.tasks, result.left_out, result.same_tasks) == (8, 0, False)


def test_an_effect_does_not_rest_on_one_task_of_many():
    """Each seed judges half of the tasks, and both only the first."""
    judged = [{0, *range(seed, 100, 2)} for seed in range(2)]
    base = {seed: by_task([0.0 if place in judged[seed] else None for place in range(100)]) for seed in range(2)}
    arm = {seed: by_task([float(place < 40) for place in range(100)]) for seed in range(2)}
    result = effect(arm, base)
    assert result is not None
    assert (result.tasks, result.same_tasks) == (100, False)
    assert result.diff == pytest.approx(0.4, abs=0.02)


def test_seeds_with_tasks_of_their_own_are_compared_by_seed_alone():
    base = {seed: {f"{seed}/{n}": 0.0 for n in range(20)} for seed in range(3)}
    arm = {seed: {f"{seed}/{n}": float(n < 2 + 5 * seed) for n in range(20)} for seed in range(3)}
    found = effect(arm, base)  # means 0.1, 0.35, 0.6: the error is 0.25 / sqrt(3), t with 2 degrees is 4.303
    assert found is not None
    assert not found.same_tasks
    assert found.diff == pytest.approx(0.35)
    assert found.ci95.high == pytest.approx(0.35 + 4.3027 * 0.25 / np.sqrt(3), abs=1e-4)


def test_equal_runs_have_no_effect_but_an_interval_with_a_width():
    scores = study(np.random.default_rng(2), seeds=3, gain=0.0, between_seeds=0.1)[0]
    found = effect(runs(scores), runs(scores))
    assert found is not None
    assert (found.diff, found.p_value) == (0.0, 1.0)
    assert -0.03 < found.ci95.low < 0 < found.ci95.high < 0.03


def test_one_seed_gives_no_effect():
    base, arm = study(np.random.default_rng(2), seeds=1, gain=0.3, between_seeds=0.1)
    assert effect(runs(arm), runs(base)) is None
    assert effects({"base": runs(base), "arm": {}}, "base") == {"arm": None}
