"""Specification of published benchmarks: `recipes/benchmarks/<name>.yaml`, applied to the recipe in use.

A benchmark sets the tasks (a published file or the pages of a package, each pinned by its SHA-256), the judge, the
decoding, the number of steps, and the load on its sites. The agent's harness (protocol, observation, viewport, context)
comes from the recipe, because it belongs to the model.

Sources of the settings: OpenWebRL, section 5 and appendices A.6 and B; WebGym, section 5; WebAgent-R1, section 3 and
appendix B; BrowserAgent, section 3. "595 WebVoyager tasks" is at least two different sets and Online-Mind2Web was
revised several times, so a set's version carries its checksum into every result.

Not covered: the download of the files (`docs/reference/benchmarks.md` has the sources), and the sites of WebArena,
which the user must serve.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import Field, SerializeAsAny, model_validator

from components.params import (
    EgressParams,
    NoEffect,
    Params,
    RecipeError,
    SamplingParams,
    Section,
    TaskFile,
    deciding,
    from_chain,
    read_chain,
)
from components.params.harness import HostPattern
from components.params.kind_name import KindName
from components.plugins import UnknownKindError
from components.records import Rejection, Task
from components.store import digest
from components.tasks import load_files
from components.worlds import PinnedTasks, world_class

RECIPES = Path("recipes/benchmarks")
FILES = Path("data/benchmarks")
"""The default folder of task files."""

S = TypeVar("S", bound=Section)
JudgeName = Annotated[str, KindName("judge_protocols", ("rules", "vote"))]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BenchmarkError(ValueError):
    """A benchmark that cannot be run. The message says what to do."""


class PinnedFile(Section):
    """A published file."""

    name: str
    sha256: Sha256 | None
    """None: the file was not available; the first user who has it must add its checksum."""
    rows: int = Field(gt=0)
    url: str
    """The address of its publication."""


class PublishedFile(PinnedFile):
    """A published task file."""

    answers: PinnedFile | None = None
    """WebVoyager's file of reference answers, joined by id; for judges that read them."""


class Pages(Section):
    """Pages of a world, pinned by what that world pins them by."""

    world: str
    """A world whose pages can be pinned (`World.Pinned`)."""
    pinned: SerializeAsAny[PinnedTasks]
    """Which pages: in the benchmark's recipe, the world's own keys beside `world`."""

    @model_validator(mode="before")
    @classmethod
    def _keys_of_the_world(cls, value: object) -> object:
        if not isinstance(value, dict) or "world" not in value or isinstance(value.get("pinned"), PinnedTasks):
            return value
        try:
            model = world_class(value["world"]).Pinned
        except UnknownKindError as error:
            raise ValueError(str(error)) from error
        if model is None:
            raise ValueError(f"the world {value['world']} has no pages that a benchmark may pin")
        keys = {key: kept for key, kept in value.items() if key != "world"}
        return {"world": value["world"], "pinned": model.model_validate(keys)}


class Politeness(Section):
    """Limits of the load on live sites."""

    per_host: int = Field(gt=0)
    """Concurrent episodes that begin on one host."""
    delay_s: float = Field(ge=0)
    """Seconds between two starts on one host."""
    robots: bool
    """Leave out tasks whose start page the site's robots.txt disallows."""


class Reach(Section):
    """The hosts that browsers may reach. It replaces the recipe's `browser.egress` except for its blocked hosts, and
    the sites of `tasks.sites` are added."""

    allowed_hosts: list[HostPattern] = Field(default_factory=list)
    """Patterns of host names. Tasks that begin on other hosts are left out."""
    private_hosts: list[HostPattern] = Field(default_factory=list)
    """Hosts, or host:port, that may have loopback or private addresses, such as your own servers."""


