"""`python -m components.doctor` and `waymark doctor --fix` install what is missing, or name the command to type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from components.browser import ChromiumNotFoundError
from components.cli import main as cli
from components.doctor import LOCK, __main__, install_chromium, install_world_programs, installation
from components.worlds import WorldError

ROOT = Path(__file__).resolve().parents[2]
CITY = ROOT / "recipes/city-demo.yaml"


def test_a_wrongly_named_chromium_is_refused_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYMARK_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ChromiumNotFoundError, match="WAYMARK_CHROMIUM"):
        install_chromium(say=lambda line: pytest.fail(line))


def test_without_any_chromium_the_error_names_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    # Stands for downloads that cannot be had: the network is not the test's to use.
    monkeypatch.setattr(
        installation, "install_commands", lambda: [([sys.executable, "-c", "raise SystemExit(1)"], 10.0)]
    )
    said: list[str] = []
    with pytest.raises(ChromiumNotFoundError, match="type `"):
        install_chromium(say=said.append)
    assert said[-1] == "that did not work (status 1)"


def test_without_apt_the_error_names_the_command_for_kiwix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="type `apt-get install"):
        install_world_programs(ROOT / "recipes/browseragent-demo.yaml", say=lambda line: pytest.fail(line))


def test_playwrights_download_comes_before_apt() -> None:
    commands = [command for command, _ in installation.install_commands()]
    assert commands[0][-3:] == ["playwright", "install", "chromium"]
    assert len(commands) == 1 or "apt-get" in commands[-1][-1]


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
    (tmp_path / LOCK).parent.mkdir()
    (tmp_path / LOCK).touch()
    (tmp_path / "Makefile").write_text(CITY_MAKEFILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [[CITY], ["waymark", "doctor", CITY, "--fix"]], ids=["demo", "fix"])
def test_the_city_is_installed_by_the_demo_and_by_the_doctor(
    checkout: Path, command: list[object], capfd: pytest.CaptureFixture[str]
) -> None:
    if command[0] == "waymark":
        cli.main([str(word) for word in command[1:]])
    else:
        assert __main__.main([str(word) for word in command]) == 0
    assert "no city yet; running: make .venv-city/.stamp\n" in capfd.readouterr().out
    assert (checkout / ".venv-city/.stamp").exists()
    [_] = [path for path in (checkout / ".waymark/cache/city").iterdir() if path.is_dir()]
    assert install_world_programs(CITY, say=pytest.fail) == {"city": str(checkout / ".venv-city/bin/python")}


def test_make_demo_installs_what_the_worlds_of_its_recipe_need() -> None:
    command = ["make", "--dry-run", "demo", "RECIPE=city-demo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    install = lines.index('.venv/bin/python -m components.doctor "city-demo"')
    assert install < lines.index('.venv/bin/python -m flows.demo --recipe "city-demo"')


def test_a_command_that_fails_is_named_with_the_fix(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (checkout / "Makefile").write_text(".venv-city/.stamp:\n\techo no network >&2; exit 3\n")
    assert __main__.main([str(CITY)]) == 1
    error = capfd.readouterr().err
    assert "no network" in error
    assert error.splitlines()[-1] == (
        "the environment of the city's sites is not installed: type `make city`; "
        "Waymark tried `make .venv-city/.stamp`, which ended with status 2: see its output"
    )


def test_a_command_that_does_not_exist_is_named(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(WorldError, match=r"type `make city`; Waymark tried `make .*No such file or directory: 'make'"):
        install_world_programs(CITY, say=lambda line: None)


@pytest.mark.parametrize("absent", ["Makefile", str(LOCK)])
def test_outside_of_a_checkout_no_command_of_a_world_runs(checkout: Path, absent: str) -> None:
    (checkout / absent).unlink()
    with pytest.raises(WorldError, match=r"^the environment of the city's sites is not installed: type `make city`$"):
        install_world_programs(CITY, say=lambda line: pytest.fail(line))
