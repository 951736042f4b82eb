"""The model that a benchmark evaluates: a directory, a Hugging Face name, a registered version such as the champion, or
the recipe's teacher."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from components import tracking
from components.agent import Policy
from components.benchmarks.spec import BenchmarkError
from components.params import Params, ScriptedTeacherParams
from components.policies import EndpointPolicy, open_model
from components.policies.scripted import ScriptedTeacher
from components.store import digest

CHAMPION, TEACHER = "champion", "teacher"
_REGISTERED = re.compile(r"models:/([^/@]+)(?:/(\d+)|(@[^/@]+))")
"""MLflow's address of a registered version: `models:/NAME/NUMBER` or `models:/NAME@ALIAS`."""


@dataclass(frozen=True)
class Subject:
    """The evaluated model. `label` is its name for readers, `key` is for file names: equal weights have equal keys.

    `open` opens its policy from the recipe, a version and a working directory; it is None for the scripted teacher,
    which has one policy per episode. `is_priced`: the policy writes its cost to `spent.json` of that directory.
    """

    label: str
    key: str
    open: Callable[[Params, str, Path], AbstractAsyncContextManager[Policy]] | None
    is_priced: bool = False


def resolve_subject(named: str, params: Params) -> Subject:
    """The model of this name.

    Raises:
        BenchmarkError: there is no such model, or the registered version belongs to another recipe.
        TrackingError: the registry has no such version, or its files are missing.
    """
    if named == TEACHER:
        return _teacher(params)
    if named == CHAMPION:
        champion = tracking.champion(params, tracking.POLICY)
        if champion is None:
            raise BenchmarkError(
                f"no model of {tracking.POLICY} has the alias `champion` yet: run the pipeline, which promotes the "
                "first, or name a model with --model"
            )
        return _version(champion, params)
    if match := _REGISTERED.fullmatch(named):
        return _version(tracking.registered(params, match[1], match[2] or match[3]), params)
    path = Path(named)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BenchmarkError(f"--model {path} holds no model: it has no config.json; name the folder of a model")
        return _local(path, named)
    if (
        named.startswith("models:")
        or path.is_absolute()
        or named.count("/") != 1
        or (path.parent != Path() and path.parent.exists())
    ):
        raise BenchmarkError(
            f"--model {named} is not a directory: name a directory, a Hugging Face model (owner/name), `champion`, a "
            "version of MLflow's registry (models:/NAME/NUMBER or models:/NAME@ALIAS) or `teacher`"
        )
    return Subject(named, _slug(named), lambda params, version, work: open_model(named, params, version, work))


def _version(version: tracking.ModelVersion, params: Params) -> Subject:
    foreign = version.foreign_to(params)
    if foreign:
        raise BenchmarkError(f"{foreign}; `waymark use` its recipe, or name a model with --model")
    return _local(version.path, f"{version.name} version {version.version}")


def _local(path: Path, label: str) -> Subject:
    key = tracking.model_digest(path)[:12]
    return Subject(label, key, lambda params, version, work: open_model(path, params, version, work))


def _teacher(params: Params) -> Subject:
    if isinstance(params.teacher, ScriptedTeacherParams):
        return Subject("scripted teacher", ScriptedTeacher.version, None)
    endpoint = params.teacher.endpoint
    return Subject(
        f"{endpoint.model} (teacher)",
        f"{TEACHER}-{_slug(endpoint.model)}",
        lambda params, version, work: EndpointPolicy(endpoint, work / "spent.json"),
        is_priced=True,
    )


def _slug(name: str) -> str:
    """A model's name as a part of a file's name; with a checksum if other names would give the same, except for the
    same name with `-` in place of its `/`."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
    return slug if name in (slug, slug.replace("-", "/", 1)) else f"{slug}-{digest(name)[:6]}"
