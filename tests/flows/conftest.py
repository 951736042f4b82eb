"""A small project with real DVC. Its stages write progress files and metrics and rename outputs, as Waymark's do."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from flows import process
from flows.crash_safe_dvc import Outcome, repro


@pytest.fixture(autouse=True)
def calls_are_accepted() -> Iterator[None]:
    """Flows that a test stops or lets fail end the calls of this process; those of later tests are accepted again."""
    yield
    process.allow()


STAGE = """
import json, os, pathlib, sys, time
name, seconds, out, *deps = sys.argv[1:]
progress = pathlib.Path(".waymark/progress"); progress.mkdir(parents=True, exist_ok=True)
steps = 4
for step in range(steps):
    time.sleep(float(seconds) / steps)
    partial = progress / f".{name}.part"
    partial.write_text(json.dumps({"stage": name, "done": step + 1, "total": steps, "message": f"step {step + 1}",
                                   "updated": time.time()}))
    os.replace(partial, progress / f"{name}.json")
text = "+".join([pathlib.Path(dep).read_text().strip() for dep in deps] + [name])
pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
pathlib.Path(out).write_text(text + "\\n")
metrics = pathlib.Path(f"reports/stages/{name}.json"); metrics.parent.mkdir(parents=True, exist_ok=True)
metrics.write_text(json.dumps({"stage": name, "length": len(text), "nested": {"deep": 1.5},
                               "funnel": [{"step": "all", "dropped": 0, "left": 9},
                                          {"step": "odd", "dropped": 4, "left": 5}],
                               "iterations": [{"iteration": i, "reward_mean": i / 4} for i in range(5)]}))
with open("ran.txt", "a") as ran:
    ran.write(name + "\\n")
"""

DVC_YAML = """
stages:
  base:
    frozen: true
    cmd: python stage.py base {s} data/base.txt
    outs: [data/base.txt: {{cache: false}}]
  collect:
    cmd: python stage.py collect {s} data/collect.txt source.txt
    deps: [source.txt, stage.py]
    outs: [data/collect.txt]
    metrics: [reports/stages/collect.json: {{cache: false}}]
  train:
    foreach: {{left: {{}}, right: {{}}}}
    do:
      cmd: python stage.py train@${{key}} {s} models/${{key}}.txt data/collect.txt data/base.txt
      deps: [data/collect.txt, data/base.txt]
      outs: ["models/${{key}}.txt"]
      metrics: ["reports/stages/train@${{key}}.json": {{cache: false}}]
  report:
    cmd: python stage.py report {s} reports/report.txt models/left.txt models/right.txt
    deps: [models/left.txt, models/right.txt]
    outs: [reports/report.txt]
    metrics: [reports/stages/report.json: {{cache: false}}]
"""

ORDER = ["collect", "train@left", "train@right", "report"]
"""The stages in an order in which they can run."""
FINAL = "collected+collect+base+train@left+collected+collect+base+train@right+report\n"


@cache
def _template() -> Path:
    """An empty repository of git and DVC, made once per process; a copy of it costs no process."""
    root = Path(tempfile.mkdtemp(prefix="dvc-template-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=root, check=True)
    return root


def make_repository(root: Path) -> Path:
    """Make an empty repository of git and DVC."""
    return Path(shutil.copytree(_template(), root, dirs_exist_ok=True))


def make_project(root: Path, seconds: float = 0.05) -> Path:
    """Make a repository of git and DVC with five stages; in the end, `reports/report.txt` must say `FINAL`."""
    make_repository(root)
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n    check_update = false\n")
    (root / ".gitignore").write_text("/data/\n/models/\n/reports/\n/.waymark/\n")
    (root / "stage.py").write_text(STAGE)
    (root / "source.txt").write_text("collected\n")
    (root / "data").mkdir()
    (root / "data/base.txt").write_text("base\n")
    (root / "dvc.yaml").write_text(DVC_YAML.format(s=seconds))
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def finished_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which all stages have run once."""
    root = make_project(tmp_path_factory.mktemp("finished") / "project")
    assert [repro(stage, root) for stage in ORDER] == [Outcome.RAN] * 4
    return root


@pytest.fixture
def finished(tmp_path: Path, finished_template: Path) -> Path:
    """A copy of the project in which all stages have run once."""
    return Path(shutil.copytree(finished_template, tmp_path / "finished"))


def ran(root: Path) -> list[str]:
    """Return the stages whose command ran to its end, in that order."""
    path = root / "ran.txt"
    return path.read_text().split() if path.exists() else []
