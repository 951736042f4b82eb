"""The DAG, read from DVC's own index of dvc.yaml: names, edges, and what is stale. Nothing is said a second time."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import networkx as nx


@dataclass(frozen=True)
class Stage:
    """One stage of dvc.yaml as the flow needs it.

    `needs` are the stages it waits for, `metrics` the metric files that it writes, relative to the project, `stale` is
    why DVC would run it now, or None.
    """

    name: str
    description: str
    command: str
    needs: tuple[str, ...]
    metrics: tuple[str, ...]
    stale: str | None = None


def read(root: Path | str = ".", with_status: bool = False) -> dict[str, Stage]:
    """The stages of dvc.yaml that are not frozen, each after those it needs.

    Args:
        root: the project.
        with_status: also ask DVC what is stale, once for all: it hashes what has changed since the last time.
    """
    from dvc.repo import Repo

    logging.getLogger("dvc").setLevel(logging.ERROR)  # it warns of frozen stages, which are frozen on purpose
    with Repo(str(root)) as repo:
        graph = repo.index.graph
        status = repo.status() if with_status else {}
        active = graph.subgraph([stage for stage in graph if stage.cmd and not stage.frozen])
        stages = {}
        for stage in nx.lexicographical_topological_sort(active.reverse(), key=lambda one: one.name):
            stages[stage.name] = Stage(
                name=stage.name,
                description=stage.desc or "",
                command=stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd),
                needs=tuple(sorted(one.name for one in active.successors(stage))),
                metrics=tuple(out.def_path for out in stage.outs if out.metric),
                stale=_reason(status.get(stage.addressing)),
            )
    return stages


def to_run(stages: dict[str, Stage]) -> set[str]:
    """Stale stages and everything downstream of them. DVC may still find a descendant unchanged when its turn comes."""
    chosen: set[str] = set()
    for stage in stages.values():
        if stage.stale or chosen.intersection(stage.needs):
            chosen.add(stage.name)
    return chosen


def _reason(entries: list | None) -> str | None:
    if not entries:
        return None
    words = []
    for entry in entries:
        if isinstance(entry, str):
            words.append(entry)
        else:
            words += [f"{kind} {', '.join(what)}" for kind, what in entry.items()]
    return "; ".join(words)
