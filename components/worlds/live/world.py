"""The live web as a world. Its tasks come from `tasks.files`, the teacher is a model, and models or rules judge.

`browser.egress` sets the allowed hosts; `rollout.per_host` and `rollout.host_delay_s` limit the load on each.
"""

from __future__ import annotations

from typing import ClassVar

from components.params import Params as Recipe
from components.params import Section
from components.worlds import World


class LiveParams(Section):
    """The section `worlds.live` of a recipe; it has no keys."""


class Live(World):
    """All tasks whose start page no other world serves."""

    name: ClassVar[str] = "live"
    Params = LiveParams

    def problems(self, recipe: Recipe) -> list[str]:
        """Refuses the scripted teacher, which knows no page of the live web."""
        if recipe.teacher.policy == "scripted":
            return [": the scripted teacher knows the pages of other worlds only: set teacher.policy to endpoint"]
        return []
