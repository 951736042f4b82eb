"""What servers are sent: placeholders unexpanded, images in the size in which they are seen."""

import pytest
import torch

from components.model import Encoder
from components.records import Image
from tests.vlm import TASK, observation, picture, random_vlm, renderer


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(random_vlm())


def test_a_folded_prompt_has_one_placeholder_per_image(encoder):
    turns = []
    prompt = encoder.encode(renderer(screenshots=2).prompt(TASK, turns, observation(1)))
    folded = encoder.fold_images(prompt)
    pads = prompt.ids.count(encoder.image_token_id)
    assert pads == 6
    assert folded.count(encoder.image_token_id) == 1
    at = folded.index(encoder.image_token_id)
    assert [*folded[:at], *[encoder.image_token_id] * pads, *folded[at + 1 :]] == prompt.ids


@pytest.mark.parametrize(("width", "height"), [(96, 64), (100, 75), (33, 210), (1500, 1300)])
def test_an_image_that_the_model_saw_gives_the_same_pixels_unresized(encoder, width, height):
    image = picture(1, width, height)
    seen = Image.of(encoder.vision.for_server(image).png)
    pixels, grid = encoder.vision.pixels(image)
    again, same_grid = encoder.vision.pixels(seen)
    assert torch.equal(grid, same_grid)
    assert torch.equal(pixels, again)
    assert (seen.data == image.data) == (width % 32 == height % 32 == 0)


def test_equal_tokens_of_all_texts_are_one_object(encoder):
    """A list of a training set then has 8 bytes for each token, and not 36."""
    texts = ["a window", "window b"]
    ids = [encoder.target_tokens(texts[0]), encoder.target_tokens(texts[1]), encoder.tokens(texts[0])]
    large = [number for number in {*ids[0]} & {*ids[1]} & {*ids[2]} if number > 256]  # Python shares smaller ones
    assert large
    for number in large:
        assert len({id(token) for row in ids for token in row if token == number}) == 1
