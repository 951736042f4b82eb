"""Opens the model that a person names: an endpoint, a directory, a registered version, or the recipe's teacher."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from components.agent import Policy
from components.benchmarks.spec import BenchmarkError
from components.benchmarks.subject import resolve_subject
from components.interactive.options import RunError, RunOptions
from components.params import Params
from components.policies import EndpointPolicy
from components.redaction import redacted


@dataclass(frozen=True)
class Model:
    """A model that can be opened. `label` names it to the person, `version` in the trajectory."""

    label: str
    version: str
    open: Callable[[Path], AbstractAsyncContextManager[Policy]]
    """Opens its policy, given a folder for logs and costs."""


def find_model(options: RunOptions, params: Params) -> Model:
    """The model of a run.

    Raises:
        RunError: there is no such model, or it belongs to another recipe.
        TrackingError: the registry has no such version, or its files are missing.
    """
    endpoint = options.endpoint
    if endpoint is not None:
        return Model(
            f"{endpoint.model} at {redacted(endpoint.url)}",
            endpoint.model,
            lambda work: EndpointPolicy(endpoint, work / "spent.json"),
        )
    try:
        subject = resolve_subject(options.model, params)
    except BenchmarkError as error:
        raise RunError(str(error)) from error
    open_subject = subject.open
    if open_subject is None:
        raise RunError(
            "--model teacher: this recipe's teacher is a script, which knows the pages of its world only; name "
            "a model, or act yourself with --teacher human"
        )
    version = f"{subject.label}:{subject.key}"
    return Model(subject.label, version, lambda work: open_subject(params, version, work))
