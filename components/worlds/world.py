"""The interface of a world: a set of sites with tasks, rules, and possibly a scripted teacher and state.

A world is one package: `components/worlds/<name>`, or a package of its own that is installed under the entry-point
group `waymark.worlds` or named in the recipe by a dotted path. It subclasses `World` and overrides the methods that it
needs; no other module of Waymark names it, except `live`, to which `registry` counts the tasks that no world serves.
`docs/how-to/add-a-world.md` explains a small one line by line.
"""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from components.params import Section
from components.records import Split, Task, start_tabs
from components.worlds.answers import Answer
from components.worlds.sources import sources_of
from components.worlds.state import State, StateDiff

if TYPE_CHECKING:
    from components.browser import Site
    from components.params import BrowserParams
    from components.params import Params as Recipe  # each world has its own `Params`
    from components.worlds.recorded import AskPerson, Recorded
    from components.worlds.task_check import TaskCheck
    from components.worlds.teacher import Teacher


class WorldError(RuntimeError):
    """A world cannot do an operation. The message says how to fix the cause."""


class NotSupportedError(WorldError):
    """The world does not have this feature, such as a state that can be reset."""


class PinnedTasks(Section):
    """The tasks of a world that form a published benchmark. A world that can pin its pages subclasses this."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """The checksum of the data that determine the pages. The subclass defines which data these are."""


@dataclass(frozen=True)
class Requirement:
    """A program that a world needs on this machine.

    Attributes:
        name: the name that `waymark doctor` shows.
        purpose: a phrase such as "serves the wiki".
        find: returns the path or version of the program; raises WorldError with the command that installs it.
        packages: Debian packages that `waymark doctor --fix` installs as root.
        commands: what `waymark doctor --fix` and `make demo` run in Waymark's checkout, one after the other, to install
            what is no Debian package. Without packages and commands, only the user can install the program.
    """

    name: str
    purpose: str
    find: Callable[[], str]
    packages: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


class World(ABC):
    """One world of a recipe. An instance is made from its section of the recipe and has no running server.

    A subclass sets the class attributes and overrides the methods of the features that it has.
    """

    name: ClassVar[str]
    """The name: lower case, a valid Python name. It is also the `source` of its tasks and begins their `website`."""
    Params: ClassVar[type[Section]] = Section
    """The world's section of a recipe, `worlds.<name>`: a pydantic model in which every field has a default."""
    Pinned: ClassVar[type[PinnedTasks] | None] = None
    """The model of `pages` in a benchmark recipe, besides the key `world`; None if no benchmark may pin pages of it."""
    origins: ClassVar[tuple[str, ...]] = ()
    """Scheme and host of its pages, without a port: `("http://shop.test",)`. A task whose start page is under one of
    them belongs to this world. The world without origins, `live`, has all other tasks."""

    independent_episodes: bool = False
    """Whether an episode finds nothing that another one changed: pages never change, or each episode has a copy of the
    data. False by default: a world has to say so, or RL, several attempts at a task and comparisons of models are
    refused on it (`Worlds.require_independent`)."""
    replayable: ClassVar[bool] = False
    """Whether the same calls lead to the same state again: each episode of a task begins with the same data, and pages
    depend on these and on the agent's actions alone, as far as tasks are about them. `rl.branches` needs it, compares
    the pages, and writes to the episodes' own data again."""
    clean_success: ClassVar[str] = "the answer is right; the world does not know what else the agent did"
    """What "done, and nothing else done" means in this world, as a phrase for reports. `docs/concepts/world.md` has a
    table of all."""
    forgeable: ClassVar[str] = ""
    """How a script of a page could fake the state that rules look at, as a clause; empty if no script of a page can,
    because the truth is on the server or in the agent's answer. What runs scripts in pages of such a world can have
    rewards without doing the task. `waymark world check` prints this."""
    episode_mib: ClassVar[int] = 256
    """Memory of an open episode in Chromium, with its share of the browser and of Playwright's driver, in MiB; `waymark
    plan` counts it."""
    moved_keys: ClassVar[dict[str, str]] = {}
    """Keys of older recipes that are now keys of this world's section: `{"old.key": "new.key"}`."""

    def __init__(self, params: Section) -> None:
        self.params: Any = params
        self.key = self.name
        """The key of its section in the recipe: its name, or the dotted path that stands there."""

    # ---- the recipe -------------------------------------------------------------------------------------------------

    def problems(self, recipe: Recipe) -> list[str]:
        """The errors in this world's part of a recipe, each with its key and its remedy. This starts no process."""
        return []

    def episode_settings(self) -> dict[str, Any]:
        """The settings, besides the tasks, that episodes depend on. DVC reruns rollouts when they change."""
        return {}

    def sources(self) -> list[Path]:
        """The source files of this world: those in the packages of its class and of the worlds that it subclasses.

        A stage that finished with other sources starts anew when it runs again.
        """
        kinds = [kind for kind in type(self).__mro__ if issubclass(kind, World) and kind is not World]
        return [file for kind in kinds for file in sources_of(kind)]

    def requirements(self) -> list[Requirement]:
        """Programs that the world needs on this machine."""
        return []

    # ---- tasks ------------------------------------------------------------------------------------------------------

    async def tasks(self, seed: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Task rows of all splits, by the world's section of the recipe. The same seed gives the same rows.

        A row has the fields of `Task`. Its `website` is `<name>/<family>`: the part after the slash is the label in
        breakdowns of success. A row for a page that could not be opened has `error` with the reason.

        Args:
            seed: the seed of the recipe.
            viewport: width and height in pixels in which pages are opened.
        """
        return []

    async def validation_tasks(self, tasks: int, heldout: int, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Task rows to validate with during RL, on pages that no other split has; `tasks` gives none of them.

        A world without such pages returns none or fewer. Training tasks are then set aside in their place.

        Args:
            tasks: number of rows of the split `validation`, evenly over the families that are trained on.
            heldout: number of rows of the split `heldout_validation`, evenly over the held-out families.
        """
        return []

    def planned_tasks(self, validation: int, heldout: int) -> Counter[Split]:
        """How many rows `tasks` and `validation_tasks` return, by split, without making any; `waymark plan` needs it.

        By default the section's keys say it: `train` is a number, or `train` lists names and `train_per_…` is the
        number of tasks of each. Evaluation is on the names of `train`.

        Args:
            validation: number of rows of the split `validation` that `validation_tasks` is asked for.
            heldout: that of the split `heldout_validation`.
        """
        keys = self.params.model_dump()
        return Counter({split: _planned(keys, split) for split in ("train", "eval", "heldout")})

    async def pinned_tasks(self, pages: PinnedTasks, viewport: tuple[int, int]) -> list[dict[str, Any]]:
        """Task rows of a published benchmark on this world's pages.

        Args:
            pages: an instance of `Pinned`.

        Raises:
            WorldError: the installed pages differ from the pages that the benchmark pins.
        """
        raise NotSupportedError(f"the world {self.name} has no pages that a benchmark may pin")

    def serves(self, task: Task) -> bool:
        """Whether a task's first start page is on one of this world's origins."""
        start = start_tabs(task.start_url)[0]
        return any(f"{start}/".startswith(f"{origin}/") for origin in self.origins)

    # ---- episodes ---------------------------------------------------------------------------------------------------

    def site(self) -> Site | None:
        """The site for a browser pool, not served yet; None if the pages are on the web and Waymark serves nothing."""
        return None

    def sites(self) -> Sequence[Site | None]:
        """What a run serves: `site()`. A world that can serve its origins by several processes gives one site for each;
        an episode runs on any one of them."""
        return [self.site()]

    # ---- teaching ---------------------------------------------------------------------------------------------------

    def can_teach(self, task: Task) -> bool:
        """Whether the scripted teacher can do a task."""
        return False

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> Teacher:
        """The scripted teacher of one episode, deterministic given the arguments.

        Args:
            noise: probability that the episode has a mistake in it.

        Raises:
            ValueError: the teacher does not know this task.
        """
        raise NotSupportedError(
            f"the world {self.name} has no scripted teacher: set teacher.policy to endpoint and let a model teach"
        )

    def expected_answer(self, task: Task) -> Answer | None:
        """The answer that a task asks for, which `waymark judge attack` attacks; None if it asks for none, or if the
        world knows none without its sites."""
        return None

    def check(
        self, names: Sequence[str], browser: BrowserParams, first_seed: int, seeds: int
    ) -> AsyncIterator[TaskCheck]:
        """Checks tasks in a browser, with the scripted teacher and with agents that cheat.

        Args:
            names: the families of the tasks; empty: all.
            seeds: how many tasks of each.

        Raises:
            WorldError: a name is unknown, or the sites cannot be served.
        """
        raise NotSupportedError(f"the world {self.name} has no checks of its tasks: it has no state")

    async def record(
        self, family: str, number: int, browser: BrowserParams, ask: AskPerson, headed: bool = True
    ) -> Recorded:
        """Lets a person do a task in a browser, writes down what they do as its oracle, and replays that at once.

        Args:
            number: which task of the family, from 1.
            ask: called once the start page is shown; returns the person's answer when they are done.
            headed: show the browser's window.

        Raises:
            WorldError: there is no such task, or the site cannot be served.
        """
        raise NotSupportedError(
            f"the world {self.name} takes no recorded oracles; a site of your own does (`waymark world new`)"
        )

    # ---- state ------------------------------------------------------------------------------------------------------

    async def reset(self, seed: int) -> State:
        """A fresh copy of the world's data for one episode; the same seed gives the same data."""
        raise self._stateless("reset")

    async def snapshot(self, state: State) -> State:
        """Keeps the current data of a copy and returns the snapshot."""
        raise self._stateless("snapshot")

    async def fork(self, state: State) -> State:
        """A second copy that begins with the data of `state` and then changes independently."""
        raise self._stateless("fork")

    async def diff(self, before: State, after: State) -> StateDiff:
        """The changes between two states, without those that the world declares as noise."""
        raise self._stateless("diff")

    async def query(self, state: State, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of an SQL statement on a copy or snapshot, by column.

        Raises:
            WorldError: the statement is wrong, or it writes; then nothing has changed.
        """
        raise self._stateless("query")

    async def drop(self, state: State) -> None:
        """Forgets a copy or a snapshot, which must not be used afterwards. The world keeps a state until then."""
        raise self._stateless("drop")

    def _stateless(self, method: str) -> NotSupportedError:
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        return NotSupportedError(
            f"the world {self.name} does not support `{method}`: its class {kind} keeps no state that can be copied. "
            f"Take a world that does, or implement `World.{method}` there; docs/concepts/world.md says what it is for"
        )


def _planned(keys: dict[str, Any], split: Split) -> int:
    """Tasks of a split by the keys of a section (`World.planned_tasks`)."""
    number = keys.get(split)
    if isinstance(number, int):
        return number
    names = keys.get("heldout" if split == "heldout" else "train")
    each = [number for key, number in keys.items() if key.startswith(f"{split}_per_") and isinstance(number, int)]
    return sum(each) * len(names) if isinstance(names, list) else 0
