"""A server gets the GPUs that follow the trainer's among those of the stage, and no process group of the trainer."""

import json
import os
import subprocess
import sys

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.launch_environment import before_launch, without_launch
from components.params import ModelParams, VLLMParams
from components.pipeline.launch import launcher
from components.policies.vllm import ServerError, ServerSettings
from components.policies.vllm.environment import VISIBLE, visible_gpus
from components.policies.vllm.local import LocalServer
from components.policies.vllm.member import Weights


@pytest.mark.parametrize(
    ("visible", "first", "count", "expected"),
    [
        (None, 4, 2, "4,5"),
        ("2,3", 0, 1, "2"),
        ("2,3", 1, 1, "3"),
        ("4, 5,6,7", 2, 2, "6,7"),
        ("GPU-8932f937,MIG-7a3c,0", 1, 1, "MIG-7a3c"),
    ],
)
def test_a_server_gets_gpus_of_the_stage(visible, first, count, expected):
    assert visible_gpus(visible, first, count) == expected


@given(st.permutations(range(8)), st.integers(1, 4), st.integers(1, 2), st.integers(0, 2))
def test_no_two_servers_share_a_gpu_and_none_has_one_of_the_trainer(order, servers, gpus, trainer):
    visible = ",".join(map(str, order[: trainer + servers * gpus]))
    if trainer + servers * gpus > 8:
        return
    shares = [visible_gpus(visible, trainer + number * gpus, gpus).split(",") for number in range(servers)]
    assert [name for share in shares for name in share] == list(map(str, order[trainer : trainer + servers * gpus]))


@pytest.mark.parametrize("visible", ["", "0", "3,-1,4", "-1"])
def test_too_few_visible_gpus_are_an_error_that_names_the_keys(visible, monkeypatch, tmp_path):
    monkeypatch.setenv(VISIBLE, visible)
    params = VLLMParams(python=sys.executable, first_gpu=1)
    settings = ServerSettings(ModelParams(base="", judge_base="", device="cuda"), params, 100, 1)
    server = LocalServer(0, settings, Weights("model"), httpx.AsyncClient(), tmp_path / "log")
    with pytest.raises(ServerError, match="first_gpu, or show this process more GPUs"):
        server.environment()


@pytest.mark.parametrize("own", [{}, {"OMP_NUM_THREADS": "6"}])
def test_a_server_has_the_threads_from_before_the_launch(own):
    launched = before_launch(own) | {"OMP_NUM_THREADS": "1", "RANK": "0"}
    assert without_launch(launched) == own
    assert without_launch({"OMP_NUM_THREADS": "1"}) == {"OMP_NUM_THREADS": "1"}


@pytest.mark.slow
def test_nothing_of_a_launched_process_reaches_a_server(tmp_path):
    """What the launcher really sets."""
    (tmp_path / "show.py").write_text(
        "import json, os, pathlib\n"
        "if os.environ['RANK'] == '0': pathlib.Path('out.json').write_text(json.dumps(dict(os.environ)))\n"
    )
    plain = dict(os.environ) | {"PYTHONPATH": str(tmp_path)}
    plain.pop("OMP_NUM_THREADS", None)
    subprocess.run(launcher(2, "show"), cwd=tmp_path, env=before_launch(plain), check=True, timeout=120)
    launched = json.loads((tmp_path / "out.json").read_text())
    assert {"RANK", "MASTER_PORT"} <= launched.keys()
    left = without_launch(launched).keys() - plain.keys()
    assert not {name for name in left if any(word in name for word in ("RANK", "WORLD", "MASTER", "ELASTIC"))}
    assert left <= {"PWD", "OLDPWD", "SHLVL", "_", "CUDA_MODULE_LOADING", "LC_CTYPE"}, sorted(left)
