"""What stages need that is no output of another stage, checked before the first of them runs: keys of endpoints, files,
keys of params.yaml, environments with vLLM, and models that vLLM can serve. Otherwise a mistake would show after hours
of other work."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from components.endpoint import EndpointError, require_key
from components.params import EndpointParams, EndpointTeacherParams, Params, RecipeError, load
from components.serving_limits import ServedModel, refusals, started_servers
from components.vllm_arguments import NoEngineError, unknown_arguments
from flows.crash_safe_dvc import StageFailed
from flows.graph import Stage

SERVING = {"inference.vllm": {"judge_rollouts", "train_rl", "evaluate"}, "judge.distill.vllm": {"train_rl"}}
"""The stages that start the vLLM servers of a section."""
LABELLED_BY_STAGES = frozenset(f"data/judge/{table}.parquet" for table in ("trajectories", "verdicts"))
"""What the stage `judge_rollouts` makes, of the files that `judge.trust.labels` may name."""


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
        *_missing_keys(params, here),
        *_missing_files(params, root, here),
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


def _missing_keys(params: Params, due: Collection[str]) -> Iterator[str]:
    for stage, endpoint in _endpoints(params):
        if any(name.partition("@")[0] == stage for name in due):
            try:
                require_key(endpoint)
            except EndpointError as error:
                yield f"for {stage}: {error}"


def _endpoints(params: Params) -> Iterator[tuple[str, EndpointParams]]:
    """The endpoints that stages ask, by the stage."""
    judge, model = params.judge, params.judge.model
    if isinstance(params.teacher, EndpointTeacherParams):
        yield "teacher_rollouts", params.teacher.endpoint
    if model is not None and judge.labels != "rules":
        for stage in ("label_trajectories", "judge_rollouts", "evaluate"):
            for endpoint in (model.endpoint, *model.voters):
                yield stage, endpoint
    if model is not None and judge.reward == "model":
        for endpoint in (model.endpoint, *model.voters):
            yield "train_rl", endpoint


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


def _missing_files(params: Params, root: Path, due: Collection[str]) -> Iterator[str]:
    for stage, key, base in (
        ("train_sft", "base", params.model.base),
        ("distill_judge", "judge_base", params.model.judge_base),
    ):
        is_local = base.startswith(("data/", ".", "/"))  # what is in models/ a stage may make
        if stage in due and is_local and not (root / base / "config.json").exists():
            yield f"for {stage}: no model at {base}: correct model.{key}"
    labels = params.judge.trust.labels
    if labels is not None and any(name.startswith("train_rl@") for name in due):
        for file in (labels.file, labels.trajectories):
            if file not in LABELLED_BY_STAGES and not (root / file).exists():
                yield f"for train_rl: no file {file}: correct judge.trust.labels"
    if "curate_sft" in due:
        for file in params.curate.demonstrations:
            if not (root / file).exists():
                yield f"for curate_sft: no file {file}: correct curate.demonstrations"
