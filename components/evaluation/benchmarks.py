"""Published benchmarks as recipes: `recipes/benchmarks/<name>.yaml`, laid over the recipe in use.

A benchmark says which tasks there are (a published file or the pages of a package, each pinned by its SHA-256), who
judges them, how the policy is decoded, how many steps it has, and how politely its sites are asked. The agent's harness
(protocol, observation, viewport, context) stays the recipe's: it belongs to the model.

Sources of the settings: OpenWebRL, section 5 and appendices A.6 and B; WebGym, section 5; WebAgent-R1, section 3 and
appendix B; BrowserAgent, section 3. "595 WebVoyager tasks" is at least two different sets and Online-Mind2Web was
revised several times, so a set's version carries its checksum into every result.

Out of scope: fetching the files (`docs/benchmarks.md` says from where), and the sites of WebArena, which somebody must
run.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import Field, ValidationError, model_validator

from components.params import EgressParams, JudgeProtocolName, Params, SamplingParams, Section, TaskFile
from components.recipe_text import RecipeLoader, explain
from components.records import Rejection, Task
from components.sites.miniwob_server import families, html_root
from components.store import digest
from components.tasks import load_files

RECIPES = Path("recipes/benchmarks")
FILES = Path("data/benchmarks")
"""Where task files are looked for."""

JudgeName = Literal["rules", JudgeProtocolName, "vote"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BenchmarkError(ValueError):
    """A benchmark that cannot be run. The message says what to do."""


class PinnedFile(Section):
    """A published file."""

    name: str
    sha256: Sha256 | None
    """None: nobody here has seen the file; the first who has it writes its checksum down."""
    rows: int = Field(gt=0)
    url: str
    """Where it is published."""


class PublishedFile(PinnedFile):
    """A published task file."""

    answers: PinnedFile | None = None
    """WebVoyager's file of reference answers, a row each, joined by id; of use to judges that read them."""


class Pages(Section):
    """Pages of MiniWoB++, by seed."""

    package: str
    """The package's name and version, for people; what counts is the checksum."""
    sha256: Sha256
    """Of all files under the package's `html` (`pages_sha256`)."""
    leave_out: list[str] = Field(default_factory=list)
    """Pages of the package that are no part of the benchmark."""
    first_seed: int = Field(ge=0)
    per_page: int = Field(gt=0)


class Politeness(Section):
    """How other people's sites are asked."""

    per_host: int = Field(gt=0)
    """Episodes at once that begin on one host."""
    delay_s: float = Field(ge=0)
    """Seconds between two starts on one host."""
    robots: bool
    """Leave out tasks whose start page the site's robots.txt disallows."""


class Reach(Section):
    """Where the browsers may go, in the place of the recipe's `browser.egress`, whose blocked hosts stay blocked; the
    sites of `tasks.sites` are added."""

    allowed_hosts: list[str]
    """Patterns of host names. Tasks that begin elsewhere are left out."""
    private_hosts: list[str] = Field(default_factory=list)
    """Hosts, or host:port, that may lie on loopback or private addresses: servers of your own."""


