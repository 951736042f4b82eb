"""Memory of each device: a sum of parts, each with its formula.

The activation formulas were fitted to what autograd saves in this repository's model (`tests/plan/test_activations.py`
measures it again): they are exact for the language model's layers. On an H200, the peak of 17 training steps was
between 11% above and 3% below the plan's tensors (docs/results/gpu.md). The rest is named in `ASSUMPTIONS`.

Letters in formulas: N parameters, T tokens of a micro-batch, L layers, h hidden size, q and k widths of queries and
keys, i inner width, V vocabulary, P processes. The root are the language model's parameters outside of its layers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from components.architecture import Architecture, TextShape
from components.params import ModelParams, OptimParams, Params, VLLMParams
from components.plan.hardware import GIB, Device

MAX_LOGITS = 2**26
"""As `components.model.scoring.MAX_LOGITS`, which a test compares; the plan does not import torch."""
LOGIT_COPIES = 5
ENCODED_PATCHES = 2**16
"""As `components.model.vision.ENCODED_PATCHES`, which a test compares."""
SERVER_WORK = 2 * GIB
"""vLLM's activations and graphs beside weights and cache, at its default of 8,192 tokens in one pass."""
SERVER_SHARE = 0.9
"""vLLM's default of `gpu_memory_utilization`."""
GPU_CONTEXT = 1.5 * GIB
CPU_CONTEXT = 1.2 * GIB
"""Python with torch, transformers and pyarrow, and the allocator's reserve."""
FRAGMENTATION = 0.05
LENT = "weights for the server"
REFERENCE_ROOT = "reference policy's root"
RESIDENT = (
    "weights", "frozen vision tower", "adapters", "optimiser", "reference policy", REFERENCE_ROOT, "earlier weights",
    LENT,
)  # fmt: skip
"""Parts that stay in memory between updates; gradients and activations are freed."""

ASSUMPTIONS = (
    "bfloat16 without LoRA keeps float32 weights and rounds them in each product; autocast holds the rounded copies of "
    "all matrices until the forward pass ends, on each process whole, also with FSDP",
    "FSDP keeps the root (embeddings, output layer, last norm) whole in a pass, and the reference's between passes; it "
    "gathers the next layer while one is computed, and the gradient of the output layer is whole until the backward "
    "pass ends. It was measured with gloo on two CPU processes, not with NCCL",
    "with gradient checkpointing a layer keeps its input; the peak is the end of the forward pass, with the logits and "
    "the rounded weights, or the backward pass of one layer, or the vision tower, whichever is largest",
    f"a pass holds {LOGIT_COPIES} copies of one chunk of logits ({MAX_LOGITS:,} numbers)",
    "pixels and features of images are cached in the memory of the machine, not of a GPU. Counted are those of an "
    "update of RL, or of a batch of another training; a longer run fills the caches, up to "
    "model.image_cache.memory_gib of each",
    f"a CUDA context, its kernels and NCCL take {GPU_CONTEXT / GIB:g} GiB, and the allocator loses "
    f"{100 * FRAGMENTATION:g}%",
    f"vLLM takes {SERVER_WORK / GIB:g} GiB for activations and graphs, and as much while it sleeps",
    "the keys and values that a turn of a packed row gathers from earlier ones are left out: 1 GiB in a row of 54,430 "
    "tokens and 30 turns",
)


Precision = Literal["float32", "mixed", "bfloat16"]
"""What a pass computes in: float32; float32 weights rounded to bfloat16 in each product; frozen bfloat16 weights
beneath adapters."""


@dataclass(frozen=True)
class Part:
    """One entry of a device's memory, in bytes, with its formula in words."""

    name: str
    bytes: float
    formula: str


@dataclass(frozen=True)
class MemoryPlan:
    """What one device of a role needs at the peak of a stage."""

    role: str
    stage: str
    devices: int
    """Number of devices of this role."""
    capacity: float
    """Bytes that this role may use of a device."""
    parts: tuple[Part, ...]

    @property
    def needed(self) -> float:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)

    @property
    def fits(self) -> bool:
        """Whether the parts fit."""
        return self.needed <= self.capacity


