"""Measures where the time of an update goes, on one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from components.model.vision import Vision


@dataclass
class UpdateClock:
    """Seconds of an update by kind of work: figures of its iteration. The rest of the update renders, packs and draws.

    On a GPU a part ends when its kernels are launched or, where it reads a number from the GPU, when they are done. A
    training pass of a policy-gradient objective reads one after each forward and each backward pass; passes without
    gradient, and forward passes of supervised training, read none, and the next part that does contains their rest.
    """

    encoding_s: float = 0.0
    """Making images inputs of the model (`Vision.seconds`), and waiting for those that other processes encode."""
    forward_s: float = 0.0
    """Passes of the model without the encoding of images: those with gradient up to the loss, and those that score."""
    backward_s: float = 0.0
    """Gradients, and their sum over the processes."""
    optimizer_s: float = 0.0
    """Clipping gradients, and steps of the optimiser."""

    @contextmanager
    def encoding(self) -> Iterator[None]:
        """While images are encoded ahead of a pass."""
        began = perf_counter()
        try:
            yield
        finally:
            self.encoding_s += perf_counter() - began

    @contextmanager
    def forward(self, vision: Vision) -> Iterator[None]:
        """While a forward pass runs whose images are those of `vision`."""
        began, encoded_s = perf_counter(), vision.seconds
        try:
            yield
        finally:
            encoding_s = vision.seconds - encoded_s
            self.encoding_s += encoding_s
            self.forward_s += perf_counter() - began - encoding_s

    @contextmanager
    def backward(self) -> Iterator[None]:
        """While gradients are computed or summed."""
        began = perf_counter()
        try:
            yield
        finally:
            self.backward_s += perf_counter() - began

    @contextmanager
    def optimizer(self) -> Iterator[None]:
        """While the optimiser takes a step."""
        began = perf_counter()
        try:
            yield
        finally:
            self.optimizer_s += perf_counter() - began
