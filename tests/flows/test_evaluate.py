"""The scheduled evaluation against a real (ephemeral) Prefect API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEASURE = """
import sys
from pathlib import Path
from flows.demo import configure_prefect
configure_prefect(Path.cwd())
from prefect import flow
from flows.evaluate import measure
@flow
def evaluate():
    measure.with_options(retry_delay_seconds=0)("nightly", [sys.executable, "-c", sys.argv[1]])
evaluate()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "tries"),
    [("sys.exit('no champion')", 1), ("os.kill(os.getpid(), 9)", 2)],
    ids=["an error of its own", "killed"],
)
def test_only_an_evaluation_that_was_killed_is_tried_again(tmp_path: Path, end: str, tries: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    program = f"import os, sys; open('tries', 'a').write('x'); {end}"
    command = [sys.executable, "-c", MEASURE, program]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert (tmp_path / "tries").read_text() == "x" * tries, done.stderr
