"""How far pre-training is, and the file from which a killed run goes on as if it had not been killed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from components.model.vlm import VLM
from components.store import publish

Figures = dict[str, float]
"""Figures of one step: `step`, and some of `questions`, `loss` in nats per token, `seconds` of the phase,
`accuracy_list` and `accuracy_pixels`."""


@dataclass(frozen=True)
class Conversation:
    """Questions about one page as one sequence.

    Attributes:
        ids: tokens, (T,).
        labels: the token to learn at each place, -100 where none is, (T,).
        page: number of the page among those of its kind.
    """

    ids: list[int]
    labels: list[int]
    page: int


@dataclass
class Progress:
    """The state of pre-training besides the weights.

    Attributes:
        phase: number of the phase, from 0.
        step: steps taken in this phase.
        rng: draws the phase's pages and questions; None before the first phase.
        pool: sequences that were drawn and not trained on yet.
        curve: all figures so far.
    """

    phase: int = 0
    step: int = 0
    questions: int = 0
    seconds: float = 0.0
    rng: random.Random | None = None
    pool: list[Conversation] = field(default_factory=list)
    curve: list[Figures] = field(default_factory=list)
    _optimizer: dict[str, Any] | None = None

    @property
    def drawn_by(self) -> random.Random:
        """The generator of the phase that runs."""
        if self.rng is None:
            raise RuntimeError("no phase has begun: call `begin` first")
        return self.rng

    def begin(self, phase: int, rng: random.Random) -> None:
        """Begin a phase."""
        self.phase, self.step, self.questions, self.seconds = phase, 0, 0, 0.0
        self.rng, self.pool = rng, []

    def restore(self, optimizer: torch.optim.Optimizer) -> None:
        """Give the optimiser of a phase the state that was loaded for it, if there is one."""
        if self._optimizer is not None:
            optimizer.load_state_dict(self._optimizer)
        self._optimizer = None

    def save(self, path: Path, vlm: VLM, optimizer: torch.optim.Optimizer) -> None:
        """Write the weights and the state of training atomically."""
        saved = {
            "model": vlm.model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "counts": (self.phase, self.step, self.questions, self.seconds),
            "rng": self.drawn_by.getstate(),
            "pool": [(sequence.ids, sequence.labels, sequence.page) for sequence in self.pool],
            "curve": self.curve,
        }
        partial = path.with_name(f".{path.name}.part")
        torch.save(saved, partial)
        publish(partial, path)

    @classmethod
    def load(cls, path: Path, vlm: VLM) -> Progress:
        """The state in a file, whose weights the model gets; without a file, that before the first phase."""
        if not path.exists():
            return cls()
        saved: dict[str, Any] = torch.load(path, map_location=vlm.model.device, weights_only=True)
        vlm.model.load_state_dict(saved["model"])
        rng = random.Random()
        rng.setstate(saved["rng"])
        pool = [Conversation(*sequence) for sequence in saved["pool"]]
        phase, step, questions, seconds = saved["counts"]
        return cls(phase, step, questions, seconds, rng, pool, saved["curve"], saved["optimizer"])