class Benchmark(Section):
    """A set of tasks with the settings of its evaluation."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    title: Annotated[str, NoEffect]
    version: str
    """The publisher's date or revision."""
    licence: Annotated[str, NoEffect]
    file: PublishedFile | None = None
    pages: Pages | None = None
    judge: JudgeName
    """The official protocol."""
    judge_model: str | None = None
    """The model that judged the published numbers."""
    also: list[JudgeName] = Field(default_factory=list)
    """Protocols that judge too, and are reported beside the official one."""
    decoding: dict[str, SamplingParams]
    """Sampling settings by name; `official` gives the headline number."""
    max_response_tokens: int | None = Field(default=None, gt=0)
    """None: the recipe's limit."""
    max_steps: int = Field(gt=0)
    repeats: int = Field(default=1, gt=0)
    inference_timeout_s: float = Field(default=120, gt=0)
    task_timeout_s: float = Field(default=600, gt=0)
    reach: Reach = Reach()
    politeness: Annotated[Politeness, NoEffect]

    @model_validator(mode="after")
    def _require_tasks_and_decoding(self) -> Benchmark:
        if (self.file is None) == (self.pages is None):
            raise ValueError("give either a file or pages")
        if "official" not in self.decoding:
            raise ValueError("decoding has no `official`: add the settings of the headline number under this name")
        return self

    @property
    def sha256(self) -> str | None:
        """The pinned checksum of the set's tasks."""
        if self.file is not None:
            return self.file.sha256
        return self.pages.pinned.sha256 if self.pages is not None else None

    @property
    def identity(self) -> str:
        """The set's version with its checksum, such as `2025-08-31 sha256:5c8cb175fdac`."""
        return f"{self.version} sha256:{self.sha256[:12] if self.sha256 else 'unknown'}"

    @property
    def key(self) -> str:
        """A digest of all settings that affect results."""
        return digest(yaml.safe_dump(deciding(self)))

    def over(self, params: Params, decoding: str = "official", max_steps: int | None = None) -> Params:
        """The recipe with this benchmark's settings.

        The wall-clock limit grows in proportion to the step budget.

        Args:
            max_steps: a step budget other than the official one.

        Raises:
            BenchmarkError: the decoding is unknown, or its responses do not fit the agent's context.
        """
        if decoding not in self.decoding:
            raise BenchmarkError(f"{self.name} has no decoding {decoding!r}; it has {', '.join(self.decoding)}")
        tokens = self.max_response_tokens
        if tokens is not None and tokens >= params.agent.max_context_tokens:
            raise BenchmarkError(
                f"{self.name} allows {tokens} tokens per response, and recipe {params.name} has a context of "
                f"{params.agent.max_context_tokens}: `waymark use` the recipe of the evaluated model, or, if "
                f"that is {params.name}, set max_response_tokens of the benchmark below its context"
            )
        steps = max_steps or self.max_steps
        evaluation = {"sampling": self.decoding[decoding], "max_steps": steps, "max_response_tokens": tokens}
        times = {
            "inference_timeout_s": max(self.inference_timeout_s, params.agent.inference_timeout_s),
            "task_timeout_s": self.task_timeout_s * max(1.0, steps / self.max_steps),
        }
        sites = [urlsplit(url).netloc.rpartition("@")[2] for url in params.tasks.sites.values()]
        egress = params.browser.egress.model_dump() | self.reach.model_dump()
        egress["private_hosts"] = [*egress["private_hosts"], *sites]
        return params.model_copy(
            update={
                "agent": params.agent.model_copy(update=times),
                "browser": params.browser.model_copy(update={"egress": EgressParams.model_validate(egress)}),
                "evaluation": params.evaluation.model_copy(update=evaluation),
            }
        )


def load_benchmark(named: str | Path) -> Benchmark:
    """Read a benchmark, with all that it `extends`: a file, or a name in `recipes/benchmarks`.

    Raises:
        BenchmarkError: there is no such benchmark, or a field is wrong.
    """
    return load_named(named, RECIPES, Benchmark)


def load_named(named: str | Path, folder: Path, kind: type[S]) -> S:
    """Read a file, or a name in a folder, as a section, with all that it `extends`.

    Raises:
        BenchmarkError: there is no such file, or a field is wrong.
    """
    path = Path(named)
    if path.suffix != ".yaml":
        path = folder / f"{named}.yaml"
    if not path.exists():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml"))) or "(none here)"
        raise BenchmarkError(f"no {kind.__name__.lower()} {str(named)!r}; name one of {known}, or a .yaml file")
    try:
        return from_chain(read_chain(path, folder), kind)
    except RecipeError as error:
        raise BenchmarkError(str(error)) from error


def file_tasks(benchmark: Benchmark, folder: Path = FILES) -> tuple[list[Task], list[Rejection]]:
    """The tasks of a benchmark's file, all with the split `eval`, and the rejected rows.

    Raises:
        BenchmarkError: a file is missing, has another checksum than the pinned one, or has no tasks.
    """
    file = benchmark.file
    if file is None:
        raise BenchmarkError(f"{benchmark.name} has no file: its tasks are pages")
    path = _pinned(benchmark.name, file, folder)
    answers = None if file.answers is None else str(_pinned(benchmark.name, file.answers, folder))
    try:
        loaded = load_files([TaskFile(path=str(path), answers=answers, split="eval")])
    except ValueError as error:
        raise BenchmarkError(f"the file of {benchmark.name} cannot be read: {error}") from error
    if not loaded.tasks:
        raise BenchmarkError(f"no row of {path} is a task; the first was rejected: {loaded.rejections[0].reason}")
    return loaded.tasks, loaded.rejections


def _pinned(name: str, file: PinnedFile, folder: Path) -> Path:
    """The path of a benchmark's file, after its checksum is compared with the pinned one."""
    path = folder / file.name
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing: download it ({_origin(path, file)}), or name its folder with --files")
    with path.open("rb") as handle:
        checksum = hashlib.file_digest(handle, "sha256").hexdigest()
    if file.sha256 is None:
        raise BenchmarkError(
            f"{name} has no checksum yet: check that {path} has the {file.rows} rows of the published set, "
            f"then write `sha256: {checksum}` into its recipe"
        )
    if checksum != file.sha256:
        raise BenchmarkError(
            f"{path} has sha256 {checksum}, {name} is {file.sha256}: the file is another revision. Download the pinned "
            f"one ({_origin(path, file)}), or write a benchmark recipe with its own name, version and checksum for it"
        )
    return path


def _origin(path: Path, file: PinnedFile) -> str:
    pointer = path.with_name(f"{path.name}.dvc")
    return f"`dvc update {pointer}`, or {file.url}" if pointer.exists() else file.url
