"""What only the sites can tell: which tasks they serve, and whether the families that a recipe names exist."""

from __future__ import annotations

import difflib

from components.params import Params, RecipeError
from components.records import Task
from components.sites.miniwob import MiniWoB
from components.sites.miniwob_server import families
from components.sites.miniwob_teacher import PLANS


def serves(task: Task) -> bool:
    """Whether a site of ours serves the task's start page; rollouts reach no other so far."""
    return task.start_url.startswith(f"{MiniWoB.origin}/")


def require_families(params: Params) -> None:
    """Check the MiniWoB++ families that a recipe names.

    Raises:
        RecipeError: one does not exist, or is to be demonstrated by the scripted teacher, which has no plan for it.
    """
    tasks, known = params.tasks, families()
    problems = []
    for field, named in (("miniwob_train", tasks.miniwob_train), ("miniwob_heldout", tasks.miniwob_heldout)):
        for name in named:
            if name not in known:
                near = ", ".join(difflib.get_close_matches(name, known, n=3)) or "see the pages of the miniwob package"
                problems.append(f"tasks.{field}: MiniWoB++ has no family {name!r}; near it: {near}")
    if params.teacher.policy == "scripted":
        problems += [
            f"tasks.miniwob_train: the scripted teacher has no plan for {name!r}; it has for {', '.join(PLANS)}"
            for name in tasks.miniwob_train
            if name in known and name not in PLANS
        ]
    if problems:
        raise RecipeError("\n".join([f"recipe {params.name}:", *(f"  {problem}" for problem in problems)]))
