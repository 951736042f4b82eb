"""Which PyTorch `requirements/install.py` asks uv for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "requirements/install.py"
spec = importlib.util.spec_from_file_location("install", FILE)
assert spec
assert spec.loader
install = importlib.util.module_from_spec(spec)
spec.loader.exec_module(install)

CPU, GPU_LOCK = FILE.with_name("cpu.txt"), FILE.with_name("gpu.txt")


def backends(lock: Path = CPU, options: dict | None = None, environment: dict | None = None, gpu: bool = False) -> list:
    return [
        variables.get("UV_TORCH_BACKEND") for variables in install.tries(lock, options or {}, environment or {}, gpu)
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PyPI has the CPU build")
def test_pypi_without_a_gpu_gets_the_cpu_build_first():
    assert backends() == ["cpu", None]  # and PyPI's, if PyTorch's index cannot be reached
    assert backends(options={"proxy": ["http://proxy.example:8080"]}) == ["cpu", None]


@pytest.mark.parametrize(
    "case",
    [
        {"gpu": True},
        {"lock": GPU_LOCK},
        {"options": {"index-url": ["https://mirror.example/simple"]}},
        {"options": {"find-links": ["/wheels"]}},
        {"environment": {"UV_DEFAULT_INDEX": "https://mirror.example/simple"}},
        {"environment": {"UV_TORCH_BACKEND": "cu130"}},  # uv reads it itself
    ],
)
def test_what_is_configured_decides(case):
    assert backends(**case) == [None]


def test_uv_gets_the_sources_of_pip():
    options = {"extra-index-url": ["https://a.example", "https://b.example"], "find-links": ["/x", "/y"]}
    (variables,) = install.tries(CPU, options, {"UV_FIND_LINKS": "/mine"}, gpu=False)
    assert variables == {
        "UV_INDEX": "https://a.example https://b.example",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
    }


def test_the_servers_of_the_cpu_environment_get_pytorch_for_the_cpu():
    """Their lock has none of the packages that a build for GPUs needs."""
    lock = Path(install.__file__).with_name("vllm-cpu.txt")
    (variables,) = install.tries(lock, {}, {}, gpu=True)
    assert variables["UV_TORCH_BACKEND"] == "cpu"
    (variables,) = install.tries(lock, {"find-links": ["/wheels"]}, {}, gpu=False)
    assert "UV_TORCH_BACKEND" not in variables
