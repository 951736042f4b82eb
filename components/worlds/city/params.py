"""The city's section of a recipe, `worlds.city`, and the tasks that a benchmark pins."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from components.params import NoEffect, Section
from components.worlds import PinnedTasks

SEEDS_PER_TASK = 4
"""At most this many seeds are tried for one task, because not every seed has an instance of a template, or one that no
earlier split has."""


class CityParams(Section):
    """Which templates the tasks come from, and how many of each.

    No split has a seed of another one, and no two splits have the same template with the same facts: evaluation,
    held-out and validation tasks, in this order, leave out what training and the splits before them have.
    """

    train: list[str] = Field(default_factory=list)
    """Names of templates, or of sites for all their templates: trained on, and evaluated with other seeds."""
    heldout: list[str] = Field(default_factory=list)
    """Templates or sites that are never trained on, even if `train` names them. With a site, all templates that use it
    are held out, wherever they start."""
    train_per_template: int = Field(default=20, ge=0)
    """Training tasks of each template of `train`."""
    eval_per_template: int = Field(default=5, ge=0)
    """Evaluation tasks of each template of `train`."""
    heldout_per_template: int = Field(default=5, ge=0)
    """Tasks of each template of `heldout`, and of each template of `train` per held-out modifier."""
    train_seed_start: int = Field(default=1, ge=1)
    """First seed of the training tasks."""
    eval_seed_start: int = Field(default=100_000, ge=1)
    """First seed of the evaluation tasks and of the held-out ones."""
    validation_seed_start: int = Field(default=200_000, ge=1)
    """First seed of the tasks that RL validates with (`rl.validation`)."""
    modifiers: list[str] = Field(default_factory=list)
    """What may change the sites of a training or evaluation task (`city.modifiers`); each task has one of these or
    none, by its seed. Empty: none."""
    heldout_modifiers: list[str] = Field(default_factory=list)
    """Modifiers of held-out tasks: the templates of `train`, with seeds that no other task has, once per modifier."""
    processes: Annotated[int, NoEffect] = Field(default=1, ge=1)
    """Server processes of a pool of browsers, which divide its episodes among them. Pages of one process wait for one
    another. Each process has a Chromium of its own."""

    @model_validator(mode="after")
    def _splits_disjoint(self) -> CityParams:
        last = self.train_seed_start + SEEDS_PER_TASK * self.train_per_template
        if last > self.eval_seed_start:
            raise ValueError(
                f"eval_seed_start = {self.eval_seed_start} must be at least train_seed_start + {SEEDS_PER_TASK} * "
                f"train_per_template = {last}, or seeds overlap"
            )
        of_trained = self.eval_per_template + self.heldout_per_template * len(self.heldout_modifiers)
        last = self.eval_seed_start + SEEDS_PER_TASK * max(of_trained, self.heldout_per_template)
        if last > self.validation_seed_start:
            raise ValueError(
                f"validation_seed_start = {self.validation_seed_start} must be at least {last}, the first seed after "
                "the evaluation's, or seeds overlap"
            )
        for kind, both in (
            ("templates or sites", {*self.train} & {*self.heldout}),
            ("modifiers", {*self.modifiers} & {*self.heldout_modifiers}),
        ):
            if both:
                raise ValueError(f"{kind} {sorted(both)} are both trained on and held out")
        return self


class PinnedInstances(PinnedTasks):
    """Tasks of a benchmark: instances of templates, by seed, no two of them with the same facts. `sha256` is that of
    their rows, so a version of the city that makes other tasks is refused."""

    templates: list[str] | None = Field(default=None, min_length=1)
    """Names of templates, or of sites for all templates that start there; null takes all."""
    first_seed: int = Field(ge=1)
    """Each template has the first suitable seeds from here on."""
    per_template: int = Field(gt=0)
    modifiers: list[str] = Field(default_factory=list)
    """Each task has one of these, in turn by its seed. Empty: none."""
