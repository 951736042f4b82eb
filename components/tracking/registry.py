"""Models in the registry: `candidate` is the newest, `champion` the one in use.

A version is a copy of a model directory in the run's artifacts, under the hash of its content. Registering the same
content again returns the existing version. There is no MLflow flavor: `components/model` and `components/policies` load
models.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from components import store
from components.params import OPENWEBRL_KEYS, Params
from components.redaction import redacted
from components.tracking.backend import Backend, TrackingError, connect, exclusive, with_retries

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion as MlflowVersion

DIGEST = "waymark.digest"
INTERFACE = "waymark.interface"
CONTEXT = "waymark.context"
"""The keys of `agent` that say what of an episode's history a policy sees, as JSON."""
CHAMPION = "champion"

DOWNLOADS = store.STATE / "cache" / "models"
"""Models of a server, each under its digest. They may be deleted whenever no stage runs."""

LEFT_OUT = {"optimizer.pt", ".cache"}
"""Of a model directory, what is no part of the model: what only the next phase of training reads, which is several
times as large as the model, and what `hf download` notes of its downloads."""

MAX_CAUSE = 400
"""Characters of a quoted error."""

POLICY = "waymark-policy"
JUDGE = "waymark-judge"


@dataclass(frozen=True)
class ModelVersion:
    """A registered version. `path` is its model directory on this machine."""

    name: str
    version: int
    path: Path
    tags: dict[str, str]

    @property
    def identity(self) -> str:
        """Its number, and the beginning of its digest if it has one: in another registry the number may be that of
        another model."""
        return f"{self.version} {self.tags.get(DIGEST, '')[:8]}".strip()

    def foreign_to(self, params: Params) -> str | None:
        """The reason why a recipe cannot evaluate it, or None. What an old version has not recorded is accepted."""
        if all(self.tags.get(tag, value) == value for tag, value in interface_tags(self.name, params).items()):
            return None
        return (
            f"version {self.version} is of recipe {self.tags.get('waymark.recipe', 'unknown')}, whose model input "
            f"differs from that of {params.name} (observation, agent, viewport, or the judge's screenshots)"
        )


def model_digest(path: Path) -> str:
    """A key of what a model directory answers with, 16 hexadecimal digits: a registered version has that of the
    directory it was made from."""
    return store.digest(path, leave_out=LEFT_OUT)


def interface_tags(name: str, params: Params) -> dict[str, str]:
    """What a version records of the model's input and answer format; models in which it differs cannot be compared."""
    agent = params.agent
    parts = (params.observation, agent.protocol, agent.prompt, str(params.browser.viewport))
    if name == JUDGE:  # the judge's prompt has the whole episode, whatever the policy saw of it
        return {INTERFACE: store.digest(*parts, str(params.judge.distill.screenshots))[:16]}
    context = {key: getattr(agent, key) for key in OPENWEBRL_KEYS}
    return {INTERFACE: store.digest(*parts, str(params.model.think_prefix))[:16], CONTEXT: json.dumps(context)}


def register(backend: Backend, run_id: str, path: Path, name: str, alias: str, tags: Mapping[str, str]) -> int:
    """Register `path` as a version of model `name` and move the alias to it; returns the version.

    Raises:
        TrackingError: there is no such directory.
    """
    if not path.is_dir():
        raise TrackingError(f"{path}: no model directory to register as {name}; run the stage that trains it")
    client, digest = backend.client, model_digest(path)
    with exclusive():
        _ensure_model(backend, name)
        versions = with_retries(lambda: client.search_model_versions(f"name = '{name}'"))
        version = next((known for known in versions if known.tags.get(DIGEST) == digest), None)
        if version is None:
            folder = f"{name}/{digest}"
            for file in store.files_in(path, LEFT_OUT):
                inside = f"{folder}/{file.parent.relative_to(path).as_posix()}".removesuffix("/.")
                with_retries(partial(client.log_artifact, run_id, str(file), inside))
            source = f"{with_retries(lambda: client.get_run(run_id)).info.artifact_uri}/{folder}"
            version = with_retries(
                lambda: client.create_model_version(name, source, run_id=run_id, tags={DIGEST: digest, **tags})
            )
        with_retries(lambda: client.set_registered_model_alias(name, alias, version.version))
    return int(version.version)


def champion(params: Params, name: str) -> ModelVersion | None:
    """The model in use, or None if the registry has no champion.

    Raises:
        TrackingError: the champion's files are missing.
    """
    backend = connect(params.tracking)
    models = with_retries(lambda: backend.client.search_registered_models(f"name = '{name}'"))
    if not models or CHAMPION not in models[0].aliases:
        return None
    return _fetched(backend, name, str(models[0].aliases[CHAMPION]))


