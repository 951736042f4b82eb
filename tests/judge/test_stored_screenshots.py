"""The screenshots from which a judge learns are on disk. Each process reads those of its own micro-batches."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

from components.judge.distilled import training_sample
from components.model import Encoder, ImageFolder
from components.params import OptimParams
from components.records import Outcome, Trajectory, Verdict
from components.training.forward import Forward
from components.training.objectives.judge import JudgeDistillation
from components.training.objectives.supervised import WeightedSample
from components.training.supervised import add_gradients, train
from components.training.workers import Workers
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, recipe
from tests.vlm import observation, picture, random_vlm

PARAMS = recipe(agent__prompt="compact")
OPTIM = OptimParams(epochs=2, lr=1e-3, batch_size=2)


def examples() -> tuple[list[Trajectory], dict[str, Verdict]]:
    """Four trajectories of one turn with screenshots of their own, and a label on each."""
    trajectories = [
        a_trajectory(a_task(seed), turns=1).model_copy(update={"turns": [a_turn(observation=observation(seed))]})
        for seed in range(4)
    ]
    outcomes = [Outcome.SUCCESS, Outcome.FAILURE] * 2
    verdicts = [a_verdict(trajectory, outcome) for trajectory, outcome in zip(trajectories, outcomes, strict=True)]
    return trajectories, {verdict.trajectory_id: verdict for verdict in verdicts}


def samples(encoder: Encoder, folder: Path) -> list[list[WeightedSample]]:
    trajectories, verdicts = examples()
    return JudgeDistillation(PARAMS, verdicts, ImageFolder(folder)).samples(trajectories, encoder)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_samples_of_a_judge_do_not_hold_their_screenshots(tmp_path):
    data = samples(Encoder(random_vlm()), tmp_path)
    size = sum(len(trajectory.turns[0].observation.screenshot.data) for trajectory in examples()[0])
    assert sum(path.stat().st_size for path in files(tmp_path)) == size
    assert len(pickle.dumps(data)) < size / 2


def test_a_judge_learns_the_same_from_screenshots_on_disk(tmp_path):
    trajectories, verdicts = examples()

    def trained(is_stored: bool) -> tuple[list[float], dict[str, torch.Tensor]]:
        torch.manual_seed(0)
        vlm, losses = random_vlm(), []
        encoder = Encoder(vlm)
        data = samples(encoder, tmp_path)
        if not is_stored:
            held = [training_sample(t, verdicts[t.trajectory_id], PARAMS, encoder) for t in trajectories]
            data = [[WeightedSample(sample, item.weight)] for sample, [item] in zip(held, data, strict=True)]
        train(vlm, encoder, data, OPTIM, 1, lambda step, steps, loss: losses.append(loss))
        return losses, vlm.model.state_dict()

    (losses, weights), (expected, others) = trained(True), trained(False)
    assert losses == expected
    assert all(torch.equal(weights[name], others[name]) for name in others)


def test_a_process_reads_the_screenshots_of_its_own_micro_batches(tmp_path):
    vlm = random_vlm()
    encoder = Encoder(vlm)
    batch = [item for unit in samples(encoder, tmp_path) for item in unit]
    micro_batches = list(Forward().micro_batches([item.sample for item in batch], encoder, 1))
    own = {batch[index].sample.prompt.images[0].sha256 for [index] in micro_batches[1::2]}
    for path in files(tmp_path):
        if path.name not in own:
            path.unlink()
    add_gradients(vlm, encoder, batch, 1, Forward(), Workers(size=2, rank=1))
    with pytest.raises(FileNotFoundError):
        add_gradients(vlm, encoder, batch, 1, Forward(), Workers(size=2, rank=0))


def test_an_image_is_written_once_and_repaired_after_a_power_cut(tmp_path):
    image, folder = picture(1), ImageFolder(tmp_path)
    [first, second] = [folder.keep(image) for _ in range(2)]
    assert first == second
    assert [path.name for path in files(tmp_path)] == [image.sha256]
    first.path.write_bytes(b"")
    assert folder.keep(image).data == image.data
