"""The section `worlds.encyclopaedia` of a recipe."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.params import Section


class EncyclopaediaParams(Section):
    """The number of questions and their kinds (`questions.KINDS`). Counts are over all kinds."""

    kinds: list[str] = Field(default_factory=list)
    """Kinds of question for training and evaluation, in equal shares."""
    heldout_kinds: list[str] = Field(default_factory=list)
    """Kinds that are never used in training."""
    train: int = Field(default=0, ge=0)
    """Training questions."""
    eval: int = Field(default=0, ge=0)
    """Evaluation questions."""
    heldout: int = Field(default=0, ge=0)
    """Questions of the held-out kinds."""
    zim: str | None = None
    """A ZIM file to serve instead of the project's own encyclopaedia, such as a Wikipedia from library.kiwix.org. Its
    tasks come from `tasks.files`. A changed file needs another name, because DVC compares the name only."""

    @model_validator(mode="after")
    def _kinds_named(self) -> EncyclopaediaParams:
        both = set(self.kinds) & set(self.heldout_kinds)
        if both:
            raise ValueError(f"kinds {sorted(both)} are both trained on and held out")
        if (self.train or self.eval) and not self.kinds:
            raise ValueError("kinds is empty, and questions are asked for: name some, such as capital")
        if self.heldout and not self.heldout_kinds:
            raise ValueError(
                "heldout_kinds is empty, and held-out questions are asked for: name some, or set heldout 0"
            )
        if self.zim is not None and (self.kinds or self.heldout_kinds):
            raise ValueError(
                "zim is another encyclopaedia than the one that kinds ask about: empty kinds and heldout_kinds and "
                "give tasks by tasks.files, or set zim to null"
            )
        return self
