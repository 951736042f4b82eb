"""Each image is prepared and encoded once, whichever component asks. Its features are those of the present tower."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.model import VLM, Encoder, vision
from components.params import ImageCacheParams, ModelParams
from components.training.optim import optimizer_step
from tests.vlm import TASK, observation, picture, random_vlm, renderer

MODEL = random_vlm()
IMAGES = [picture(seed, 128, 96) for seed in range(5)]  # 48 patches and 12 tokens each


@torch.no_grad()
def features(encoder: Encoder, images=IMAGES) -> list[torch.Tensor]:
    out = encoder.vision.features(images)["image"]
    return [torch.cat(parts) for parts in (out.pooler_output, *out.deepstack_features)]


def counts(encoder: Encoder) -> tuple[int, int]:
    taken = encoder.vision.take_counts()
    return taken.prepared, taken.encoded


def alike(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    """To the last bit: what an image is encoded beside must not matter."""
    return all(torch.equal(one, two) for one, two in zip(first, second, strict=True))


@settings(max_examples=30)  # each draws and encodes a picture of up to two megapixels
@given(st.integers(1, 1400), st.integers(1, 1400))
def test_the_grid_follows_from_the_size_alone(width, height):
    encoder, image = Encoder(MODEL), picture(1, width, height)
    if max(width, height) / min(width, height) > 200:
        for ask in (encoder.vision.grid, encoder.vision.pixels):
            with pytest.raises(ValueError, match="aspect ratio"):
                ask(image)
        return
    rows, columns = encoder.vision.grid(image)
    assert encoder.vision.pixels(image)[1].tolist() == [[1, rows, columns]]


def test_counting_tokens_and_positions_prepares_no_image():
    encoder = Encoder(MODEL)
    prompt = encoder.encode(renderer().prompt(TASK, [], observation(1)))
    encoder.positions(prompt.ids, prompt.images)
    assert encoder.length(renderer().prompt(TASK, [], observation(2))) == len(prompt.ids)
    assert counts(encoder) == (0, 0)


@pytest.mark.parametrize("threads", [1, 3])
def test_images_that_are_encoded_in_parts_have_the_same_features(monkeypatch, threads):
    whole = features(Encoder(MODEL))
    monkeypatch.setattr(vision, "ENCODED_PATCHES", 100)  # two images
    encoder = Encoder(MODEL, ImageCacheParams(threads=threads))
    assert alike(features(encoder, [*IMAGES, IMAGES[0]])[:1], [torch.cat([whole[0], whole[0][:12]])])
    assert counts(encoder) == (5, 5)
    assert alike(features(encoder), whole)
    assert counts(encoder) == (0, 0)


def test_features_on_disk_serve_another_process_and_no_other_tower(tmp_path):
    params = ImageCacheParams(memory_gib=0, disk_gib=0.01, directory=str(tmp_path))
    first, second = Encoder(random_vlm(), params), Encoder(random_vlm(), params)
    whole = features(first)
    assert counts(first) == (5, 5)
    assert alike(features(first), whole)
    assert alike(features(second), whole)
    assert counts(first) == counts(second) == (0, 0)
    changed = random_vlm()
    other = Encoder(changed, params)
    with torch.no_grad():
        changed.model.model.visual.blocks[0].mlp.linear_fc1.weight.mul_(1.5)
    assert not alike(features(other), whole)
    assert counts(other) == (5, 5)


def test_without_room_an_image_is_encoded_again():
    encoder = Encoder(MODEL, ImageCacheParams(memory_gib=0))
    whole = features(encoder)
    assert alike(features(encoder), whole)
    assert counts(encoder) == (10, 10)


def test_a_change_of_the_tower_is_seen(tmp_path):
    changing = random_vlm()
    encoder = Encoder(changing, ImageCacheParams(disk_gib=0.01, directory=str(tmp_path)))
    before = features(encoder)
    with torch.no_grad():
        changing.model.model.visual.blocks[0].mlp.linear_fc1.weight.mul_(1.5)
    assert not alike(features(encoder), before)


def test_encoding_ahead_leaves_nothing_to_do():
    encoder = Encoder(frozen := random_vlm())
    frozen.freeze_vision()
    encoder.vision.encode(IMAGES)
    assert counts(encoder) == (5, 5)
    assert alike(features(encoder), features(Encoder(MODEL)))
    assert counts(encoder) == (0, 0)


def test_a_copy_of_a_frozen_tower_has_the_same_features():
    model = random_vlm()
    encoder = Encoder(model)
    assert not encoder.vision.is_of(model.frozen_copy()), "its tower is trained"
    model.freeze_vision()
    assert encoder.vision.is_of(model.frozen_copy())
    assert not encoder.vision.is_of(random_vlm())


def test_a_tower_in_mixed_precision_computes_in_that_dtype(tmp_path):
    random_vlm().save(tmp_path)
    mixed = VLM.load(tmp_path, ModelParams(base="", judge_base="", dtype="bfloat16"), train=True)
    mixed.freeze_vision()
    encoder = Encoder(mixed)
    assert {part.dtype for part in features(encoder)} == {torch.bfloat16}
    assert encoder.vision.pixels(IMAGES[0])[0].dtype == torch.bfloat16


@pytest.mark.parametrize("fused", [False, True])
def test_a_step_of_the_optimiser_is_a_change_of_the_tower(fused):
    vlm = random_vlm()
    encoder = Encoder(vlm)
    before = features(encoder)
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=0.1, fused=fused)  # fused is that of GPUs
    for parameter in vlm.trainable():
        parameter.grad = torch.ones_like(parameter)
    optimizer_step(optimizer, vlm, max_grad_norm=1.0)
    after = features(encoder)
    assert not alike(before, after)
    assert alike(after, features(Encoder(vlm)))


def test_equal_frozen_towers_of_two_models_become_one():
    one, other, moved = random_vlm(), random_vlm(), random_vlm()
    for vlm in (one, other, moved):
        vlm.freeze_vision()
    with torch.no_grad():
        next(moved.model.model.visual.parameters()).add_(1.0)
    before = features(Encoder(other))
    other.share_frozen_tower(one)
    moved.share_frozen_tower(one)
    assert Encoder(one).vision.is_of(other)
    assert not Encoder(one).vision.is_of(moved)
    assert alike(features(Encoder(other)), before)
