"""What only the sites can tell: which one a recipe means, which tasks it serves, and whether what it names exists."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Literal

from components.browser import Site
from components.params import ELEMENT_PROTOCOLS, Params, RecipeError, SitesParams
from components.records import TABS, Task
from components.sites.encyclopaedia.questions import KINDS
from components.sites.encyclopaedia.site import Encyclopaedia
from components.sites.kiwix_server import find_kiwix
from components.sites.miniwob import MiniWoB
from components.sites.miniwob_server import families
from components.sites.miniwob_teacher import PLANS, WITHOUT_IDS

World = Literal["miniwob", "encyclopaedia", "live"]
ORIGINS: dict[World, str] = {"miniwob": MiniWoB.origin, "encyclopaedia": Encyclopaedia.origin}


def site(params: SitesParams) -> Site | None:
    """The offline site of a recipe, not served yet; None for a recipe of the live web."""
    if params.world == "live":
        return None
    if params.world == "miniwob":
        return MiniWoB()
    return Encyclopaedia(Path(params.zim) if params.zim is not None else None)


def world_of(task: Task) -> World:
    """Where a task begins: on an offline site of ours, whose bare origin is an address of it too, or elsewhere."""
    start = task.start_url.split(TABS)[0]
    return next((world for world, origin in ORIGINS.items() if f"{start}/".startswith(f"{origin}/")), "live")


def require_server(params: SitesParams) -> None:
    """Check that what serves the recipe's site is installed.

    Raises:
        KiwixError: it is not; the message says what to type.
    """
    if params.world == "encyclopaedia":
        find_kiwix()


def require_tasks(params: Params) -> None:
    """Check the MiniWoB++ families and the kinds of question that a recipe names.

    Raises:
        RecipeError: one does not exist, or is to be demonstrated by the scripted teacher, which has no plan for it.
    """
    tasks = params.tasks
    problems = []
    known, asked = families(), tasks.encyclopaedia
    for field, named, all_of, none in (
        ("miniwob_train", tasks.miniwob_train, known, "MiniWoB++ has no family"),
        ("miniwob_heldout", tasks.miniwob_heldout, known, "MiniWoB++ has no family"),
        ("encyclopaedia.kinds", asked.kinds, [*KINDS], "the encyclopaedia has no questions of kind"),
        ("encyclopaedia.heldout_kinds", asked.heldout_kinds, [*KINDS], "the encyclopaedia has no questions of kind"),
    ):
        for name in named:
            if name not in all_of:
                near = ", ".join(difflib.get_close_matches(name, all_of, n=3)) or f"nothing; it has {', '.join(all_of)}"
                problems.append(f"tasks.{field}: {none} {name!r}; near it: {near}")
    if params.teacher.policy == "scripted":
        problems += [
            f"tasks.miniwob_train: the scripted teacher has no plan for {name!r}; it has for {', '.join(PLANS)}"
            for name in tasks.miniwob_train
            if name in known and name not in PLANS
        ]
    if params.agent.protocol in ELEMENT_PROTOCOLS:
        problems += [
            f"tasks: {name} cannot be done with agent.protocol = {params.agent.protocol}: its targets have no id"
            for name in [*tasks.miniwob_train, *tasks.miniwob_heldout]
            if name in WITHOUT_IDS
        ]
    if problems:
        raise RecipeError("\n".join([f"recipe {params.name}:", *(f"  {problem}" for problem in problems)]))
