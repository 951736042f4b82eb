"""Model and training run where only torch, transformers and peft are: on a GPU machine without browser or pipeline."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ABSENT = ("playwright", "prefect", "mlflow", "dvc", "great_expectations", "ray", "vllm")
LIGHT = (
    "components.agent",
    "components.model",
    "components.policies",
    "components.rollout",
    "components.training.learner",
    "components.training.page_rendering",
    "components.training.pretrain",
    "components.training.rl",
    "components.training.supervised",
    "perf.gpu_check.__main__",
)
GPU_CHECK = ("torch", "transformers", "peft", "pydantic", "cachetools", "pillow", "pyarrow")
"""What `python -m perf.gpu_check` needs, as docs/how-to/first-run-on-a-gpu.md says."""
OWN = {"components", "docs", "flows", "perf", "requirements", "tests"}


def without(modules: Iterable[str], code: str) -> subprocess.CompletedProcess[str]:
    """Runs code as if these modules were not installed."""
    program = f"import sys; sys.modules.update(dict.fromkeys({[*modules]!r})); {code}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)


def all_but(packages: Iterable[str]) -> list[str]:
    """The installed modules that neither belong to these packages nor to what they depend on."""
    needed: set[str] = set()
    pending = [*packages]
    while pending:
        name = canonicalize_name(pending.pop())
        if name in needed:
            continue
        needed.add(name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # of another platform
            continue
        wanted = (
            line for line in map(Requirement, lines) if line.marker is None or line.marker.evaluate({"extra": ""})
        )
        pending += [line.name for line in wanted]
    owners = importlib.metadata.packages_distributions()
    return [
        module
        for module, names in owners.items()
        if not {canonicalize_name(name) for name in names} & needed
        and module not in OWN
        and module not in sys.stdlib_module_names
    ]


def test_these_packages_import_without_browser_and_pipeline():
    code = f"import importlib; [importlib.import_module(name) for name in {LIGHT!r}]"
    done = without(ABSENT, code)
    assert done.returncode == 0, done.stderr[-1500:]


def test_the_caller_of_a_ray_cluster_needs_no_playwright():
    done = without(["playwright"], "import components.rollout.ray_pool")
    assert done.returncode == 0, done.stderr[-1500:]


def test_the_check_of_a_gpu_runs_with_the_packages_that_its_page_names():
    options = ["gpu_check", "--device", "cpu", "--parts", "exactness"]
    code = f"import runpy; sys.argv[:] = {options!r}; runpy.run_module('perf.gpu_check', run_name='__main__')"
    done = without(all_but(GPU_CHECK), code)
    assert done.returncode == 0, done.stderr[-1500:]
    assert json.loads(done.stdout.splitlines()[-1])["passed"]
    page = Path("docs/how-to/first-run-on-a-gpu.md").read_text()
    assert f"pip install {' '.join(GPU_CHECK)}\n" in page


@pytest.mark.every(3)
@pytest.mark.parametrize("package", ["cachetools", "pillow", "pyarrow"])
def test_no_package_of_the_check_of_a_gpu_is_needless(package):
    done = without(all_but({*GPU_CHECK} - {package}), "import perf.gpu_check.__main__")
    assert done.returncode != 0


def test_names_that_drive_a_browser_are_imported_at_their_first_use():
    code = (
        "import sys, components.browser as browser; assert 'playwright' not in sys.modules; "
        "assert all(getattr(browser, name) for name in browser.__all__); assert 'playwright' in sys.modules; "
        "assert not hasattr(browser, 'Firefox')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_names_of_the_policies_are_imported_at_their_first_use():
    code = (
        "import sys, components.policies as policies; assert 'torch' not in sys.modules; "
        "assert all(getattr(policies, name) for name in policies.__all__); assert not hasattr(policies, 'Oracle')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