class Training(NamedTuple):
    """A training stage: the model, and the tokens of a pass."""

    stage: str
    architecture: Architecture
    tokens: int
    reference: bool = False
    """A frozen copy of the trained weights is kept (KL to the first policy)."""
    whole_reference: bool = False
    """The reference is another model (KL to the SFT policy in the long phase), so nothing is shared with it."""


class Gathered(NamedTuple):
    """What a process of FSDP holds whole beside its shards (`components.training.sharding`).

    Attributes:
        parts: held from the end of the forward pass to that of the backward pass.
        in_layer: further bytes in the backward pass of a layer.
        at_end: further bytes when the root's gradient is reduced, at the end of the backward pass.
    """

    parts: tuple[Part, ...] = ()
    in_layer: float = 0.0
    at_end: float = 0.0


NOTHING = Gathered()
"""A model that is not sharded."""


def gathered(arch: Architecture, model: ModelParams, word: int) -> Gathered:
    """What FSDP gathers of a language model.

    The numbers of copies are those of PyTorch's FSDP2, which `tests/plan/test_sharded_memory.py` measures. A layer's
    backward pass holds its weights and those of the next one, its gradient, and a copy of a gradient that is sent. At
    the end, the root's weights, its gradient and a copy that is sent are there; tied embeddings have one copy more,
    because their two gradients are summed first.

    Args:
        word: bytes of a weight.
    """
    text = arch.text_config
    layer, root, table = text.layer_parameters, arch.root_parameters, text.table_parameters
    parts = [
        Part("root, gathered", word * root, f"{word} B × {root / 1e9:.3g}e9, whole: embeddings and output layer"),
        Part("layers, gathered", 2 * word * layer, f"2 layers × {word} B × {layer / 1e9:.3g}e9"),
    ]
    if model.lora is not None:
        return Gathered((*parts,))
    parts.append(Part("output layer's gradient", 4 * table, f"4 B × {table / 1e9:.3g}e9, whole until it is reduced"))
    of_root = 4 * root * (4 if arch.tie_word_embeddings else 3)
    return Gathered((*parts,), 2 * 4 * layer, max(0.0, of_root - sum(part.bytes for part in parts)))


def saved_bytes(text: TextShape, precision: Precision) -> int:
    """Bytes that autograd saves per token in one layer; in bfloat16 with the fused norms of `model.norms`."""
    h, q, k, i = text.hidden_size, text.query_width, text.key_width, text.intermediate_size
    rows = 4 * (2 * text.num_attention_heads + text.num_key_value_heads) + 8  # one number per norm and softmax
    match precision:
        case "float32":
            return 24 * h + 20 * q + 16 * k + 16 * i + 9 * text.num_attention_heads
        case "mixed":
            return 12 * h + 8 * q + 6 * k + 8 * i + rows
        case "bfloat16":
            return 8 * h + 8 * q + 6 * k + 8 * i + rows


def forward_bytes(text: TextShape, precision: Precision) -> int:
    """Bytes per token that one layer's pass without gradients holds at its peak, at most; a test measures them."""
    h, i = text.hidden_size, text.intermediate_size
    match precision:
        case "float32":
            return 20 * h + 12 * i
        case "mixed":
            return 18 * h + 6 * i
        case "bfloat16":
            return 10 * h + 8 * i


def precision_of(model: ModelParams) -> Precision:
    """What a training pass of the recipe's model computes in."""
    if model.dtype == "float32":
        return "float32"
    return "mixed" if model.lora is None else "bfloat16"


def activation_parts(arch: Architecture, params: Params, tokens: int, whole: Gathered = NOTHING) -> list[Part]:
    """What a pass over a row of tokens holds beside weights and gradients: what is kept until the backward pass, and
    the largest of what is held only for a while.

    Args:
        whole: what FSDP gathers.
    """
    text, model, precision = arch.text_config, params.model, precision_of(params.model)
    per_layer, layers = saved_bytes(text, precision), text.num_hidden_layers
    word = 2 if precision == "bfloat16" else 4
    if model.gradient_checkpointing:
        kept = Part("layer inputs", tokens * layers * word * text.hidden_size, f"T × L × {word}h; T = {tokens:,}")
        again, formula = tokens * per_layer, f"T × {per_layer:,} B and gradients"
    else:
        kept = Part("activations", tokens * layers * per_layer, f"T × L × {per_layer:,} B; T = {tokens:,}")
        again, formula = 0, f"T × {word} B × (2i + h)"
    again += tokens * word * (2 * text.intermediate_size + text.hidden_size)
    features, tower = _image_parts(arch, params, tokens, word)
    passing = [
        Part(
            "one layer's backward pass",
            again + whole.in_layer,
            formula + (", and two of its own" if whole.in_layer else ""),
        ),
        _logits_part(arch, precision, tokens, LOGIT_COPIES),
        replace(tower, bytes=max(0.0, tower.bytes - kept.bytes)),  # before the language model begins
        Part("reduction of the root's gradient", max(0.0, whole.at_end - kept.bytes), "when activations are freed"),
    ]
    return [kept, max(passing, key=lambda part: part.bytes), features]


