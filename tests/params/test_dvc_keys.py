"""dvc.yaml names the keys of the recipe that change what a stage makes, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.params import NoEffect, Params, Section, deciding, load
from components.params.choice import sections_in
from components.pipeline.stage_run import JUDGEMENTS
from tests.samples import recipe

ROOT = Path(__file__).parents[2]


def test_dvc_names_keys_that_exist_and_none_that_affects_no_result() -> None:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    named = {
        key.replace("${key}", variant)
        for stage in stages.values()
        for variant in stage.get("foreach", [""])
        for key in (stage.get("do") or stage).get("params", [])
    }
    complete = load(ROOT / "params.yaml").model_dump(mode="json")
    for key in named:
        section: type[Section] = Params
        value = complete
        for part in key.split("."):
            assert part in value, key
            value = value[part]
            field = section.model_fields[part]
            assert NoEffect not in field.metadata, key
            section = (sections_in(field) or [section])[0]


WITHOUT_STAGE = ("construction", "model.image_cache")
"""Sections that decide nothing of a stage's outputs: the tasks that a model makes are a file, and a cache is none."""


def test_each_key_that_changes_results_is_named_by_a_stage() -> None:
    """A stage that reads a key that dvc.yaml does not name keeps its output when the key changes."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    named = {
        key.replace("${key}", phase)
        for stage in stages.values()
        for key in (stage.get("do") or stage).get("params", [])
        for phase in ("short", "long")
    }

    def leaves(values: dict, name: str = "") -> Iterator[str]:
        for key, value in values.items():
            path = f"{name}.{key}".removeprefix(".")
            if not any(path == known or path.startswith(f"{known}.") for known in (*named, *WITHOUT_STAGE)):
                yield from leaves(value, path) if value and isinstance(value, dict) else [path]

    assert list(leaves(deciding(load(ROOT / "params.yaml")))) == []


def test_each_phase_of_rl_depends_on_every_key_of_rl_but_the_other_phase() -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["train_rl"]
    for phase, other in (("short", "long"), ("long", "short")):
        named = {key.replace("${key}", phase) for key in stage["do"]["params"]}
        rl = recipe().rl
        keys = {f"rl.{key}" for key, field in type(rl).model_fields.items() if NoEffect not in field.metadata}
        keys = keys - {"rl.checkpoints"} | {f"rl.checkpoints.{key}" for key in deciding(rl.checkpoints)}
        assert keys - named == {f"rl.{other}"}


@pytest.mark.parametrize("name", ["train_sft", "distill_judge", "train_rl"])
def test_no_key_that_only_judges_trains_a_model_again(name: str) -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][name]
    keys = (stage.get("do") or stage)["params"]
    assert [key for key in keys if key.partition(".")[0] in JUDGEMENTS] == []
