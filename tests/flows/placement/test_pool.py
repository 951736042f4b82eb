"""What the pipeline flow refuses before any stage starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from components.params.placement import PlacementParams
from flows.crash_safe_dvc import StageFailed
from flows.graph import Stage
from flows.placement.pool import Pools, placement_of
from flows.placement.shared_store import StoreError

STAGES = {name: Stage(name, "", "true", (), ()) for name in ("collect_tasks", "train_sft", "train_rl@short")}


def test_the_first_pattern_that_matches_names_the_pool():
    placement = PlacementParams(store="/shared", pools={"train_rl@*": "large", "train_*": "gpu"})
    assert [placement.pool(stage) for stage in STAGES] == [None, "gpu", "large"]


def test_pools_without_a_store_are_refused():
    with pytest.raises(ValidationError, match=r"set placement\.store to a folder or bucket"):
        PlacementParams(pools={"train_*": "gpu"})


def test_a_relative_store_is_refused():
    with pytest.raises(ValidationError, match="is another folder on each machine: give an absolute path"):
        PlacementParams(store="shared", pools={"train_*": "gpu"})


def test_a_recipe_without_placement_sends_nothing_away(tmp_path):
    assert not any(Pools(placement_of(tmp_path), STAGES, tmp_path).has(stage) for stage in STAGES)


def test_a_wrong_section_is_an_error_that_names_the_key(tmp_path):
    (tmp_path / "params.yaml").write_text("placement: {store: /shared, pool: {train_sft: gpu}}\n")
    with pytest.raises(StageFailed, match=r"(?s)params\.yaml, placement: .*pool\b.*Extra inputs are not permitted"):
        placement_of(tmp_path)


def test_pools_need_a_server_that_their_workers_can_reach(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    placement = PlacementParams(store=str(tmp_path / "store"), pools={"train_*": "gpu"})
    with pytest.raises(StageFailed, match="set PREFECT_API_URL here and where the workers run"):
        Pools(placement, STAGES, tmp_path)


def test_a_store_that_cannot_be_written_stops_the_pipeline_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    (tmp_path / "file").write_text("no folder")
    placement = PlacementParams(store=str(tmp_path / "file"), pools={"train_*": "gpu"})
    with pytest.raises(StoreError, match=r"placement\.store: .*/pipeline\.json"):
        Pools(placement, STAGES, tmp_path)
