"""Pages for the validation of RL: families evenly, with seeds that no other split has."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from pydantic import ValidationError

from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.params import MiniWoBParams

PARAMS = MiniWoBParams(
    train=["click-button", "click-test"],
    rl=["click-link"],
    heldout=["focus-text"],
    train_per_family=1,
    eval_per_family=1,
    heldout_per_family=1,
)


@pytest.mark.slow
def test_validation_pages_are_new_ones_of_all_families():
    async def both() -> tuple[list[dict], list[dict]]:
        world = MiniWoB(PARAMS)
        return await world.tasks(0, (160, 210)), await world.validation_tasks(3, 2, (160, 210))

    rows, validation = asyncio.run(both())
    assert {row["website"] for row in rows if row["split"] == "rl"} == {"miniwob/click-link"}
    assert MiniWoB(PARAMS).planned_tasks(3, 2) == Counter(row["split"] for row in [*rows, *validation])
    assert not {row["task_id"] for row in rows} & {row["task_id"] for row in validation}
    counts = Counter((row["split"], row["website"]) for row in validation)
    assert counts == {
        ("validation", "miniwob/click-button"): 2,
        ("validation", "miniwob/click-test"): 1,
        ("heldout_validation", "miniwob/focus-text"): 2,
    }
    assert all(row["intent"] for row in validation)


def test_a_recipe_whose_evaluation_reaches_the_validation_pages_is_refused():
    with pytest.raises(ValidationError, match="validation_seed_start = 2000000 must be at least 2000001"):
        MiniWoBParams(eval_per_family=1, eval_seed_start=2_000_000, validation_seed_start=2_000_000)
