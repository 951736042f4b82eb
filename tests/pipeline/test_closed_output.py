"""A stage whose output nothing reads any more goes on with its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from components.pipeline.closed_output import say

ROOT = Path(__file__).parents[2]
WORK = """
from pathlib import Path
from components.pipeline.closed_output import say
say("stage: 1/2")
say("stage: 2/2")
print("the table")
Path("finished").touch()
"""


def test_work_goes_on_after_the_reader_has_gone(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WORK]
    try:
        ended = subprocess.run(command, cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "finished").exists()


def test_a_reader_gets_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    say("stage: 1/2")
    say("stage: 2/2")
    assert capsys.readouterr().out == "stage: 1/2\nstage: 2/2\n"