def registered(params: Params, name: str, version: str) -> ModelVersion:
    """A version of a registered model.

    Args:
        version: its number, or `@` and an alias, such as `@candidate`.

    Raises:
        TrackingError: there is no such version, or its files are missing.
    """
    backend = connect(params.tracking)
    from mlflow.exceptions import MlflowException

    models = with_retries(lambda: backend.client.search_registered_models(f"name = '{name}'"))
    aliases = models[0].aliases if models else {}
    number = str(aliases.get(version[1:], "")) if version.startswith("@") else version
    try:
        if number:
            return _fetched(backend, name, number)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
    raise TrackingError(
        f"the registry has no version {version} of {name}; `make ui` shows its models, versions and aliases in MLflow"
    )


def _fetched(backend: Backend, name: str, number: str) -> ModelVersion:
    """A version with its files on this machine. Those of a server are downloaded once, into `DOWNLOADS`.

    Raises:
        TrackingError: the files are not there, or this machine cannot hold them, or the server is out of reach.
    """
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException
    from mlflow.utils.uri import is_local_uri

    version = with_retries(lambda: backend.client.get_model_version(name, number))
    fetch = partial(download_artifacts, artifact_uri=version.source, tracking_uri=backend.uri)
    get: Callable[[], Path | str] = fetch if is_local_uri(version.source) else partial(_downloaded, fetch, version)
    try:
        path = Path(with_retries(get))
    except (MlflowException, OSError) as error:
        place = f"{name} has version {version.version}, but its files at {version.source}"
        if os.strerror(errno.ENOSPC) in str(error):  # MLflow passes the error of a file on as text
            raise TrackingError(f"{place} do not fit on the disk of {DOWNLOADS}: free space and run again") from error
        raise TrackingError(
            f"{place} cannot be read ({_cause(error)}): if they are missing or damaged, restore them, or move an "
            "alias that leads to it, such as `champion`, to another version in the MLflow UI; else remove the cause "
            "and run again"
        ) from error
    return ModelVersion(name, int(version.version), path, dict(version.tags))


def _cause(error: Exception) -> str:
    """The beginning of an error in one line, without passwords. MLflow lists the files that failed in further lines."""
    return textwrap.shorten(redacted(str(error)), MAX_CAUSE)


def _downloaded(fetch: Callable[..., str], version: MlflowVersion) -> Path:
    """The files of a model, in a folder that has its name only once it is whole.

    Raises:
        OSError: the server has other files than those which `register` gave it.
    """
    digest = version.tags.get(DIGEST)  # a version that was made in MLflow itself has none
    path = DOWNLOADS / (digest or store.digest(str(version.source)))
    if not path.is_dir():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DOWNLOADS, prefix=f".{path.name}.") as folder:
            files = Path(fetch(dst_path=folder))
            if digest and model_digest(files) != digest:
                raise OSError(
                    f"the downloaded files are not those that were registered: restore the files of digest {digest} "
                    f"at {version.source}"
                )
            try:
                files.rename(path)
            except OSError:
                if not path.is_dir():  # no other process was faster
                    raise
    return path


def promote(
    params: Params, name: str, version: int, evidence: Mapping[str, object], champion: int | None = None
) -> None:
    """Make a version the champion and store the evidence in its tags.

    MLflow has no exchange of an alias in one step: another machine that moves it within the same milliseconds is not
    noticed.

    Args:
        champion: the version that is the champion as far as the caller knows; None: there is none.

    Raises:
        ChampionChanged: another version is.
    """
    backend = connect(params.tracking)
    client = backend.client
    with exclusive():
        require_champion(backend, name, version, champion)
        for key, value in evidence.items():
            text = value if isinstance(value, str) else json.dumps(value)
            with_retries(partial(client.set_model_version_tag, name, str(version), f"waymark.{key}", text))
        with_retries(lambda: client.set_registered_model_alias(name, CHAMPION, str(version)))


def require_champion(backend: Backend, name: str, version: int, champion: int | None) -> None:
    """Require that `champion`, or `version` already, is the champion of a model; None: that there is none or `version`.

    Raises:
        ChampionChanged: another version is.
    """
    models = with_retries(lambda: backend.client.search_registered_models(f"name = '{name}'"))
    present = models[0].aliases.get(CHAMPION) if models else None
    if present is not None and int(present) not in (champion, version):
        raise ChampionChanged(f"version {present} of {name} has become the champion meanwhile")


class ChampionChanged(RuntimeError):
    """The champion is not the version with which the candidate was compared."""


def _ensure_model(backend: Backend, name: str) -> None:
    if not with_retries(lambda: backend.client.search_registered_models(f"name = '{name}'")):
        with_retries(lambda: backend.client.create_registered_model(name))
