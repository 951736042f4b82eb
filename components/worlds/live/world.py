"""The live web as a world. Its tasks come from `tasks.files`, the teacher is a model, and models or rules judge.

`browser.egress` sets the allowed hosts; `rollout.per_host` and `rollout.host_delay_s` limit the load on each.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from components.params import NoEffect, Section
from components.params import Params as Recipe
from components.worlds import World


class LiveParams(Section):
    """The section `worlds.live` of a recipe."""

    independent_episodes: Annotated[bool, NoEffect] = False
    """Whether an episode finds nothing that another one changed: the tasks only read, or the sites forget what an
    episode did. Waymark cannot see this, so a recipe whose tasks are tried more than once has to say it."""


class Live(World):
    """All tasks whose start page no other world serves."""

    name: ClassVar[str] = "live"
    Params = LiveParams
    clean_success: ClassVar[str] = "a rule or a judge finds the task done; what else the agent did is not known"

    def __init__(self, params: LiveParams) -> None:
        super().__init__(params)
        self.independent_episodes = params.independent_episodes

    def problems(self, recipe: Recipe) -> list[str]:
        """Refuses the scripted teacher, which knows no page of the live web."""
        if recipe.teacher.policy == "scripted":
            return [": the scripted teacher knows the pages of other worlds only: set teacher.policy to endpoint"]
        return []
