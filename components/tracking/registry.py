"""Models in the registry: `candidate` is the newest, `champion` the one in use.

A version is a copy of a model directory among the run's artifacts, kept under the hash of its content; registering the
same content again finds the version that is there. No MLflow flavor: what loads a model is `components/policies`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components import store
from components.params import Params
from components.tracking.backend import Backend, TrackingError, connect, exclusive, patiently

DIGEST = "waymark.digest"
INTERFACE = "waymark.interface"
CHAMPION = "champion"

POLICY = "waymark-policy"
JUDGE = "waymark-judge"


@dataclass(frozen=True)
class Champion:
    """The version behind the alias `champion`. `path` is its model directory on this machine."""

    name: str
    version: int
    path: Path
    tags: dict[str, str]

    def foreign_to(self, params: Params) -> str | None:
        """Why it cannot be evaluated under a recipe, or None. A version from before interfaces were kept passes."""
        here = interface(self.name, params)
        if self.tags.get(INTERFACE, here) == here:
            return None
        return (
            f"version {self.version} is of recipe {self.tags.get('waymark.recipe', 'unknown')}, which shows a model "
            f"something else than {params.name} does (observation, agent, viewport, or the judge's screenshots)"
        )


def interface(name: str, params: Params) -> str:
    """What a model is shown and how it answers, in short: models of two interfaces cannot be compared on one page."""
    agent = params.agent
    shown = [params.observation, agent.protocol, agent.prompt, str(params.browser.viewport)]
    shown += [str(params.judge.screenshots)] if name == JUDGE else [str(params.model.think_prefix)]
    return store.digest(*shown)[:16]


def register(backend: Backend, run_id: str, path: Path, name: str, alias: str, tags: Mapping[str, str]) -> int:
    """Make `path` a version of model `name` and point the alias at it.

    Raises:
        TrackingError: there is no such directory.
    """
    if not path.is_dir():
        raise TrackingError(f"{path}: no model directory to register as {name}; run the stage that trains it")
    client, digest = backend.client, store.digest(path)
    with exclusive():
        _ensure_model(backend, name)
        versions = patiently(lambda: client.search_model_versions(f"name = '{name}'"))
        version = next((v for v in versions if v.tags.get(DIGEST) == digest), None)
        if version is None:
            place = f"{name}/{digest}"
            patiently(lambda: client.log_artifacts(run_id, str(path), place))
            source = f"{patiently(lambda: client.get_run(run_id)).info.artifact_uri}/{place}"
            version = patiently(
                lambda: client.create_model_version(name, source, run_id=run_id, tags={DIGEST: digest, **tags})
            )
        patiently(lambda: client.set_registered_model_alias(name, alias, version.version))
    return int(version.version)


def champion(params: Params, name: str) -> Champion | None:
    """The model in use, or None if there is none yet.

    Raises:
        TrackingError: the registry names a model whose files are gone.
    """
    backend = connect(params.tracking)
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    models = patiently(lambda: backend.client.search_registered_models(f"name = '{name}'"))
    if not models or CHAMPION not in models[0].aliases:
        return None
    version = patiently(lambda: backend.client.get_model_version(name, str(models[0].aliases[CHAMPION])))
    try:
        path = Path(download_artifacts(artifact_uri=version.source, tracking_uri=backend.uri))
    except (MlflowException, OSError) as error:
        raise TrackingError(
            f"{name} version {version.version} is the champion, but its files at {version.source} are gone; restore "
            "them, or move the alias `champion` to another version in the MLflow UI"
        ) from error
    return Champion(name, int(version.version), path, dict(version.tags))


def promote(params: Params, name: str, version: int, evidence: Mapping[str, object]) -> None:
    """Make a version the champion; the evidence stays with it as tags."""
    backend = connect(params.tracking)
    client = backend.client
    with exclusive():
        for key, value in evidence.items():
            said = value if isinstance(value, str) else json.dumps(value)
            patiently(
                lambda key=key, said=said: client.set_model_version_tag(name, str(version), f"waymark.{key}", said)
            )
        patiently(lambda: client.set_registered_model_alias(name, CHAMPION, str(version)))


def _ensure_model(backend: Backend, name: str) -> None:
    if not patiently(lambda: backend.client.search_registered_models(f"name = '{name}'")):
        patiently(lambda: backend.client.create_registered_model(name))
