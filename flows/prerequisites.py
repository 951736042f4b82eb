"""What stages need that is no output of another stage, checked before the first of them runs: a PyTorch for the
recipe's device, keys of endpoints, models, files, keys of params.yaml, environments with vLLM, and models that vLLM can
serve. Otherwise a mistake would show after hours of other work."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from components.params import Params, RecipeError, load
from components.serving_limits import ServedModel, refusals, started_servers
from components.stage_needs import missing_cuda, missing_files, missing_keys, missing_models
from components.vllm_arguments import NoEngineError, unknown_arguments
from flows.crash_safe_dvc import StageFailed
from flows.graph import Stage

SERVING = {"inference.vllm": {"judge_rollouts", "train_rl", "evaluate"}, "judge.distill.vllm": {"train_rl"}}
"""The stages that start the vLLM servers of a section."""


def require(root: Path, stages: dict[str, Stage], due: Collection[str]) -> None:
    """Require what the stages that are due need.

    Raises:
        StageFailed: something is missing, and the message names all of it; or params.yaml is wrong.
    """
    path = root / "params.yaml"
    raw = (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}
    if lacking := sorted({key for name in due for key in stages[name].params if not _has(raw, key)}):
        raise StageFailed(
            f"params.yaml lacks {', '.join(lacking)}, which DVC needs although there are defaults: type `waymark use "
            "params.yaml`, which adds all keys"
        )
    if not {"teacher", "judge", "model", "curate"} <= raw.keys():  # not a recipe of Waymark's stages
        return
    try:
        params = load(path)
    except RecipeError as error:
        raise StageFailed(str(error)) from error
    here = {name for name in due if params.placement.pool(name) is None}  # a worker has keys and files of its own
    missing = [
        *_refused_models(params, root, due),
        *missing_cuda(params, here),
        *missing_keys(params, here),
        *missing_models(params, root, here),
        *missing_files(params, root, here),
        *_missing_engines(params, root, here),
    ]
    if missing:
        lines = "\n".join(f"- {item}" for item in missing)
        raise StageFailed(f"nothing was run, because something is missing:\n{lines}")


def _has(values: Any, key: str) -> bool:
    for name in key.split("."):
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def _missing_engines(params: Params, root: Path, due: Collection[str]) -> Iterator[str]:
    """What is wrong with the environments of the vLLM servers that due stages start."""
    for served, stages in _started_servers(params, due):
        try:
            for sentence in unknown_arguments(served.vllm.engine, root / served.vllm.python):
                yield f"for {stages}: {served.section}.engine: {sentence}"
        except NoEngineError as error:
            yield f"for {stages}: {served.section}.python: {error}"


def _refused_models(params: Params, root: Path, due: Collection[str]) -> Iterator[str]:
    """Why vLLM would not start with a model, as far as its configuration can be read here."""
    for served, stages in _started_servers(params, due):
        for sentence in refusals(params, served, root):
            yield f"for {stages}: {sentence}"


def _started_servers(params: Params, due: Collection[str]) -> Iterator[tuple[ServedModel, str]]:
    """The vLLM servers that due stages start, with the names of these stages."""
    for served in started_servers(params):
        stages = SERVING[served.section] & {name.partition("@")[0] for name in due}
        if stages:
            yield served, ", ".join(sorted(stages))
