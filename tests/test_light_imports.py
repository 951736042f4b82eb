"""Model and training run where only torch, transformers and peft are: on a GPU machine without browser or pipeline."""

import subprocess
import sys

ABSENT = ("playwright", "prefect", "mlflow", "dvc", "great_expectations", "ray", "vllm")
LIGHT = (
    "components.agent",
    "components.model",
    "components.policies",
    "components.rollout",
    "components.training.learner",
    "components.training.pretrain",
    "components.training.rl",
    "components.training.supervised",
    "perf.gpu_check.__main__",
)


def test_these_packages_import_without_browser_and_pipeline():
    code = (
        f"import importlib, sys; sys.modules.update(dict.fromkeys({ABSENT!r})); "
        f"[importlib.import_module(name) for name in {LIGHT!r}]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-1500:]


def test_names_that_drive_a_browser_are_imported_at_their_first_use():
    code = (
        "import sys, components.browser as browser; assert 'playwright' not in sys.modules; "
        "assert all(getattr(browser, name) for name in browser.__all__); assert 'playwright' in sys.modules; "
        "assert not hasattr(browser, 'Firefox')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
