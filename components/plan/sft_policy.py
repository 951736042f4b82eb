"""Memory of the KL to the SFT policy, which RL measures in the iterations after which it validates.

`components.training.divergence` takes the SFT policy from memory that a trainer has already where it can: the reference
of the objective, or the weights beneath the adapters. Where it cannot, it loads that policy beside its own, and this
row says what that takes.
"""

from __future__ import annotations

from components.architecture import Architecture
from components.params import Params
from components.plan.memory import Part, gathered, pass_tokens, precision_of, scoring_parts

STAGE = "train_rl, KL to SFT"
CACHES = "image caches of the SFT policy"
TURNS = 64
"""As `components.training.divergence.TURNS`, which a test compares."""
COMPARED_COPIES = 6
"""Copies of one chunk of logits when two distributions are compared: the logits, both distributions, and three of the
sum's terms."""


def is_loaded(params: Params) -> bool:
    """Whether a phase of RL measures the KL to an SFT policy that it has to load."""
    rl, objective = params.rl, params.rl.objective
    keeps_reference = objective.needs_reference and objective.reference_decay is None
    short = params.model.lora is None and not keeps_reference
    long = not (keeps_reference and objective.refers_to_sft)
    return bool(rl.validation.every) and bool((rl.short.iterations and short) or (rl.long.iterations and long))


def parts_of(arch: Architecture, params: Params) -> list[Part]:
    """The SFT policy, and a pass without gradients, of one training process."""
    model, shares = params.model, params.training.processes if params.training.shard else 1
    word = 4 if model.dtype == "float32" else 2
    language, over = arch.parameters - arch.vision_parameters, f" / {shares}" if shares > 1 else ""
    parts = [Part("SFT policy", word * language / shares, f"{word} B × {language / 1e9:.3g}e9{over}")]
    if model.train_vision or precision_of(model) == "mixed":  # else it uses the tower of the policy
        tower = arch.vision_parameters
        parts.append(Part("SFT policy's vision tower", word * tower, f"{word} B × {tower / 1e9:.3g}e9, whole"))
    if shares > 1:
        root = arch.root_parameters
        parts.append(Part("SFT policy's root", word * root, f"{word} B × {root / 1e9:.3g}e9, stays gathered"))
        own = gathered(arch, model, 2 if model.lora is not None and word == 2 else 4)
        parts += [part for part in own.parts if part.name in ("root, gathered", "layers, gathered")]
    tokens = pass_tokens(params.rl.micro_batch_tokens, params.agent.max_context_tokens)
    return parts + scoring_parts(arch, params, tokens, COMPARED_COPIES)
