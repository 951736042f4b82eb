"""What a study has to run: per run, the stages that are stale, and the run that computes each of them first.

Two runs share a stage if the stage, and every stage before it, reads the same values of the recipe. The signature of a
stage holds just these values; code and data are the same in all folders.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.params import value_at
from flows import graph

TEST_TASKS = "filter_tasks"
"""The stage that makes the pools on which policies are evaluated."""


class ImpossibleStudy(ValueError):
    """The study cannot answer its question. The message says which arm and what to change."""


@dataclass(frozen=True)
class StudyRun:
    """One run: `params` is the text of its params.yaml, `keys` are the keys in which it differs from the base."""

    name: str
    arm: str
    seed: int
    params: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class StudyRuns:
    """A study as `waymark study --plan` prints it.

    `stage` is the evaluation that it compares, `before` that of the policy before RL, if there is one.
    """

    name: str
    base: str
    stage: str
    shared: tuple[str, ...]
    runs: tuple[StudyRun, ...]
    before: str | None = None

    @classmethod
    def parse(cls, text: str) -> StudyRuns:
        """Read the JSON of a plan."""
        raw = json.loads(text)
        runs = tuple(StudyRun(**run | {"keys": tuple(run["keys"])}) for run in raw["runs"])
        return cls(raw["study"], raw["base"], raw["stage"], tuple(raw["shared"]), runs, raw["before"])


@dataclass(frozen=True)
class RunPlan:
    """The stages of one run, each after those it needs."""

    run: StudyRun
    folder: Path
    stages: dict[str, graph.Stage]
    due: frozenset[str]
    """Stages that are stale or after a stale one."""
    signatures: dict[str, str]
    shared_with: dict[str, str]
    """Due stages that an earlier run of the study computes: the name of that run by stage."""


def make_plan(study: StudyRuns, folders: Mapping[str, Path]) -> list[RunPlan]:
    """The plans of all runs, in the study's order. The folders have their params.yaml.

    Raises:
        ImpossibleStudy: an arm changes nothing that its runs read, changes the test tasks, or changes a stage that the
            study declares shared; or there is no such stage.
    """
    targets = [stage for stage in (study.before, study.stage) if stage is not None]
    plans: list[RunPlan] = []
    first: dict[str, str] = {}
    for run in study.runs:
        folder = folders[run.name]
        ran_before = (folder / "dvc.lock").exists()
        stages = graph.read(folder, with_status=ran_before, targets=targets)
        due = frozenset(graph.to_run(stages) if ran_before else stages)
        signatures = signatures_of(stages, yaml.safe_load(run.params))
        shared_with = {}
        for name in stages:
            computing = first.setdefault(signatures[name], run.name)
            if computing != run.name and name in due:
                shared_with[name] = computing
        plans.append(RunPlan(run, folder, stages, due, signatures, shared_with))
    require_possible(study, plans)
    return plans


def signatures_of(stages: Mapping[str, graph.Stage], recipe: Mapping[str, Any]) -> dict[str, str]:
    """By stage, a digest of the values of the recipe that it and the stages before it read."""
    signatures: dict[str, str] = {}
    for stage in stages.values():
        values = {key: value_at(recipe, key) for key in stage.params}
        parts = [stage.name, stage.command, values, [signatures[need] for need in stage.needs]]
        signatures[stage.name] = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return signatures


def describe(plans: Sequence[RunPlan]) -> list[str]:
    """Lines for `--dry-run`: per run, which stages are up to date, shared with an earlier run, or to be run."""
    lines = []
    for plan in plans:
        lines.append(f"{plan.run.name}" + (f"  ({', '.join(plan.run.keys)})" if plan.run.keys else "  (the base)"))
        groups: dict[str, list[str]] = {}
        for name in plan.stages:
            if name not in plan.due:
                state = "up to date"
            elif name in plan.shared_with:
                state = f"from {plan.shared_with[name]}"
            else:
                state = "to run"
            groups.setdefault(state, []).append(name)
        lines += [f"  {state}: {', '.join(names)}" for state, names in groups.items()]
        stale = {name: stage.stale for name, stage in plan.stages.items() if stage.stale and name in plan.due}
        lines += [f"  stale: {name}: {_short(reason)}" for name, reason in stale.items()]
    return lines


def as_json(plans: Sequence[RunPlan]) -> list[dict[str, Any]]:
    """The same as records."""
    return [
        {
            "run": plan.run.name,
            "arm": plan.run.arm,
            "seed": plan.run.seed,
            "keys": list(plan.run.keys),
            "stages": {
                name: "up to date" if name not in plan.due else plan.shared_with.get(name, "to run")
                for name in plan.stages
            },
        }
        for plan in plans
    ]


def require_possible(study: StudyRuns, plans: Sequence[RunPlan]) -> None:
    """Refuses a study whose runs would not answer its question.

    Raises:
        ImpossibleStudy: as `make_plan`.
    """
    base = {plan.run.seed: plan for plan in plans if plan.run.arm == study.base}
    for name in study.shared:
        if name not in plans[0].stages:
            raise ImpossibleStudy(
                f"shared: {name}: no such stage before {study.stage}; there are {', '.join(plans[0].stages)}"
            )
    finals: dict[str, str] = {}
    for plan in plans:
        run, other, keys = plan.run, base[plan.run.seed], ", ".join(plan.run.keys)
        if run.arm == study.base:
            continue
        if _is_shared(plan, other, study.stage):
            raise ImpossibleStudy(
                f"arms.{run.arm}: no stage up to {study.stage} reads what it sets ({keys}), so it is the base again: "
                "let it set a key that these stages read"
            )
        if not _is_shared(plan, other, TEST_TASKS):
            raise ImpossibleStudy(
                f"arms.{run.arm}: it changes what {TEST_TASKS} or a stage before it reads ({keys}), and with that the "
                "tasks of the test: put these keys into `set`, so that all arms are tested on the same tasks"
            )
        for name in study.shared:
            if not _is_shared(plan, other, name):
                raise ImpossibleStudy(
                    f"arms.{run.arm}: it sets keys that {name} or a stage before it reads ({keys}), so the runs of a "
                    f"seed cannot share {name}: take the stage out of `shared`, or let the arm set other keys"
                )
        if finals.setdefault(plan.signatures[study.stage], run.arm) != run.arm:
            raise ImpossibleStudy(
                f"arms.{run.arm}: the stages read the same values as in the arm {finals[plan.signatures[study.stage]]}"
                ": remove one of the two"
            )


def _is_shared(plan: RunPlan, other: RunPlan, stage: str) -> bool:
    return plan.signatures[stage] == other.signatures[stage]


def _short(reason: str | None, limit: int = 120) -> str:
    text = reason or ""
    return text if len(text) <= limit else text[: limit - 2] + " …"
