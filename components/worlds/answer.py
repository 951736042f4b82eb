"""What all kinds of answers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

MAX_CHARACTERS = 400
"""An answer that is longer is wrong: it hides its value among others."""
ARTICLE = "(?:the |a |an )?"
DENIED = rf"(?:\bnot|n't|\bthan|\binstead of) {ARTICLE}"
"""Before a name that an answer excludes: "not Rope", "cheaper than the Rope"."""


class Answer(ABC):
    """What a task wants to hear."""

    @abstractmethod
    def accepts(self, answer: str) -> bool:
        """Whether the answer is right."""

    @property
    @abstractmethod
    def example(self) -> str:
        """A right answer, which the oracle gives."""

    @property
    def candidates(self) -> Sequence[str]:
        """Other answers of the same kind, for the attack that names them all."""
        return ()

    @property
    def listed(self) -> str | None:
        """The answer of that attack: the right one and all candidates. None if there are no candidates."""
        return ", ".join([self.example, *self.candidates]) if self.candidates else None
