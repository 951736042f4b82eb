"""The DAG from DVC's index of dvc.yaml: names, edges, and which stages are stale."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

from flows.clone_lock import CloneInUse

if TYPE_CHECKING:
    from dvc.repo import Repo


@dataclass(frozen=True)
class Stage:
    """One stage of dvc.yaml.

    `needs` are the stages before it, `metrics` its metric files relative to the project, `params` the dotted keys of
    the recipe that it depends on, `stale` is the reason why DVC would run it now, or None, and `uncached` are its
    outputs that DVC's cache does not keep, relative to the project. `reads` are the files and folders that it depends
    on, relative to the project. `outputs` are all of its outputs.
    """

    name: str
    description: str
    command: str
    needs: tuple[str, ...]
    metrics: tuple[str, ...]
    params: tuple[str, ...] = ()
    stale: str | None = None
    uncached: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def read(
    root: Path | str = ".", with_status: bool = False, targets: Sequence[str] = (), running: Collection[str] = ()
) -> dict[str, Stage]:
    """The stages of dvc.yaml that are not frozen, each after those it needs.

    Args:
        root: the project.
        with_status: ask DVC which stages are stale; DVC hashes the files that changed since the last time.
        targets: only these stages and those that they need, directly or indirectly; none reads all.
        running: stages that run in this clone at present. They are stale, and DVC is not asked about them and about
            stages after them, whose files it could not compare.

    Raises:
        KeyError: there is no stage of such a name.
        CloneInUse: with the status: another process writes the files of a stage that is not in `running`.
    """
    from dvc.dependency.param import ParamsDependency
    from dvc.repo import Repo

    logging.getLogger("dvc").setLevel(logging.ERROR)  # DVC warns about frozen stages, which are intended
    with Repo(str(root)) as repo:
        graph = repo.index.graph
        needed = set(graph)
        if targets:
            by_name = {stage.name: stage for stage in graph if stage.cmd}  # files tracked alone have no name
            finals = {by_name[target] for target in targets}
            needed = finals.union(*(nx.descendants(graph, final) for final in finals))  # edges lead to what is needed
        active = graph.subgraph([stage for stage in needed if stage.cmd and not stage.frozen])
        blocked = {
            later for stage in active if stage.name in running for later in (stage, *nx.ancestors(active, stage))
        }
        names = [stage.name for stage in active if stage not in blocked] if running else targets
        status = _status(repo, names) if with_status and (names or not running) else {}
        stages = {}
        for stage in nx.lexicographical_topological_sort(active.reverse(), key=lambda node: node.name):
            stages[stage.name] = Stage(
                name=stage.name,
                description=stage.desc or "",
                command=stage.cmd if isinstance(stage.cmd, str) else "\n".join(stage.cmd),
                needs=tuple(sorted(need.name for need in active.successors(stage))),
                metrics=tuple(out.def_path for out in stage.outs if out.metric),
                params=tuple(
                    sorted(key for dep in stage.deps if isinstance(dep, ParamsDependency) for key in dep.params)
                ),
                stale="runs at present" if stage.name in running else _reason(status.get(stage.addressing)),
                uncached=tuple(out.def_path for out in stage.outs if not out.use_cache),
                outputs=tuple(out.def_path for out in stage.outs),
                reads=tuple(sorted(dep.def_path for dep in stage.deps if not isinstance(dep, ParamsDependency))),
            )
    return stages


def _status(repo: Repo, names: Sequence[str]) -> dict[str, list]:
    """What DVC says of the stages with these names and of those that they need; without names, of all."""
    from dvc.lock import LockError

    paths = [f"{Path(repo.root_dir) / 'dvc.yaml'}:{name}" for name in names] or None
    try:
        return repo.status(targets=paths, with_deps=True)
    except LockError as error:
        reason = str(error).partition("\n\n")[0]  # after this, DVC advises to delete its file of locks
        raise CloneInUse(f"another dvc works in this clone: try again when it has ended: {reason}") from error


def to_run(stages: dict[str, Stage]) -> set[str]:
    """Stale stages and all stages after them. DVC may still find a later stage unchanged when it is reached."""
    chosen: set[str] = set()
    for stage in stages.values():
        if stage.stale or chosen.intersection(stage.needs):
            chosen.add(stage.name)
    return chosen


def _reason(entries: list | None) -> str | None:
    if not entries:
        return None
    parts = []
    for entry in entries:
        if isinstance(entry, str):
            parts.append(entry)
        else:
            parts += [f"{kind} {', '.join(paths)}" for kind, paths in entry.items()]
    return "; ".join(parts)
