"""The shape of a Qwen3-VL: its parameters by part, and what a token costs in memory and arithmetic.

The shape is read from `config.json` in the model's directory, or in the cache of the Hugging Face hub, and the limits
of its images from `preprocessor_config.json` there. The shapes of the published models are in `architectures.json`.
Nothing is downloaded, and no weight is read.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from components.params import RecipeError

KNOWN = Path(__file__).with_name("architectures.json")
PREPROCESSOR = "preprocessor_config.json"
_EDITION = re.compile(r"-(Instruct|Thinking)$")


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


SCALED_ALREADY = frozenset({"su", "longrope", "llama3", "yarn"})
"""Kinds of rotary scaling whose factor `max_position_embeddings` has already."""


class RotaryScaling(_Shape):
    """How the rotary embedding is scaled. Older configurations call the section `rope_scaling`, and its kind `type`."""

    kind: str = Field(default="default", validation_alias=AliasChoices("rope_type", "type"))
    factor: PositiveFloat | None = None

    @property
    def lengthening(self) -> float:
        """By what `max_position_embeddings` is multiplied, as vLLM does (`_get_and_verify_max_len`)."""
        return 1.0 if self.factor is None or self.kind in SCALED_ALREADY else self.factor


class TextShape(_Shape):
    """The language model."""

    hidden_size: PositiveInt
    intermediate_size: PositiveInt
    num_hidden_layers: PositiveInt
    num_attention_heads: PositiveInt
    num_key_value_heads: PositiveInt
    head_dim: PositiveInt
    vocab_size: PositiveInt
    max_position_embeddings: PositiveInt | None = None
    """Positions of the rotary embedding before it is scaled; None if the configuration does not name them."""
    rope_parameters: RotaryScaling | None = Field(
        default=None, validation_alias=AliasChoices("rope_parameters", "rope_scaling")
    )

    @property
    def positions(self) -> float | None:
        """The longest sequence for which the model is made, in tokens; None if the configuration does not say."""
        positions, scaling = self.max_position_embeddings, self.rope_parameters
        return positions if positions is None or scaling is None else positions * scaling.lengthening

    @property
    def query_width(self) -> int:
        """Channels of all queries."""
        return self.num_attention_heads * self.head_dim

    @property
    def key_width(self) -> int:
        """Channels of all keys; the values have as many."""
        return self.num_key_value_heads * self.head_dim

    @property
    def layer_matrices(self) -> int:
        """Parameters of a layer's seven matrices."""
        attention = 2 * self.query_width + 2 * self.key_width
        return self.hidden_size * (attention + 3 * self.intermediate_size)

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer: matrices, and the norms of its inputs, queries and keys."""
        return self.layer_matrices + 2 * self.hidden_size + 2 * self.head_dim

    @property
    def table_parameters(self) -> int:
        """Parameters of the embeddings, or of the output layer."""
        return self.vocab_size * self.hidden_size


class VisionShape(_Shape):
    """The vision tower with its mergers."""

    depth: PositiveInt
    hidden_size: PositiveInt
    intermediate_size: PositiveInt
    out_hidden_size: PositiveInt
    num_heads: PositiveInt
    num_position_embeddings: PositiveInt
    patch_size: PositiveInt
    temporal_patch_size: PositiveInt
    spatial_merge_size: PositiveInt
    in_channels: PositiveInt = 3
    deepstack_visual_indexes: tuple[int, ...] = ()

    @property
    def patch_values(self) -> int:
        """Values of a patch: channels, frames, rows and columns."""
        return self.in_channels * self.temporal_patch_size * self.patch_size**2


class ImageLimits(_Shape):
    """The pixels that an image has at least and at most. The image processor calls these areas edges. The defaults are
    those of the published Qwen3-VL models."""

    shortest_edge: PositiveInt = 65_536
    longest_edge: PositiveInt = 16_777_216

    def resized(self, viewport: tuple[int, int], side: int) -> tuple[int, int]:
        """Width and height of a screenshot as the vision tower reads it, as transformers' `smart_resize` computes them.

        Args:
            side: pixels of a token's square, of which both lengths are multiples.
        """
        width, height = viewport
        rounded = round(width / side) * side, round(height / side) * side
        if math.prod(rounded) > self.longest_edge:
            scale = math.sqrt(height * width / self.longest_edge)
            return max(side, _floor(width / scale, side)), max(side, _floor(height / scale, side))
        if math.prod(rounded) < self.shortest_edge:
            scale = math.sqrt(self.shortest_edge / (height * width))
            return _ceil(width * scale, side), _ceil(height * scale, side)
        return rounded


def _floor(length: float, side: int) -> int:
    return math.floor(length / side) * side


def _ceil(length: float, side: int) -> int:
    return math.ceil(length / side) * side


class Architecture(_Shape):
    """A whole model."""

    name: str
    text_config: TextShape
    vision_config: VisionShape
    image_limits: ImageLimits = ImageLimits()
    tie_word_embeddings: bool

    @property
    def language_parameters(self) -> int:
        """Parameters of the language model, with embeddings and output layer."""
        text = self.text_config
        return text.num_hidden_layers * text.layer_parameters + self.root_parameters

    @property
    def root_parameters(self) -> int:
        """Parameters of the language model outside of its layers: embeddings, output layer, last norm."""
        text = self.text_config
        return text.table_parameters * (1 if self.tie_word_embeddings else 2) + text.hidden_size

    @property
    def vision_parameters(self) -> int:
        """Parameters of the vision tower, the merger and the mergers of DeepStack."""
        vision = self.vision_config
        width, inner, merged = vision.hidden_size, vision.intermediate_size, self.merged_width
        patches = vision.patch_values * width + width + vision.num_position_embeddings * width
        block = 4 * width**2 + 4 * width + 2 * width * inner + inner + width + 4 * width
        linear = merged**2 + merged + merged * vision.out_hidden_size + vision.out_hidden_size
        deep = len(vision.deepstack_visual_indexes) * (linear + 2 * merged)
        return patches + vision.depth * block + linear + 2 * width + deep

    @property
    def parameters(self) -> int:
        """All parameters; tied embeddings count once."""
        return self.language_parameters + self.vision_parameters

    @property
    def matrix_parameters(self) -> int:
        """Parameters of the language model that each token is multiplied with: the layers and the output layer."""
        text = self.text_config
        return text.num_hidden_layers * text.layer_matrices + text.vocab_size * text.hidden_size

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of low-rank adapters on all matrices of the layers."""
        text = self.text_config
        ends = (
            2 * (text.hidden_size + text.query_width)
            + 2 * (text.hidden_size + text.key_width)
            + 3 * (text.hidden_size + text.intermediate_size)
        )
        return text.num_hidden_layers * rank * ends

    def cache_bytes(self, bytes_per_value: int) -> int:
        """Bytes of keys and values of one token in all layers."""
        text = self.text_config
        return 2 * text.num_hidden_layers * text.key_width * bytes_per_value

    def image_patches(self, viewport: tuple[int, int]) -> int:
        """Patches of a screenshot in the size that the image processor gives it."""
        patch = self.vision_config.patch_size
        width, height = self.image_limits.resized(viewport, patch * self.vision_config.spatial_merge_size)
        return (width // patch) * (height // patch)

    def image_tokens(self, viewport: tuple[int, int]) -> int:
        """Tokens of a screenshot in a prompt."""
        return self.image_patches(viewport) // self.vision_config.spatial_merge_size**2

    @property
    def merged_width(self) -> int:
        """Channels of the patches that the merger joins into a token."""
        return self.vision_config.hidden_size * self.vision_config.spatial_merge_size**2


def architecture_of(model: str, root: Path = Path()) -> Architecture:
    """The shape of a model, given as a directory or a Hugging Face name.

    Args:
        root: the folder to which the directory is relative.

    Raises:
        RecipeError: the directory has no usable `config.json` or `preprocessor_config.json`, or the name is neither in
            the table nor in the cache of the hub.
    """
    config = root / model / "config.json"
    if config.exists():
        return _read(model, config)
    known: dict[str, dict[str, Any]] = json.loads(KNOWN.read_text())
    values = known.get(_EDITION.sub("", model))
    if values is not None:
        return _parsed(model, values, str(KNOWN))
    if (cached := _cached_config(model)) is not None:
        return _read(model, cached)
    raise RecipeError(
        f"the plan needs the shape of {model}: there is no {config}, the cache of the Hugging Face hub does not have "
        f"it, and the known models are {', '.join(known)} (Instruct and Thinking). Name a directory with its "
        f"config.json in model.base or model.judge_base, or fetch it: `hf download {model} config.json {PREPROCESSOR}`"
    )


def _read(model: str, config: Path) -> Architecture:
    limits = _image_limits(config.with_name(PREPROCESSOR))
    return _parsed(model, _object(config) | {"image_limits": limits}, str(config))


def _cached_config(model: str) -> Path | None:
    """The `config.json` of a model that was downloaded; None without one, or without the hub's package."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ModuleNotFoundError:  # it comes with the extra `train`
        return None
    try:
        path = try_to_load_from_cache(model, "config.json")
    except HFValidationError:  # a directory that is not there yet
        return None
    return Path(path) if isinstance(path, str) else None


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model."""
    try:
        values = json.loads(path.read_text())
    except ValueError as error:
        raise RecipeError(f"{path} is not JSON ({error}): fetch the model again") from error
    if not isinstance(values, dict):
        raise RecipeError(f"{path} is not a JSON object: fetch the model again")
    return values


def _image_limits(path: Path) -> ImageLimits:
    """The limits in the configuration of an image processor; the defaults without one."""
    if not path.exists():
        return ImageLimits()
    try:
        return ImageLimits.model_validate(_object(path).get("size", {}))
    except ValidationError as error:
        raise RecipeError(
            f"{path}: size.shortest_edge and size.longest_edge must be numbers of pixels: fetch the model again"
        ) from error


def _parsed(model: str, values: dict[str, Any], source: str) -> Architecture:
    try:
        return Architecture.model_validate({"tie_word_embeddings": False, **values, "name": model})
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise RecipeError(f"{source}: no Qwen3-VL configuration (wrong or missing: {fields})") from error
