"""What falls is named, alone and together, in the demo's small validations, too; noise alone seldom is."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import numpy as np
import pytest

from components.agent import EpisodeSpec
from components.params import Params, load
from components.records import Task, Termination, Trajectory
from components.rollout import SamplerState
from components.stages.train_rl import PUBLISHED, earlier_validation, files_of
from components.store import write_json
from components.training.fall_warnings import HELDOUT_TOGETHER, TRAINED_TOGETHER, Comparisons, falls, limits_of_warnings
from components.training.rl import TrainedPhase
from components.training.selection import Choice, Rollback
from components.training.validation import FamilyFigures, Validation, validation_tables
from tests.samples import a_task
from tests.training.rl_without_pages import Killed, done, even_attempts, train
from tests.training.validations import figures, together, watched


@pytest.fixture(scope="module")
def demo() -> Params:
    return load("recipes/demo.yaml")


def families_of(demo: Params, trained: float, heldout: float, groups: int = 0) -> list[FamilyFigures]:
    """The families of the demo with its numbers of validation tasks, and these rates on them."""
    world, counts = demo.worlds["miniwob"], demo.rl.validation
    tasks, heldout_tasks = counts.tasks // len(world.train), counts.heldout // len(world.heldout)
    return [
        *(figures(family, trained, tasks, trained, groups) for family in world.train),
        *(figures(family, heldout, heldout_tasks, 0.0, 0, heldout=True) for family in world.heldout),
    ]


def is_right(trajectory: Trajectory) -> bool:
    """All validation tasks, and every other attempt at a training task."""
    return trajectory.task.split == "validation" or even_attempts(trajectory)


def is_right_on_training_tasks(trajectory: Trajectory) -> bool:
    return trajectory.task.split != "validation" and even_attempts(trajectory)


def named(validations: list[Validation], planned: int, earlier: Validation | None = None) -> list[str]:
    return [fall.name for fall in falls(validations, planned, earlier)]


def test_a_family_that_was_mastered_and_falls_is_named():
    """The fall that was seen: 94% to 17% of a family's rollouts; on three greedy tasks alone it would be noise."""
    before = watched(7, [figures("focus-text-2", 1.0, 3, 0.94, 15), figures("click-tab", 1.0, 3, 0.9, 15)])
    now = watched(14, [figures("focus-text-2", 0.0, 3, 0.17, 15), figures("click-tab", 1.0, 3, 0.8, 15)])
    (fall,) = falls([before, now], planned=3)
    assert str(fall) == "focus-text-2 falls: 94% of 15 training groups at iteration 7, now 17% of 15"
    assert falls([now, before], planned=3) == [], "to rise is no fall"
    assert falls([now], planned=3) == []


def test_a_held_out_family_that_falls_is_named_by_its_validation_tasks():
    before = watched(0, [figures("option", 0.9, 40, 0.0, 0, heldout=True)])
    now = watched(4, [figures("option", 0.2, 40, 0.0, 0, heldout=True)])
    assert [(fall.name, fall.figure) for fall in falls([before, now], 4)] == [("option", "validation tasks")]


@pytest.mark.parametrize("phase", ["short", "long"])
def test_a_collapse_of_all_families_of_the_demo_is_reported(demo, phase):
    planned = demo.rl.validation.planned(getattr(demo.rl, phase).iterations)
    start = together(0, families_of(demo, 1.0, 1.0))
    fallen = together(6, families_of(demo, 0.0, 0.0))
    earlier = together(12, families_of(demo, 1.0, 1.0)) if phase == "long" else None
    assert named([start, fallen], planned, earlier) == [TRAINED_TOGETHER, HELDOUT_TOGETHER]
    assert named([start, together(6, families_of(demo, 0.5, 1.0))], planned, earlier) == [TRAINED_TOGETHER]


@pytest.mark.parametrize("phase", ["short", "long"])
def test_a_collapse_of_the_demos_held_out_families_is_reported(demo, phase):
    planned = demo.rl.validation.planned(getattr(demo.rl, phase).iterations)
    start, fallen = together(0, families_of(demo, 0.9, 1.0)), together(6, families_of(demo, 0.9, 0.0))
    (fall,) = falls([start, fallen], planned, start if phase == "long" else None)
    assert "success on the held-out families falls: 100% of 4 validation tasks at iteration 0" in str(fall)
    assert str(fall).endswith("now 0% of 4")


