"""A study in MLflow has the runs and figures that its last comparison had."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mlflow import MlflowClient

from components.params import Params
from components.tracking import StudyChild, StudyParent, log_study
from tests.tracking.conftest import runs

FIRST = {"plain": {"success": 0.5}, "worse": {"success": 0.25, "effect": {"diff": -0.25}}}
"""The figures of a study of two arms."""


def log(params: Params, figures: Mapping[str, object], *names: str) -> str:
    """Log a study with the runs of these names; returns the parent's id."""
    parent = StudyParent("study-mine", "0123", {}, figures, complete=False, commit=None)
    return log_study(params.tracking, parent, [StudyChild(name, {}, {"success": 0.5}) for name in names])


def children(client: MlflowClient) -> dict[str, str]:
    """The ids of the finished runs by name."""
    finished = runs(client, "attributes.status = 'FINISHED'")
    return {run.data.tags["waymark.study.run"]: run.info.run_id for run in finished}


def test_a_run_that_is_no_longer_finished_has_no_child(params: Params, client: MlflowClient) -> None:
    log(params, FIRST, "plain-seed0", "worse-seed0")
    before = children(client)
    log(params, FIRST, "plain-seed0")
    assert children(client) == {"plain-seed0": before["plain-seed0"]}
    log(params, FIRST, "plain-seed0", "worse-seed0")
    assert {*children(client)} == {"plain-seed0", "worse-seed0"}


def test_children_of_another_study_stay(params: Params, client: MlflowClient) -> None:
    other = StudyParent("study-other", "4567", {}, {}, complete=True, commit=None)
    log_study(params.tracking, other, [StudyChild("other-seed0", {}, {})])
    log(params, FIRST, "plain-seed0")
    assert "other-seed0" in {run.data.tags.get("waymark.study.run") for run in runs(client)}


def test_a_figure_that_a_study_no_longer_has_is_nan(params: Params, client: MlflowClient) -> None:
    parent = log(params, FIRST, "plain-seed0", "worse-seed0")
    second = {"plain": {"success": 0.5}, "worse": {"success": None}}
    for _ in range(2):  # a second call logs no further NaN
        assert log(params, second, "plain-seed0") == parent
    metrics = client.get_run(parent).data.metrics
    assert metrics.pop("plain.success") == 0.5
    assert {*metrics} == {"worse.success", "worse.effect.diff"}
    assert all(math.isnan(value) for value in metrics.values())
    assert len(client.get_metric_history(parent, "worse.success")) == 2
    log(params, FIRST, "plain-seed0", "worse-seed0")
    assert client.get_run(parent).data.metrics["worse.success"] == 0.25