class Benchmark(Section):
    """One set of tasks and how it is measured."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    title: str
    version: str
    """The publisher's date or revision."""
    licence: str
    file: PublishedFile | None
    pages: Pages | None
    judge: JudgeName
    """The official protocol."""
    judge_model: str | None
    """Whom the published numbers were judged by."""
    also: list[JudgeName]
    """Protocols that are asked too, and reported beside the official one."""
    decoding: dict[str, SamplingParams]
    """By name; `official` is the one of the headline."""
    max_response_tokens: int | None = Field(gt=0)
    """None: the agent's."""
    max_steps: int = Field(gt=0)
    repeats: int = Field(gt=0)
    inference_timeout_s: float = Field(gt=0)
    task_timeout_s: float = Field(gt=0)
    reach: Reach
    politeness: Politeness

    @model_validator(mode="after")
    def _complete(self) -> Benchmark:
        if (self.file is None) == (self.pages is None):
            raise ValueError("give either a file or pages")
        if "official" not in self.decoding:
            raise ValueError("decoding needs `official`")
        return self

    @property
    def sha256(self) -> str | None:
        """Of the set's tasks, as the recipe pins it."""
        return self.file.sha256 if self.file is not None else self.pages.sha256 if self.pages is not None else None

    @property
    def identity(self) -> str:
        """The set's version with its checksum, such as `2025-08-31 sha256:5c8cb175fdac`."""
        return f"{self.version} sha256:{self.sha256[:12] if self.sha256 else 'unknown'}"

    @property
    def key(self) -> str:
        """A digest of what decides its results: all of it but how politely sites are asked."""
        decides = self.model_dump(mode="json", exclude={"title", "licence", "politeness"})
        return digest(yaml.safe_dump(decides))

    def over(self, params: Params, decoding: str = "official", max_steps: int | None = None) -> Params:
        """The recipe with this benchmark's settings laid over it.

        A longer episode than the official has its wall-clock limit longer in proportion.

        Args:
            max_steps: another step budget.

        Raises:
            BenchmarkError: no such decoding, or its responses do not fit the agent's context.
        """
        if decoding not in self.decoding:
            raise BenchmarkError(f"{self.name} has no decoding {decoding!r}; it has {', '.join(self.decoding)}")
        tokens = self.max_response_tokens
        if tokens is not None and tokens >= params.agent.max_context_tokens:
            raise BenchmarkError(
                f"{self.name} gives a response {tokens} tokens, and recipe {params.name} a context of "
                f"{params.agent.max_context_tokens}: `waymark use` the recipe of the model that is evaluated"
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
    """Read a benchmark: a file, or a name in `recipes/benchmarks`.

    Raises:
        BenchmarkError: there is none, or a field of it is wrong.
    """
    path = Path(named)
    if path.suffix != ".yaml":
        path = RECIPES / f"{named}.yaml"
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), RecipeLoader)
    except FileNotFoundError as error:
        known = ", ".join(sorted(path.stem for path in RECIPES.glob("*.yaml")))
        raise BenchmarkError(
            f"no benchmark {str(named)!r}; there are {known or 'none here'}, or a .yaml file"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"{path}: not YAML: {error}") from error
    try:
        return Benchmark.model_validate(raw)
    except ValidationError as error:
        lines = [explain(Benchmark, str(path), detail) for detail in error.errors()]
        raise BenchmarkError("\n".join(lines)) from error


def file_tasks(benchmark: Benchmark, folder: Path = FILES) -> tuple[list[Task], list[Rejection]]:
    """The tasks of a benchmark's file, and the rows that are none.

    Raises:
        BenchmarkError: a file is not there, or is not the one that the recipe pins.
    """
    file = benchmark.file
    if file is None:
        raise BenchmarkError(f"{benchmark.name} has no file: its tasks are pages")
    path = _pinned(benchmark.name, file, folder)
    answers = None if file.answers is None else str(_pinned(benchmark.name, file.answers, folder))
    loaded = load_files([TaskFile(path=str(path), answers=answers)])
    if not loaded.tasks:
        raise BenchmarkError(f"no row of {path} is a task; the first was rejected: {loaded.rejections[0].reason}")
    return loaded.tasks, loaded.rejections


def _pinned(name: str, file: PinnedFile, folder: Path) -> Path:
    """Where a file of the benchmark of this name is, once it is the right one."""
    path = folder / file.name
    if not path.exists():
        raise BenchmarkError(
            f"{path} is not there: fetch it ({_origin(path, file)}), or name the folder that has it with --files"
        )
    with path.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    if file.sha256 is None:
        raise BenchmarkError(
            f"{name} has no checksum yet: look whether {path} has the {file.rows} rows of the published set, "
            f"then write `sha256: {found}` into its recipe"
        )
    if found != file.sha256:
        raise BenchmarkError(
            f"{path} has sha256 {found}, {name} is {file.sha256}: it is another revision. Fetch that one "
            f"({_origin(path, file)}), or give this one a recipe with a name, version and checksum of its own"
        )
    return path


def _origin(path: Path, file: PinnedFile) -> str:
    pointer = path.with_name(f"{path.name}.dvc")
    return f"`dvc update {pointer}`, or {file.url}" if pointer.exists() else file.url


def page_families(pages: Pages) -> list[str]:
    """The pages of a benchmark on MiniWoB++.

    Raises:
        BenchmarkError: the installed package's pages are not the ones that the recipe pins.
    """
    found = pages_sha256()
    if found != pages.sha256:
        raise BenchmarkError(
            f"the installed pages of MiniWoB++ have sha256 {found}, the benchmark's have {pages.sha256}: "
            f"`pip install {pages.package}`, or give these a recipe with a name, version and checksum of its own"
        )
    return [family for family in families() if family not in pages.leave_out]


def pages_sha256() -> str:
    """SHA-256 over all files of the installed MiniWoB++: their names and contents, in order of their names."""
    total, root = hashlib.sha256(), html_root()
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        total.update(
            f"{file.relative_to(root).as_posix()}\x00{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
        )
    return total.hexdigest()