def test_a_fall_from_the_short_to_the_long_phase_is_reported():
    """The first validation of a phase has no training groups; those of the phase before stand in."""
    earlier = watched(12, [figures("tab", 1.0, 2, 0.95, 12)])
    start, now = watched(0, [figures("tab", 1.0, 2, 0.0, 0)]), watched(6, [figures("tab", 0.0, 2, 0.1, 12)])
    assert falls([start, now], planned=3) == []
    (fall,) = falls([start, now], 3, earlier)
    assert str(fall) == "tab falls: 95% of 12 training groups at iteration 12 of the phase before, now 10% of 12"


def test_the_first_validation_of_a_phase_is_compared_with_the_phase_before():
    earlier = watched(12, [], {str(task): 1.0 for task in range(24)})
    assert named([watched(0, [], {str(task): 0.0 for task in range(24)})], 3, earlier) == [TRAINED_TOGETHER]


@pytest.mark.slow
def test_a_phase_that_was_killed_compares_itself_with_the_phase_before(monkeypatch, tmp_path):
    """The long phase begins with the validation that the short one published, and again after a kill."""
    short, _ = train(monkeypatch, tmp_path / "short", 1, succeeds=is_right, validate=1)
    files = files_of(short)
    write_json(tmp_path / "rl-short" / PUBLISHED, files[PUBLISHED])
    before = earlier_validation(tmp_path / "rl-short")
    assert before is not None
    assert (before.iteration, before.success.rate, before.seconds) == (1, 1.0, 0.0)

    def killed(spec: EpisodeSpec) -> Termination:
        if "@2" in spec.policy_version:
            raise Killed
        return Termination.DONE

    recorded: list[dict] = []

    def phase(ends: Callable[[EpisodeSpec], Termination]) -> list[str]:
        warnings: list[str] = []
        settings = {"succeeds": is_right_on_training_tasks, "validate": 2, "before": before, "warnings": warnings}
        with contextlib.suppress(Killed):
            trained, _ = train(monkeypatch, tmp_path / "long", 2, ends, **settings)
            recorded.extend(validation_tables(trained.validations)["warnings"])
        return [warning for warning in warnings if warning.startswith(TRAINED_TOGETHER)]

    fall = f"{TRAINED_TOGETHER} falls: 100% of 4 validation tasks at iteration 1 of the phase before, now 0% of 4"
    assert phase(killed) == [fall]
    assert phase(done) == [fall], "after iteration 2; the validation at the start is not repeated"
    rows = [{"iteration": iteration, "name": TRAINED_TOGETHER, "warning": fall} for iteration in (0, 2)]
    assert [row for row in recorded if row["name"] == TRAINED_TOGETHER] == rows, "that before the kill is kept"


def test_a_phase_that_is_not_validated_hands_none_on(monkeypatch, tmp_path):
    trained, _ = train(monkeypatch, tmp_path / "short", 1)
    assert [*files_of(trained)] == ["task_sampler.json"]
    assert earlier_validation(tmp_path) is None


def test_a_policy_that_a_phase_went_back_to_hands_its_own_validation_on():
    records = [watched(iteration, []) for iteration in (0, 2, 4, 6)]
    back = [Rollback(4, 2, by_hand=True), Rollback(6, 4, by_hand=False)]
    trained = TrainedPhase([], SamplerState(), Choice(6, ""), validations=records, rollbacks=back)
    assert trained.published_validation == records[1], "the checkpoint of iteration 4 is that of iteration 2"


def test_the_intervals_level_counts_the_comparisons_of_a_question():
    """Three validations make three pairs, and three more with an earlier one; a question has a third of 5%."""
    assert Comparisons(3).level(1) == pytest.approx(1 - 0.05 / 3 / 3)
    assert Comparisons(3, has_earlier=True).level(26) == pytest.approx(1 - 0.05 / 3 / (26 * 6))


