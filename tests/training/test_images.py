"""An update encodes each image once, alone and with several processes."""

import copy

import pytest
import torch

from tests.samples import objective as parameters
from tests.training.test_workers import launched
from tests.training.updates import RL, group_of, update


@pytest.mark.parametrize("name", ["mm_grpo", "m_grpo", "rft"])
def test_an_update_encodes_each_image_once_over_all_its_passes(rolled, name):
    vlm, trajectories = rolled
    model, group = copy.deepcopy(vlm), group_of(trajectories, [1, 0, 0, 1])
    model.freeze_vision()
    params = RL.model_copy(update={"objective": parameters(name, epochs=2, kl=0.1), "micro_batch_tokens": 150})
    optimizer = torch.optim.SGD(model.trainable(), lr=0.1)
    stats = update(model, [group], params, optimizer, model.frozen_copy(), trajectories[1:3])
    assert stats.images > 3
    assert (stats.preparations_per_image, stats.encodings_per_image) == (1.0, 1.0)


def test_a_trained_tower_encodes_in_every_pass(rolled):
    vlm, trajectories = rolled
    model = copy.deepcopy(vlm)
    optimizer = torch.optim.SGD(model.trainable(), lr=0.1)
    stats = update(model, [group_of(trajectories, [1, 0, 0, 1])], RL, optimizer)
    assert stats.preparations_per_image == 1.0
    assert stats.encodings_per_image > 1.0


@pytest.mark.slow
def test_two_processes_encode_each_image_once_together(tmp_path):
    stats = launched(tmp_path, "images")
    assert stats["images"] == 7
    assert (stats["preparations_per_image"], stats["encodings_per_image"]) == (1.0, 1.0)
