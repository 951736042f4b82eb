"""Clones of a small project, whose stages keep a journal and continue from it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml

from tests.flows.conftest import make_repository

STAGE = """
import json, os, pathlib, sys, time
name, steps, out, *deps = sys.argv[1:]
journal = pathlib.Path(f".waymark/state/{name}/key/journal.jsonl")
journal.parent.mkdir(parents=True, exist_ok=True)
done = journal.read_text().splitlines() if journal.exists() else []
for step in range(len(done), int(steps)):
    time.sleep(0.2)
    with journal.open("a") as file:
        file.write(json.dumps({"step": step, "clone": os.getcwd(), "try": len(done)}) + "\\n")
text = "+".join([pathlib.Path(dep).read_text().strip() for dep in deps] + [name])
for path, content in ((out, text), (f"reports/{name}.json", json.dumps({"steps": int(steps)}))):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(content + "\\n")
if "fail" in name:
    sys.exit(3)
"""
DVC_YAML = """
stages:
  collect:
    cmd: python stage.py collect 1 data/collect.txt source.txt
    deps: [source.txt, stage.py]
    outs: [data/collect.txt]
    metrics: [reports/collect.json: {cache: false}]
  train:
    cmd: python stage.py train 60 models/train data/collect.txt reports/collect.json
    deps: [data/collect.txt, reports/collect.json]
    params: [lr, name]
    outs: [models/train]
    metrics: [reports/train.json: {cache: false}]
  report:
    cmd: python stage.py report 1 reports/report.txt models/train reports/train.json
    deps: [models/train, reports/train.json]
    outs: [reports/report.txt]
    metrics: [reports/report.json: {cache: false}]
"""


def make_clones(folder: Path, store: str, count: int) -> list[Path]:
    """Clones of one commit. The first is that of the pipeline flow, and has the recipe."""
    origin = make_repository(folder / "origin")
    (origin / ".dvc/config").write_text("[core]\n    analytics = false\n    check_update = false\n")
    (origin / ".gitignore").write_text("/data/\n/models/\n/reports/\n/.waymark/\n/params.yaml\n")
    (origin / "stage.py").write_text(STAGE)
    (origin / "source.txt").write_text("collected\n")
    (origin / "dvc.yaml").write_text(DVC_YAML)
    identity = ["-c", "user.name=test", "-c", "user.email=test@test"]
    subprocess.run(["git", "add", "-A"], cwd=origin, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "project"], cwd=origin, check=True)
    clones = [folder / f"clone-{number}" for number in range(count)]
    for clone in clones:
        subprocess.run(["git", "clone", "-q", str(origin), str(clone)], check=True)
    placement = {"store": store, "pools": {"tr*": "gpu"}, "sync_s": 0.5, "lost_after_s": 6}
    settings = {"lr": 3e-05, "name": "3e-05", "placement": placement}
    (clones[0] / "params.yaml").write_text(yaml.safe_dump(settings))
    return clones


def journal(clone: Path) -> list[dict]:
    """The steps of `train` in a clone's journal."""
    path = clone / ".waymark/state/train/key/journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
