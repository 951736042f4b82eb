"""The section of the small base model: its training pages, its curriculum and its size."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from components.params.section import Section, Seed

PageKindName = Literal["widgets", "applications", "sentences"]
"""`widgets`: small pages of a few elements. `applications`: 1024 by 576 pixels with a menu, tables, forms or cards,
most of them with 15 to 80 elements, whose names have several words. `sentences`: the same with menus whose lines share
words, and questions that mean an element by a part of its name."""


class PretrainPhase(Section):
    """A phase of the curriculum. In the first phase, thoughts name elements; with `points`, thoughts also give their
    coordinates; with `varied`, the questions have many wordings. A phase may have pages of its own kind.

    The learning rate rises over `warmup_steps` and falls linearly to 2% over `decay_steps`. Each phase has its own
    optimiser.
    """

    steps: int = Field(gt=0)
    """Optimiser steps."""
    decay_steps: int = Field(gt=0)
    """Steps after which the learning rate is at its lowest."""
    warmup_steps: int = Field(gt=0)
    """Steps in which it rises."""
    points: bool
    """Thoughts give the coordinates of elements, too."""
    varied: bool = False
    """The questions have many wordings."""
    kind: PageKindName | None = None
    """Of this phase's pages. Null: `pretrain.kind`."""
    respelled: float = Field(default=0.0, ge=0, le=1)
    """Share of the words of names and of texts to write that are replaced, in each sequence anew, by words of random
    tokens (`training.respelling`), so that every token is copied at times. The element list then has other words than
    the screenshot: it suits a base that does not read pixels (`pixel_share: 0`)."""


class PretrainParams(Section):
    """All settings that determine the base model. The defaults are those of the committed `data/base_model`."""

    out: str = "data/base_model"
    """Directory of the base that is made."""
    start: str | None = None
    """Directory of a base whose weights and tokenizer training begins with; its sizes hold then. Null: random weights,
    and a tokenizer trained on the pages."""
    kind: PageKindName = "widgets"
    """Of the pages of all phases that name none, and of those that the tokenizer is trained on."""
    pages: int = Field(default=10_000, gt=0)
    """Of each kind."""
    held_out: int = Field(default=100, gt=0)
    """Number of pages of each kind that are not trained on. Accuracy is measured on them."""
    phases: tuple[PretrainPhase, ...] = Field(
        default=(
            PretrainPhase(steps=600, decay_steps=950, warmup_steps=100, points=False),
            PretrainPhase(steps=1300, decay_steps=1300, warmup_steps=30, points=True),
            PretrainPhase(steps=1000, decay_steps=1000, warmup_steps=50, points=True, varied=True),
        ),
        min_length=1,
    )
    seed: Seed = 7
    """Seed of the pages, the questions and the first weights."""
    vocabulary: int = Field(default=2560, gt=0)
    """Tokens of the tokenizer that is trained on the pages, special tokens included."""
    hidden: int = Field(default=192, gt=0)
    """Width of the language model."""
    layers: int = Field(default=4, gt=0)
    """Layers of the language model."""
    vision_hidden: int = Field(default=96, gt=0)
    """Width of the vision tower."""
    vision_depth: int = Field(default=3, ge=2)
    """Blocks of the vision tower. DeepStack takes features from the first two."""
    patch: int = Field(default=16, gt=0)
    """Side of an image patch in pixels. Two by two patches are one image token."""
    max_pixels: int = Field(default=1280 * 1280, ge=32 * 32)
    """Larger screenshots are scaled down to this many pixels: 32 by 32 of them are one image token."""
    lr: float = Field(default=1.5e-3, gt=0)
    """Highest learning rate of a phase."""
    batch: int = Field(default=32, gt=0)
    """Sequences per step."""
    questions: int = Field(default=6, gt=0)
    """Maximum number of questions in a sequence about its page."""
    pixel_share: float = Field(default=0.15, ge=0, le=1)
    """Share of the sequences that have only the screenshot and no element list."""

    def kind_of(self, phase: PretrainPhase) -> PageKindName:
        """Return the kind of the pages of a phase."""
        return phase.kind or self.kind

    @model_validator(mode="after")
    def _pages_are_left_to_train_on(self) -> PretrainParams:
        if self.held_out >= self.pages:
            raise ValueError(
                f"held_out = {self.held_out} must be smaller than pages = {self.pages}: training takes the pages that "
                "are not held out"
            )
        return self
