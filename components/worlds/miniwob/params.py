"""The section `worlds.miniwob` of a recipe, and the pages that a published benchmark pins."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.params import Section
from components.worlds import PinnedTasks


class MiniWoBParams(Section):
    """The families for training and evaluation, and the number of pages of each. A family and a seed make a page."""

    train: list[str] = Field(default_factory=list)
    """Families for training and evaluation."""
    rl: list[str] = Field(default_factory=list)
    """Families that RL alone trains on, so without demonstrations. They are neither evaluated nor validated with."""
    heldout: list[str] = Field(default_factory=list)
    """Families that are never used in training."""
    train_per_family: int = Field(default=0, ge=0)
    """Training pages of each family of `train` and of `rl`."""
    eval_per_family: int = Field(default=0, ge=0)
    """Evaluation pages of each family of `train`."""
    heldout_per_family: int = Field(default=0, ge=0)
    """Pages of each held-out family."""
    train_seed_start: int = Field(default=0, ge=0)
    """First seed of the training pages."""
    eval_seed_start: int = Field(default=1_000_000, ge=0)
    """First seed of the evaluation pages and of the held-out ones."""
    validation_seed_start: int = Field(default=3_000_000, ge=0)
    """First seed of the pages that RL validates with (`rl.validation`)."""

    @model_validator(mode="after")
    def _seeds_disjoint(self) -> MiniWoBParams:
        if self.train_seed_start + self.train_per_family > self.eval_seed_start:
            raise ValueError(
                f"eval_seed_start = {self.eval_seed_start} must be at least train_seed_start + train_per_family = "
                f"{self.train_seed_start + self.train_per_family}, or seeds overlap"
            )
        last = self.eval_seed_start + max(self.eval_per_family, self.heldout_per_family)
        if last > self.validation_seed_start:
            raise ValueError(
                f"validation_seed_start = {self.validation_seed_start} must be at least {last}, the first seed after "
                "the evaluation's, or seeds overlap"
            )
        both = {*self.train, *self.rl} & set(self.heldout)
        if both:
            raise ValueError(f"families {sorted(both)} are both trained on and held out")
        if twice := set(self.train) & set(self.rl):
            raise ValueError(f"families {sorted(twice)} are in train and in rl: RL trains on those of train, too")
        return self


class PinnedPages(PinnedTasks):
    """Pages of a benchmark: families of a package, by seed. `sha256` is `pages_sha256()`."""

    package: str
    """Name and version, such as `miniwob==1.1.0`."""
    families: list[str] | None = Field(default=None, min_length=1)
    """The families; null takes all."""
    leave_out: list[str] = Field(default_factory=list)
    """Families that are not taken."""
    first_seed: int
    per_page: int = Field(gt=0)
