"""`import mlflow` is the library, not our folder of that name. Its use sends nothing and prints nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracking.conftest import ROOT, start


@pytest.mark.slow
def test_the_directory_mlflow_does_not_shadow_the_library() -> None:
    assert (ROOT / "mlflow").is_dir()
    assert not (ROOT / "mlflow" / "__init__.py").exists()
    for command in (["-c", "import mlflow; print(mlflow.__file__)"], ["-m", "mlflow", "--version"]):
        said = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert "site-packages" in said or "3.17.2" in said


def test_importing_tracking_does_not_import_mlflow(checkout: Path) -> None:
    code = "import sys, components.tracking; print([name for name in sys.modules if name.split('.')[0] == 'mlflow'])"
    assert start(code).communicate()[0] == "[]\n"


WATCHED = """
import sys
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        print("NETWORK", event, args, flush=True)
sys.addaudithook(watch)
from pathlib import Path
from components.tracking import stage_run
from tests.samples import a_trajectory, a_verdict, recipe
with stage_run(recipe(), "train_sft", "key", Path("state")) as run:
    run.metrics({"loss": 1})
    trajectory = a_trajectory()
    run.traces([trajectory], [a_verdict(trajectory)])
    Path("model").mkdir()
    Path("model/weights").write_text("w")
    run.register(Path("model"), "waymark-policy")
"""


@pytest.mark.slow
def test_first_use_sends_nothing_over_the_network_and_prints_nothing(checkout: Path) -> None:
    Path("mlflow/store/mlflow.db").unlink()
    child = start(WATCHED, stderr=subprocess.PIPE)
    assert child.communicate() == ("", "")
    assert child.returncode == 0
