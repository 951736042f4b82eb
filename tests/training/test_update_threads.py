"""An update and the KL do not depend on the thread in which they run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from components.model import Encoder
from components.training.divergence import drawn_turns, kl_by_family
from components.training.learner import Learner
from tests.training.updates import RL, group_of, recipe_with, roll
from tests.vlm import random_vlm


def test_the_kl_in_any_thread_has_the_learners_number_of_threads(tmp_path):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        learner = Learner.begin(random_vlm(), recipe_with(RL))
        learner.vlm.save(tmp_path / "sft")
        trajectories = roll(learner.vlm, Encoder(learner.vlm), 2, [1])
        expected = kl_by_family(learner, drawn_turns(trajectories, 0), tmp_path / "sft")

        def in_a_thread_of_a_pool() -> tuple[dict[str, tuple[float, int]], int]:
            torch.set_num_threads(1)
            return kl_by_family(learner, drawn_turns(trajectories, 0), tmp_path / "sft"), torch.get_num_threads()

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(in_a_thread_of_a_pool).result() == (expected, 2)
        assert expected
    finally:
        torch.set_num_threads(before)


def test_an_update_in_any_thread_has_the_learners_number_of_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        learner = Learner.begin(random_vlm(), recipe_with(RL))
        sampled = roll(learner.vlm, Encoder(learner.vlm), 2, [1])

        def in_a_thread_of_a_pool() -> int:
            torch.set_num_threads(1)
            learner.update([group_of(sampled, [0.0, 1.0])], 1)
            return torch.get_num_threads()

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(in_a_thread_of_a_pool).result() == 2
    finally:
        torch.set_num_threads(before)