def scoring_parts(arch: Architecture, params: Params, tokens: int, copies: int = LOGIT_COPIES) -> list[Part]:
    """What a pass without gradients over a row of tokens holds beside weights.

    Args:
        copies: of one chunk of logits.
    """
    precision = precision_of(params.model)
    per_token = forward_bytes(arch.text_config, precision)
    features, tower = _image_parts(arch, params, tokens, 2 if precision == "bfloat16" else 4)
    passing = [
        Part("one layer's forward pass", tokens * per_token, f"T × {per_token:,} B; T = {tokens:,}"),
        _logits_part(arch, precision, tokens, copies),
        tower,
    ]
    return [max(passing, key=lambda part: part.bytes), features]


def trainer_parts(training: Training, params: Params) -> list[Part]:
    """The parts of one training process."""
    model, arch = params.model, training.architecture
    shares = params.training.processes if params.training.shard and params.training.processes > 1 else 1
    precision = precision_of(model)
    word = 2 if precision == "bfloat16" else 4
    trained = _trained_parameters(model, arch)
    tower = 0 if model.train_vision else arch.vision_parameters
    spread = arch.parameters - tower
    over = f" / {shares}" if shares > 1 else ""
    parts = [Part("weights", word * spread / shares, f"{word} B × {spread / 1e9:.3g}e9{over}")]
    if tower:
        parts.append(Part("frozen vision tower", word * tower, f"{word} B × {tower / 1e9:.3g}e9, whole"))
    if model.lora is not None:
        parts.append(Part("adapters", 4 * trained / shares, f"4 B × {trained / 1e9:.3g}e9{over}, float32"))
    parts += [
        Part("gradients", 4 * trained / shares, f"4 B × {trained / 1e9:.3g}e9 trained{over}"),
        Part("optimiser", 8 * trained / shares, f"8 B × {trained / 1e9:.3g}e9 trained{over}, AdamW in float32"),
    ]
    if training.whole_reference:
        size = word * (spread / shares + tower)
        parts.append(Part("reference policy", size, f"{word} B × {arch.parameters / 1e9:.3g}e9{over}, another model"))
    elif training.reference:
        parts.append(Part("reference policy", word * trained / shares, f"{word} B × trained parameters{over}"))
    if shares > 1 and (training.reference or training.whole_reference):
        size = word * arch.root_parameters
        parts.append(Part(REFERENCE_ROOT, size, f"{word} B × {arch.root_parameters / 1e9:.3g}e9, stays gathered"))
    staleness = params.rl.max_staleness if training.stage == "train_rl" else 0
    if staleness:
        size = 2 * staleness * word * trained
        parts.append(Part("earlier weights", size, f"2 × max_staleness {staleness} copies of the trained weights"))
    if params.inference.vllm.transfer == "ipc" and precision == "mixed" and training.stage == "train_rl":
        parts.append(Part(LENT, 2 * arch.parameters, f"2 B × {arch.parameters / 1e9:.3g}e9, rounded"))
    whole = gathered(arch, model, word) if shares > 1 else NOTHING
    return [*parts, *whole.parts, *activation_parts(arch, params, training.tokens, whole)]


def resident_parts(
    arch: Architecture, params: Params, reference: bool = False, whole_reference: bool = False
) -> list[Part]:
    """What a training process keeps between updates: weights, optimiser and copies of weights.

    Args:
        reference: whether it has a reference policy.
        whole_reference: whether that is another model, not a copy of what is trained.
    """
    training = Training("train_rl", arch, 1, reference, whole_reference)
    left_out = {"optimiser"} if params.rl.objective.trains_as_sft else set[str]()  # each round has one of its own
    return [part for part in trainer_parts(training, params) if part.name in {*RESIDENT} - left_out]


