"""Seconds of a model's work on devices: reading prompts, decoding, training.

Work is counted in floating-point operations (2 per parameter and token in a forward pass, and attention) and in bytes
read per decoding step; `Rates` says which share of the device's peak is reached.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.architecture import Architecture
from components.params import ModelParams
from components.plan.hardware import Device
from components.plan.rates import Rates


@dataclass(frozen=True)
class Speeds:
    """The speeds of one model on `devices` devices that work together; 0.5 is half of a processor."""

    architecture: Architecture
    model: ModelParams
    device: Device
    rates: Rates
    devices: float = 1.0

    def prefill_s(self, tokens: float, images: float = 0.0, patches: int = 0) -> float:
        """Seconds to read a prompt: tokens that no cache holds, and new images of `patches` patches each."""
        work = self._forward(tokens, tokens) + 2 * self.architecture.vision_parameters * images * patches
        return work / (self._flops * self.rates.prefill_share)

    def token_s(self, sequences: int, context: float) -> float:
        """Seconds of one decoding step of some sequences with `context` tokens each."""
        word = 4 if self.model.dtype == "float32" else 2
        weights = word * self.architecture.matrix_parameters
        cache = sequences * context * self.architecture.cache_bytes(word)
        reading = (weights + cache) / (self.devices * self.device.bandwidth * self.rates.bandwidth_share)
        arithmetic = self._forward(sequences, context) / (self._flops * self.rates.prefill_share)
        return max(reading, arithmetic) + self.rates.token_s + self.rates.row_s * sequences

    def training_s(self, stage: str, tokens: float, length: float, passes: float = 1.0) -> float:
        """Seconds of forward and backward passes.

        Args:
            tokens: tokens of a pass, each prefix that samples share counted once.
            length: mean length of a sample in tokens.
            passes: number of passes over the tokens.
        """
        return passes * self.training_flops(tokens, length) / (self._flops * self.rates.training_share_of(stage))

    def scoring_s(self, stage: str, tokens: float, length: float) -> float:
        """Seconds of a forward pass of the trainer without a backward pass."""
        return self._forward(tokens, length) / (self._flops * self.rates.training_share_of(stage))

    def training_flops(self, tokens: float, length: float) -> float:
        """Operations of a forward and a backward pass. Adapters need no gradient of the weights under them, and
        checkpointing repeats the forward pass."""
        forward = self._forward(tokens, length)
        lora = self.model.lora
        if lora is None:
            passes, adapters = 3.0, 0.0
        else:
            passes, adapters = 2.0, 6.0 * self.architecture.adapter_parameters(lora.rank) * tokens
        return (passes + self.model.gradient_checkpointing) * forward + adapters

    def tower_s(self, stage: str, images: float, patches: int, passes: float) -> float:
        """Seconds of the vision tower on images: once each if it is frozen, and forward and backward in each pass over
        the samples if it is trained."""
        rounds = 3.0 * passes if self.model.train_vision else 1.0
        work = rounds * 2 * self.architecture.vision_parameters * images * patches
        return work / (self._flops * self.rates.training_share_of(stage))

    @property
    def trained_parameters(self) -> int:
        """Parameters with a gradient."""
        if self.model.lora is not None:
            return self.architecture.adapter_parameters(self.model.lora.rank)
        tower = self.architecture.vision_parameters if self.model.train_vision else 0
        return self.architecture.language_parameters + tower

    @property
    def _flops(self) -> float:
        return self.devices * self.device.flops

    def _forward(self, tokens: float, length: float) -> float:
        """Operations of a forward pass: each token attends to half of `length` tokens on average."""
        text = self.architecture.text_config
        attention = 2 * text.num_hidden_layers * text.query_width * length
        return tokens * (2 * self.architecture.matrix_parameters + attention)
