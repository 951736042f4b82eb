"""The words that a copy's sites show under its modifiers, so that oracles find what they look for.

The server's code knows them, which runs in an environment of its own: `wording_child.py` asks it.
"""

from __future__ import annotations

import calendar
import json
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from components.records import Record
from components.worlds.city.image import CityError, environment, find_python
from components.worlds.city.tasks.vocabulary import PRIORITIES, VOCABULARY
from components.worlds.oracle import Interruption, Step
from components.worlds.rewording import is_match_of_label
from components.worlds.target import Target

CHILD = Path(__file__).with_name("wording_child.py")
TIMEOUT_S = 300.0
_LOCK = threading.Lock()


class Dismissal(Record):
    """A control that takes away what covers or replaces a page, as the server's modifiers name it.

    `beside` is the role and the name of a line that is there only with it; None if its own name is enough.
    """

    role: str
    name: str
    beside: tuple[str, str] | None = None
    words: str

    @property
    def interruption(self) -> Interruption:
        """What an oracle does with it."""
        beside = Target(self.beside[0], re.escape(self.beside[1])) if self.beside is not None else None
        return Interruption(Target(self.role, re.escape(self.name)), beside, self.words)


class Wording(Record):
    """Shown texts by usual ones, of buttons, links and fields (`labels`) and of options of selects (`options`); usual
    words by the shown ones that an answer may have (`answers`); and the controls that take away what covers a page."""

    labels: dict[str, str] = Field(default_factory=dict)
    options: dict[str, str] = Field(default_factory=dict)
    answers: dict[str, str] = Field(default_factory=dict)
    dismissals: tuple[Dismissal, ...] = ()

    def needed(self, steps: Sequence[Step]) -> Wording:
        """The part that an oracle's steps need."""
        targets = [step.target for step in steps if step.target is not None]
        names = {pattern for target in targets for pattern in (target.name, target.after, target.level_with)}
        values = {target.value for target in targets} - {".*"}
        texts = {step.text for step in steps if not step.is_data}
        return Wording(
            labels=_matching(self.labels, names - {"", ".*"}),
            options=_matching(self.options, values) | {text: self.options[text] for text in texts & {*self.options}},
            answers=_usual_words(self.options),
            dismissals=self.dismissals,
        )

    def usual(self, answer: str) -> str:
        """An answer with the usual words in place of those that the sites show: `High` for `Hoch`."""
        if not self.answers:
            return answer
        usual = {shown.lower(): word for shown, word in self.answers.items()}
        longest_first = sorted(usual, key=len, reverse=True)
        pattern = rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)"
        return re.sub(pattern, lambda match: usual.get(match[0].lower(), match[0]), answer, flags=re.IGNORECASE)


def _usual_words(options: Mapping[str, str]) -> dict[str, str]:
    """Words of the city's vocabulary, of dates and of agreement, by the words that a language shows for them."""
    priorities = [f"{number}. {name}" for number, name in enumerate(PRIORITIES, start=1)]
    words = [*VOCABULARY, *calendar.day_name, "Yes", "No"]
    shown = {options[word]: word for word in words if word in options}
    shown |= {options[name][3:]: name[3:] for name in priorities if name in options}
    months = {options[month]: month for month in calendar.month_name if month in options}
    return shown | months | {f"de {month}": name for month, name in months.items()}  # Spanish: "16 de marzo"


def _matching(words: Mapping[str, str], patterns: set[str]) -> dict[str, str]:
    return {
        usual: shown for usual, shown in words.items() if any(is_match_of_label(pattern, usual) for pattern in patterns)
    }


def wordings(seeds: range, modifiers: tuple[str, ...]) -> Mapping[int, Wording]:
    """The wordings of copies, by seed. The answers of a process are kept.

    Raises:
        CityError: the city's environment is not installed, or its code fails.
    """
    with _LOCK:  # threads that want the same words must not start a child each
        return _wordings(seeds, modifiers)


@lru_cache(maxsize=64)
def _wordings(seeds: range, modifiers: tuple[str, ...]) -> Mapping[int, Wording]:
    try:
        answer = subprocess.run(
            [find_python(), CHILD],
            input=json.dumps({"seeds": [*seeds], "modifiers": modifiers}),
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.SubprocessError as error:
        output = getattr(error, "stderr", None) or ""
        names = ", ".join(modifiers)
        raise CityError(f"the city's words under {names} cannot be read: {error}\n{output[-2000:]}") from error
    rows = json.loads(answer.stdout)
    return {seed: Wording.model_validate(row) for seed, row in zip(seeds, rows, strict=True)}
