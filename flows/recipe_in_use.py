"""Guards a run of the pipeline against another recipe that comes into use while it works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from components.params import RecipeError, deciding, load, value_at
from flows.crash_safe_dvc import StageFailed
from flows.graph import Stage


class RecipeInUse:
    """The params.yaml with which a run of the pipeline began, in which it found out what is stale.

    Args:
        root: the project.
        stages: all stages.
    """

    def __init__(self, root: Path, stages: dict[str, Stage]) -> None:
        self._root, self._stages = root, stages
        self._before = self._read()

    def require_unchanged(self, name: str) -> None:
        """Require the same values for a stage and the stages before it: else it would go on from results of another
        recipe, and the run's report would mix two. Keys marked `NoEffect` may change.

        Raises:
            StageFailed: another recipe is in use.
        """
        now = self._read()
        keys = {key for stage in self._up_to(name) for key in stage.params}
        differ = {leaf for key in keys for leaf in _differing(key, value_at(self._before, key), value_at(now, key))}
        if changed := sorted(differ):
            raise StageFailed(
                f"{name}: {', '.join(changed)} in params.yaml changed since this run began: start it again, with the "
                "former recipe or with the new one; finished work is kept"
            )

    def _up_to(self, name: str) -> list[Stage]:
        """A stage and all stages before it."""
        before = {name: self._stages[name]}
        for stage in reversed(self._stages.values()):  # each comes after those that it needs
            if stage.name in before:
                before |= {need: self._stages[need] for need in stage.needs}
        return [*before.values()]

    def _read(self) -> dict[str, Any]:
        path = self._root / "params.yaml"
        try:
            raw = (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}
        except yaml.YAMLError as error:
            raise StageFailed(f"params.yaml is not YAML: {error}") from error
        try:
            return deciding(load(path))
        except RecipeError:  # of stages that are not Waymark's, or wrong now
            return raw


def _differing(key: str, before: Any, now: Any) -> list[str]:
    """The dotted keys, from `key` downwards, whose values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = sorted(before.keys() | now.keys())
        return [leaf for name in names for leaf in _differing(f"{key}.{name}", before.get(name), now.get(name))]
    return [key] if before != now else []
