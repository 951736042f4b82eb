"""Shapes of models: parameters as in real weights, images as the real processor cuts them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.architecture import KNOWN, ImageLimits, architecture_of
from components.params import RecipeError

BASE, CITY = Path("data/base_model"), Path("data/city_base_model")


def stored_parameters(path: Path) -> int:
    """Numbers in a file of safetensors, by its header."""
    with path.open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    total = 0
    for name, entry in header.items():
        count = 1
        for side in entry["shape"] if name != "__metadata__" else [0]:
            count *= side
        total += count
    return total


def test_parameters_are_those_of_the_stored_weights():
    assert architecture_of(str(BASE)).parameters == stored_parameters(BASE / "model.safetensors")


@pytest.mark.parametrize("name", json.loads(KNOWN.read_text()))
def test_published_models_have_the_parameters_that_transformers_gives_them(name):
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    values = json.loads(KNOWN.read_text())[name]
    config = json.loads((BASE / "config.json").read_text())
    tied = values["tie_word_embeddings"]
    config |= {"tie_word_embeddings": tied}
    config["text_config"] |= {**values["text_config"], "tie_word_embeddings": tied}
    config["text_config"]["rope_parameters"]["mrope_section"] = [24, 20, 20]
    config["vision_config"] |= values["vision_config"]
    with torch.device("meta"):
        model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(**config))
    language = model.model.language_model
    architecture = architecture_of(f"{name}-Instruct")
    assert architecture.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert architecture.vision_parameters == sum(parameter.numel() for parameter in model.model.visual.parameters())
    matrices = [parameter for parameter in language.layers.parameters() if parameter.dim() == 2]
    assert architecture.matrix_parameters == sum(map(torch.numel, matrices)) + model.lm_head.weight.numel()


@pytest.mark.parametrize(("viewport", "tokens"), [((1280, 720), 40 * 22), ((160, 210), 5 * 7), ((10, 10), 1)])
def test_a_screenshot_has_a_token_for_each_square_of_32_pixels(viewport, tokens):
    assert architecture_of(str(BASE)).image_tokens(viewport) == tokens


@pytest.mark.parametrize("model", [BASE, CITY])
@pytest.mark.parametrize("viewport", [(10, 10), (160, 210), (480, 640), (1024, 576), (1280, 720), (2560, 1440)])
def test_a_screenshot_has_as_many_tokens_as_the_encoder_counts(model, viewport):
    import io

    from PIL import Image as PILImage

    from components.model import VLM, Encoder
    from components.records import Image

    out = io.BytesIO()
    PILImage.new("RGB", viewport).save(out, "PNG")
    encoder = Encoder(VLM.without_weights(model))
    assert encoder.vision.tokens(Image.of(out.getvalue())) == architecture_of(str(model)).image_tokens(viewport)


def test_a_screenshot_of_the_citys_recipe_has_60_tokens():
    # 65,536 pixels at most: 1024 × 576 becomes 320 × 192, that is 10 × 6 squares
    assert architecture_of(str(CITY)).image_tokens((1024, 576)) == 60


@settings(max_examples=200, deadline=None)
@given(
    st.integers(20, 3000), st.integers(20, 3000),
    st.sampled_from([(65_536, 16_777_216), (1024, 65_536), (1024, 1_638_400), (200_000, 300_000)]),
)  # fmt: skip
def test_screenshots_are_resized_as_transformers_does(width, height, limits):
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    own = ImageLimits(shortest_edge=limits[0], longest_edge=limits[1]).resized((width, height), 32)
    rows, columns = smart_resize(height, width, 32, *limits)
    assert own == (columns, rows)


def test_published_models_enlarge_screenshots_of_few_pixels():
    # 160 × 210 has less than 65,536 pixels: both sides by 1.397, then up to multiples of 32: 224 × 320
    model = architecture_of("Qwen/Qwen3-VL-2B-Instruct")
    assert model.image_tokens((160, 210)) == 7 * 10
    assert model.image_tokens((1280, 720)) == 40 * 22


@pytest.mark.parametrize(
    ("text", "reason"), [("{", "is not JSON"), ('{"size": {"longest_edge": "x"}}', "must be numbers")]
)
def test_a_damaged_image_configuration_is_named(tmp_path, text, reason):
    (tmp_path / "config.json").write_text((BASE / "config.json").read_text())
    assert architecture_of(str(tmp_path)).image_limits == ImageLimits(), "without a file, as published"
    (tmp_path / "preprocessor_config.json").write_text(text)
    with pytest.raises(RecipeError, match=f"preprocessor_config.json.*{reason}"):
        architecture_of(str(tmp_path))


def test_a_model_without_a_known_shape_is_refused_with_what_helps():
    with pytest.raises(RecipeError, match=r"known models are Qwen/Qwen3-VL-2B.*config\.json in model\.base"):
        architecture_of("Someone/Else-7B")


@pytest.mark.parametrize(("text", "reason"), [('{"model_type": "qw', "is not JSON"), ("[]", "is not a JSON object")])
def test_a_damaged_config_is_named(tmp_path, text, reason):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RecipeError, match=f"config.json {reason}"):
        architecture_of(str(tmp_path))


def test_a_config_of_another_kind_is_refused_by_its_missing_fields(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(RecipeError, match="text_config, vision_config"):
        architecture_of(str(tmp_path))