def tasks(split: str, families: dict[str, int]) -> list[Task]:
    return [
        a_task(number, website=f"miniwob/{family}", split=split)
        for family, count in families.items()
        for number in range(count)
    ]


def test_a_run_says_which_families_it_cannot_name(demo):
    """By Newcombe's interval at the level of a phase of the demo, a fall from all to none takes 6 tasks."""
    world, comparisons = demo.worlds["miniwob"], Comparisons(3)
    shipped = tasks("validation", dict.fromkeys(world.train, 2))
    heldout = tasks("heldout_validation", dict.fromkeys(world.heldout, 2))
    assert limits_of_warnings([*shipped, *heldout], comparisons) == (
        "12 of 12 trained families and 2 of 2 held-out families have too few validation tasks to be named one by one "
        "when they fall, which takes 6 of each; trained families are also named by their training groups"
    )
    few = limits_of_warnings([*shipped, *heldout[:1]], comparisons)
    assert few is not None
    assert (
        "the 1 held-out validation tasks are too few to warn even if success falls from 100% to 0%: that takes 4" in few
    )
    assert "rl.validation.heldout" in few
    enough = tasks("validation", dict.fromkeys(world.train, 6))
    assert limits_of_warnings(enough, comparisons) is None


def test_what_a_run_says_it_can_name_is_named_and_no_less():
    comparisons = Comparisons(3)
    fewest = comparisons.fewest(26)
    for n, expected in ((fewest, True), (fewest - 1, False)):
        names = [f"f{index}" for index in range(12)]
        level = comparisons.level(26)
        before = watched(0, [figures(name, 1.0, n, 1.0, 9) for name in [*names, "x"]])
        now = watched(
            6, [figures("f0", 0.0, n, 1.0, 9), *(figures(name, 1.0, n, 1.0, 9) for name in [*names[1:], "x"])]
        )
        assert level == comparisons.level(2 * 13)
        assert named([before, now], 3) == (["f0"] if expected else [])


def noise(rng: random.Random, names: str, chance: float, n: int, groups: tuple[int, int]) -> list[FamilyFigures]:
    """Families whose success is `chance`. Training groups are of 5 attempts with a success that varies between tasks,
    so that the attempts of a group agree more than independent ones."""
    families = []
    for name in names:
        greedy = [rng.random() < chance for _ in range(n)]
        means = []
        for _ in range(rng.randint(*groups)):
            task = rng.betavariate(chance, 1 - chance)
            means.append(np.mean([rng.random() < task for _ in range(5)]))
        success = float(np.mean(means)) if means else 0.0
        families.append(figures(name, float(np.mean(greedy)), n, success, len(means), heldout=not means))
    return families


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.05, 0.5, 0.9])
def test_noise_alone_seldom_raises_an_alarm(chance):
    """Phases of 5 validations of 12 families whose success never changes: at most 5% of them may warn."""
    rng = random.Random(int(100 * chance))
    phases, alarms = 80, 0
    for _ in range(phases):
        seen: list[Validation] = []
        for iteration in range(5):
            seen.append(together(iteration, noise(rng, "abcdefghijkl", chance, 6, (2, 20))))
            if falls(seen, planned=5):
                alarms += 1
                break
    assert alarms <= 8, "5% of 80, and two standard deviations"


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.2, 0.5, 0.8])
def test_noise_alone_seldom_raises_an_alarm_in_a_phase_like_the_demos(chance):
    """Three validations after that of the phase before; 12 families with 2 tasks and a few groups, two held out."""
    rng = random.Random(int(100 * chance))
    phases, alarms = 200, 0

    def families() -> list[FamilyFigures]:
        return [*noise(rng, "abcdefghijkl", chance, 2, (3, 9)), *noise(rng, "xy", chance, 2, (0, 0))]

    for _ in range(phases):
        earlier, seen = together(12, families()), []
        for iteration in (0, 6, 8):
            seen.append(together(iteration, families()))
            if falls(seen, 3, earlier):
                alarms += 1
                break
    assert alarms <= 16, "5% of 200, and two standard deviations"
