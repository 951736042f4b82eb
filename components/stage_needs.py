"""What stages need that is no output of another stage and can be asked for before the first of them runs: keys of
endpoints, models, files, and a PyTorch that computes on GPUs."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterator
from pathlib import Path

from components.endpoint import EndpointError, require_key
from components.params import EndpointParams, EndpointTeacherParams, Params

LABELLED_BY_STAGES = frozenset(f"data/judge/{table}.parquet" for table in ("trajectories", "verdicts"))
"""What the stage `judge_rollouts` makes, of the files that `judge.trust.labels` may name."""
TRAINING = frozenset({"train_sft", "distill_judge", "train_rl"})
SAMPLING = frozenset({"judge_rollouts", "evaluate"})
"""Stages that sample from a model, in their process or from servers."""


def missing_keys(params: Params, due: Collection[str]) -> Iterator[str]:
    """A line for each stage of `due` and each endpoint that it asks, whose key is not in the environment."""
    for stage, endpoint in _endpoints(params):
        if stage in _without_parts(due):
            try:
                require_key(endpoint)
            except EndpointError as error:
                yield f"for {stage}: {error}"


def missing_models(params: Params, root: Path, due: Collection[str]) -> Iterator[str]:
    """A line for each model in a folder that a stage of `due` trains, and that is not there."""
    for stage, key, base in (
        ("train_sft", "base", params.model.base),
        ("distill_judge", "judge_base", params.model.judge_base),
    ):
        is_local = base.startswith(("data/", ".", "/"))  # what is in models/ a stage may make
        if stage in due and is_local and not (root / base / "config.json").exists():
            yield f"for {stage}: no model at {base}: correct model.{key}"


def missing_files(params: Params, root: Path, due: Collection[str]) -> Iterator[str]:
    """A line for each file with labels or demonstrations that a stage of `due` reads, and that is not there."""
    labels = params.judge.trust.labels
    if labels is not None and "train_rl" in _without_parts(due):
        for file in (labels.file, labels.trajectories):
            if file not in LABELLED_BY_STAGES and not (root / file).exists():
                yield f"for train_rl: no file {file}: correct judge.trust.labels"
    if "curate_sft" in due:
        for file in params.curate.demonstrations:
            if not (root / file).exists():
                yield f"for curate_sft: no file {file}: correct curate.demonstrations"


def missing_cuda(params: Params, due: Collection[str]) -> Iterator[str]:
    """One line if stages of `due` compute on a GPU in their own process, and the PyTorch here cannot."""
    stages = TRAINING if params.inference.engine == "vllm" else TRAINING | SAMPLING
    if params.model.device == "cuda" and (computing := stages & _without_parts(due)) and (reason := without_cuda()):
        yield f"for {', '.join(sorted(computing))}: model.device = cuda: {reason}"


def without_cuda() -> str | None:
    """Why the installed PyTorch computes on no GPU, with the fix; None if it may. PyTorch is not imported for this."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None  # another check names missing packages
    if not version.endswith("+cpu"):
        return None
    return (
        f"this environment has PyTorch's build without CUDA ({version}): type `pip uninstall -y torch`, then `pip "
        "install -r requirements/gpu.txt`"
    )


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


def _without_parts(stages: Collection[str]) -> set[str]:
    """The stages by name, without the part after `@`."""
    return {stage.partition("@")[0] for stage in stages}
