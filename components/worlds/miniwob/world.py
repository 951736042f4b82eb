"""MiniWoB++ as a world (Shi et al. 2017, Liu et al. 2018; PyPI `miniwob`): pages by family and seed."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from components.params import Params as Recipe
from components.records import Split, Task
from components.worlds import PinnedTasks, World, WorldError, even_counts, unknown_names
from components.worlds.miniwob.params import MiniWoBParams, PinnedPages
from components.worlds.miniwob.server import families, pages_sha256
from components.worlds.miniwob.site import MiniWoBSite
from components.worlds.miniwob.teacher import PLANS, WITHOUT_IDS, MiniWoBTeacher


class MiniWoB(World):
    """Pages of one family share their wording and layout; the seed decides the rest. The page gives the reward."""

    name: ClassVar[str] = "miniwob"
    Params = MiniWoBParams
    Pinned = PinnedPages
    origins = MiniWoBSite.origins
    independent_episodes = True
    replayable = True
    episode_mib = 80
    clean_success: ClassVar[str] = (
        "the page's first ending has the full reward, and the agent did nothing on the page after it"
    )
    forgeable: ClassVar[str] = "its pages compute and keep their reward, so a script of a page could set it"
    moved_keys: ClassVar[dict[str, str]] = {
        "tasks.miniwob_train": "worlds.miniwob.train",
        "tasks.miniwob_heldout": "worlds.miniwob.heldout",
        "tasks.train_per_family": "worlds.miniwob.train_per_family",
        "tasks.eval_per_family": "worlds.miniwob.eval_per_family",
        "tasks.heldout_per_family": "worlds.miniwob.heldout_per_family",
        "tasks.train_seed_start": "worlds.miniwob.train_seed_start",
        "tasks.eval_seed_start": "worlds.miniwob.eval_seed_start",
    }

    params: MiniWoBParams

    def problems(self, recipe: Recipe) -> list[str]:
        """Reports families that do not exist, or that the scripted teacher or the protocol cannot do."""
        known, params = families(), self.params
        problems = unknown_names("train", params.train, known, "there is no family")
        problems += unknown_names("rl", params.rl, known, "there is no family")
        problems += unknown_names("heldout", params.heldout, known, "there is no family")
        if recipe.teacher.policy == "scripted":
            problems += [
                f"train: the scripted teacher has no plan for {name!r}; it has for {', '.join(PLANS)}"
                for name in params.train
                if name in known and name not in PLANS
            ]
        if not recipe.agent.shows_screenshots:
            problems += [
                f"{name} cannot be done with agent.protocol = {recipe.agent.protocol}: its targets have no id"
                for name in [*params.train, *params.rl, *params.heldout]
                if name in WITHOUT_IDS
            ]
        return problems

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per family and page seed. The page seeds come from the section, not from the recipe's seed."""
        params, rows = self.params, []
        plan: list[tuple[list[str], int, int, Split]] = [
            (params.train, params.train_seed_start, params.train_per_family, "train"),
            (params.rl, params.train_seed_start, params.train_per_family, "rl"),
            (params.train, params.eval_seed_start, params.eval_per_family, "eval"),
            (params.heldout, params.eval_seed_start, params.heldout_per_family, "heldout"),
        ]
        for names, first, count, split in plan:
            if names and count:
                rows += await MiniWoBSite().collect(names, range(first, first + count), split, viewport)
        return rows

    async def validation_tasks(self, tasks: int, heldout: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Pages with seeds from `validation_seed_start` on."""
        params, rows = self.params, []
        plan: list[tuple[list[str], int, Split]] = [
            (params.train, tasks, "validation"),
            (params.heldout, heldout, "heldout_validation"),
        ]
        for names, count, split in plan:
            counts = {name: number for name, number in even_counts(names, count).items() if number}
            if counts:
                seeds = range(params.validation_seed_start, params.validation_seed_start + max(counts.values()))
                pages = await MiniWoBSite().collect([*counts], seeds, split, viewport)
                rows += [row for row in pages if seeds.index(row["seed"]) < counts[row["website"].split("/")[1]]]
        return rows

    def planned_tasks(self, validation: int, heldout: int) -> Counter[Split]:
        """Also the pages to validate with."""
        counts = super().planned_tasks(validation, heldout)
        counts["rl"] = len(self.params.rl) * self.params.train_per_family
        counts["validation"] = validation if self.params.train else 0
        counts["heldout_validation"] = heldout if self.params.heldout else 0
        return counts

    async def pinned_tasks(self, pages: PinnedTasks, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """One row per page and seed of a benchmark."""
        assert isinstance(pages, PinnedPages)
        seeds = range(pages.first_seed, pages.first_seed + pages.per_page)
        return await MiniWoBSite().collect(pinned_families(pages), seeds, "eval", viewport)

    def site(self) -> MiniWoBSite:
        """The pages, served on loopback."""
        return MiniWoBSite()

    def can_teach(self, task: Task) -> bool:
        """Whether the task's family has a plan, and the plan knows the task's wording."""
        try:
            self.teacher(task)
        except ValueError:
            return False
        return True

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> MiniWoBTeacher:
        """A teacher that follows the family's plan step by step."""
        return MiniWoBTeacher(task, attempt, seed, noise)


def pinned_families(pages: PinnedPages) -> list[str]:
    """The families of a benchmark.

    Raises:
        WorldError: the installed package's pages are not those that the benchmark pins, or have no family that it
            names.
    """
    checksum = pages_sha256()
    if checksum != pages.sha256:
        raise WorldError(
            f"the installed pages of MiniWoB++ have sha256 {checksum}, the benchmark's have {pages.sha256}: "
            f"`pip install {pages.package}`, or give these a recipe with a name, version and checksum of its own"
        )
    if unknown := {*(pages.families or ()), *pages.leave_out} - {*families()}:
        raise WorldError(f"{pages.package} has no family {', '.join(sorted(unknown))}: correct the benchmark's pages")
    return [family for family in pages.families or families() if family not in pages.leave_out]
