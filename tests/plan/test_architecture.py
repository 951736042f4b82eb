"""Shapes of models: parameters as in real weights, images as the real processor cuts them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from components.params import RecipeError
from components.plan.architecture import KNOWN, architecture_of

BASE = Path("data/base_model")


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
    config["vision_config"] |= {**values["vision_config"], "num_heads": 16}
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


@pytest.mark.parametrize("viewport", [(160, 210), (480, 640), (1280, 720)])
def test_a_screenshot_has_as_many_tokens_as_the_encoder_counts(viewport):
    import io

    from PIL import Image as PILImage

    from components.model import VLM, Encoder
    from components.records import Image

    out = io.BytesIO()
    PILImage.new("RGB", viewport).save(out, "PNG")
    encoder = Encoder(VLM.without_weights(BASE))
    assert encoder.vision.tokens(Image.of(out.getvalue())) == architecture_of(str(BASE)).image_tokens(viewport)


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