def cache_part(arch: Architecture, params: Params, rows: int, length: int) -> Part:
    """The padded cache of a generation in the trainer's process."""
    per_token = arch.cache_bytes(4 if params.model.dtype == "float32" else 2)
    return Part("KV cache", rows * length * per_token, f"{rows} rows × {length:,} tokens × {per_token:,} B, padded")


def server_parts(arch: Architecture, vllm: VLLMParams, params: Params, device: Device) -> tuple[list[Part], float, int]:
    """The parts of one vLLM server's device, the bytes that it may use, and the sequences of full length that its cache
    holds (0 if not even one fits)."""
    ways = 1 if device.is_cpu else vllm.gpus_per_server
    share = vllm.engine.get("gpu_memory_utilization")
    capacity = device.memory * (float(share) if isinstance(share, int | float) else SERVER_SHARE)
    word = 4 if params.model.dtype == "float32" else 2
    per_token = arch.cache_bytes(word) / ways
    weights = word * arch.parameters / ways
    room = capacity - weights - SERVER_WORK
    length = params.agent.max_context_tokens
    sequences = max(0, int(room // (per_token * length)))
    cache = per_token * length * max(1, sequences)
    parts = [
        Part("weights", weights, f"{word} B × {arch.parameters / 1e9:.3g}e9 / {ways} GPUs of a server"),
        Part("activations and graphs", SERVER_WORK, "vLLM's own"),
        Part("KV cache", cache, f"{max(1, sequences)} × {length:,} tokens × {per_token:,.0f} B; at least 1"),
    ]
    return parts, capacity, sequences


def with_context(parts: list[Part], device: Device) -> tuple[Part, ...]:
    """The parts with those of the process itself."""
    lost = FRAGMENTATION * sum(part.bytes for part in parts)
    context = CPU_CONTEXT if device.is_cpu else GPU_CONTEXT
    name = "Python and torch" if device.is_cpu else "CUDA context"
    own = [Part(name, context, "assumed"), Part("fragmentation", lost, f"{100 * FRAGMENTATION:g}% of the rest")]
    return (*parts, *own)


def pass_tokens(optim: OptimParams | int, longest: int) -> int:
    """Tokens of one pass: those of a micro-batch, or of one sample that is longer."""
    return max(optim if isinstance(optim, int) else optim.micro_batch_tokens, longest)


def _trained_parameters(model: ModelParams, arch: Architecture) -> int:
    if model.lora is not None:
        return arch.adapter_parameters(model.lora.rank)
    return arch.parameters if model.train_vision else arch.language_parameters


def _logits_part(arch: Architecture, precision: Precision, tokens: int, copies: int) -> Part:
    """One chunk of logits, and the rounded copies that autocast keeps of all matrices until the pass ends."""
    logits = 4 * copies * min(tokens * arch.text_config.vocab_size, MAX_LOGITS)
    formula = f"4 B × {copies} copies × min(T × V, 2^26)"
    if precision != "mixed":
        return Part("logits", logits, formula)
    return Part("logits and rounded weights", logits + 2 * arch.matrix_parameters, formula + " + 2 B × each matrix")


def _image_parts(arch: Architecture, params: Params, tokens: int, word: int) -> tuple[Part, Part]:
    """The features of the images of a row, and the work of the tower on the largest batch of images."""
    vision = arch.vision_config
    patches = arch.image_patches(params.browser.viewport)
    of_image = arch.image_tokens(params.browser.viewport)
    has_images = params.agent.shows_screenshots
    images = max(1, tokens // (2 * of_image)) if has_images else 0
    feature = (1 + len(vision.deepstack_visual_indexes)) * of_image * vision.out_hidden_size * word
    at_once = min(images, max(1, ENCODED_PATCHES // patches))
    work = patches * (4 * vision.patch_values + word * (5 * vision.hidden_size + 2 * vision.intermediate_size))
    return (
        Part("image features", images * feature, f"up to {images} images, features of 1 + DeepStack layers"),
        Part("vision tower's work", at_once * work, f"up to {at_once} images × {patches:,} patches in one pass"),
    )
