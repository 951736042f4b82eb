"""The code of the how-to page, with the client of openenv and the trainer of TRL, in their own environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.openenv.test_server import ROOT, Started

PYTHON = ROOT / ".venv-openenv/bin/python"
PAGE = ROOT / "docs/how-to/use-another-trainer.md"


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="make openenv")
def test_the_code_of_the_page_works_and_trl_learns_from_its_rewards(tmp_path):
    """Of two scripted answers to the task one clicks the button, so their rewards are 1 and 0."""
    started = Started()
    try:
        child = [PYTHON, Path(__file__).with_name("trl_child.py"), started.url, PAGE, ROOT / "data/base_model"]
        environment = os.environ | {"TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}
        run = subprocess.run(child, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-3000:]
    finally:
        started.end()
    lines = run.stdout.splitlines()
    assert "['Succeed" in run.stdout, "the first example prints the feedback of its click"
    step = json.loads(lines[-1])[0]
    assert (step["reward"], step["tools/failure_frequency"]) == (0.5, 0.0)
    assert step["reward_std"] == pytest.approx(0.5**0.5, rel=1e-3)
    assert step["grad_norm"] > 0
