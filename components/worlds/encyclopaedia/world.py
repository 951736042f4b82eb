"""The encyclopaedia as a world: articles about countries, cities, currencies, languages and elements, and questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from components.params import Params as Recipe
from components.records import Split, Task
from components.worlds import Requirement, World, unknown_names
from components.worlds.encyclopaedia.kiwix import PACKAGES, find_kiwix
from components.worlds.encyclopaedia.params import EncyclopaediaParams
from components.worlds.encyclopaedia.questions import KINDS, questions
from components.worlds.encyclopaedia.site import EncyclopaediaSite
from components.worlds.encyclopaedia.teacher import EncyclopaediaTeacher
from components.worlds.encyclopaedia.zim import find_libzim


class Encyclopaedia(World):
    """Articles without tasks and rewards of their own: a rule judges the answers (`{"type": "qa", "answers": […]}`)."""

    name: ClassVar[str] = "encyclopaedia"
    Params = EncyclopaediaParams
    origins = EncyclopaediaSite.origins
    independent_episodes = True
    moved_keys: ClassVar[dict[str, str]] = {
        "tasks.encyclopaedia": "worlds.encyclopaedia",
        "sites.zim": "worlds.encyclopaedia.zim",
    }

    params: EncyclopaediaParams

    def problems(self, recipe: Recipe) -> list[str]:
        """Reports kinds of question that do not exist."""
        phrase = "there are no questions of kind"
        return [
            *unknown_names("kinds", self.params.kinds, KINDS, phrase),
            *unknown_names("heldout_kinds", self.params.heldout_kinds, KINDS, phrase),
        ]

    def episode_settings(self) -> dict[str, Any]:
        """The ZIM file that the site serves."""
        return {"zim": self.params.zim}

    def requirements(self) -> list[Requirement]:
        """The program that serves ZIM files, and the library that writes the project's own file."""
        server = Requirement("kiwix", "serves the encyclopaedia", lambda: str(find_kiwix()), PACKAGES)
        if self.params.zim is not None:
            return [server]
        return [server, Requirement("libzim", "writes the encyclopaedia's file", find_libzim)]

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Rows with questions. Training questions use no article that an evaluation question visits."""
        params, rows = self.params, []
        plan: list[tuple[Split, list[str], int]] = [
            ("train", params.kinds, params.train),
            ("eval", params.kinds, params.eval),
            ("heldout", params.heldout_kinds, params.heldout),
        ]
        for split, kinds, count in plan:
            if count:
                rows += questions(kinds, count, split, seed)
        return rows

    def site(self) -> EncyclopaediaSite:
        """The articles, served by Kiwix."""
        return EncyclopaediaSite(Path(self.params.zim) if self.params.zim is not None else None)

    def can_teach(self, task: Task) -> bool:
        """Whether the task's rubric names the facts that lead to its answer."""
        return any(group.facts for group in task.rubric)

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> EncyclopaediaTeacher:
        """A teacher that searches, follows links, reads the fact and answers."""
        return EncyclopaediaTeacher(task, attempt, seed, noise)
