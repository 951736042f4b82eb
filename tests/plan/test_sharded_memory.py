"""What FSDP2 really holds in two processes is what the plan counts beside the shards."""

from __future__ import annotations

import json
import subprocess

import pytest

from components.architecture import Architecture
from components.params import load
from components.pipeline.launch import launcher
from components.plan.memory import gathered
from tests.plan.test_activations import shape

NARROW, WIDE = (256, 4, 2, 64, 512), (256, 4, 2, 64, 8192)
NARROW_BYTES = 2.4e6
"""A wide layer has 26 MB."""
CASES = [(NARROW, 16_384, True), (NARROW, 16_384, False), (WIDE, 16_384, False)]
"""Sizes of a layer, the vocabulary, and whether the embeddings are tied."""


def config(sizes: tuple[int, int, int, int, int], vocabulary: int, tied: bool) -> dict:
    whole = shape(4, sizes)
    text = whole["text_config"] | {"vocab_size": vocabulary, "tie_word_embeddings": tied}
    return whole | {"text_config": text, "tie_word_embeddings": tied}


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> list[dict[str, int]]:
    folder = tmp_path_factory.mktemp("sharded")
    (folder / "configs.json").write_text(json.dumps([config(*case) for case in CASES]))
    paths = str(folder / "configs.json"), str(folder / "out.json")
    done = subprocess.run(launcher(2, "tests.plan.sharding_child", *paths), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-6000:]
    return json.loads((folder / "out.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_sharded_step_holds_what_the_plan_counts_beside_the_shards(found, case):
    """Activations are next to nothing here: the row has four tokens. On a busy machine, gloo's threads let go of small
    buffers late: of the narrow layer often two."""
    arch = Architecture.model_validate({**config(*CASES[case]), "name": "measured"})
    whole = gathered(arch, load("recipes/smoke.yaml").model, 4)
    counted = sum(part.bytes for part in whole.parts) + max(whole.in_layer, whole.at_end)
    assert found[case]["training"] == pytest.approx(counted, abs=0.06 * counted + 2 * NARROW_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_model_that_only_scores_keeps_its_root_whole(found, case):
    arch = Architecture.model_validate({**config(*CASES[case]), "name": "measured"})
    assert found[case]["kept"] == pytest.approx(4 * arch.root_parameters, rel=0.01)
