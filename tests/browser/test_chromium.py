import pytest

from components.browser import ChromiumNotFoundError, find_chromium


def executable(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_named_chromium_comes_first(tmp_path, monkeypatch):
    executable(tmp_path / "chromium")
    mine = executable(tmp_path / "mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(mine))
    assert find_chromium() == mine


def test_chromium_on_the_path_comes_before_google_chrome(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    chrome = executable(tmp_path / "google-chrome")
    assert find_chromium() == chrome
    chromium = executable(tmp_path / "chromium")
    assert find_chromium() == chromium
    shell = executable(tmp_path / "chromium-headless-shell")
    assert find_chromium() == shell


def test_the_headless_shell_is_started_itself_and_not_through_its_wrapper(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    for folder in ("bin", "lib/chromium"):
        (tmp_path / folder).mkdir(parents=True)
        executable(tmp_path / folder / "chromium-headless-shell")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_chromium() == tmp_path / "lib/chromium/chromium-headless-shell"


def test_playwrights_download_is_the_last_resort(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    download = executable(tmp_path / "chrome")
    assert find_chromium(str(download)) == download


def test_a_stub_that_does_not_start_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    stub = executable(tmp_path / "chromium-headless-shell")
    stub.write_text("#!/bin/sh\necho install the snap >&2\nexit 1\n")
    assert find_chromium() != stub


def test_a_machine_without_chromium_is_told_the_command_to_type(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(ChromiumNotFoundError, match=r"type `.*install.*chromium.*`"):
        find_chromium()


def test_a_named_chromium_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("WAYMARK_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ChromiumNotFoundError, match="WAYMARK_CHROMIUM=/nowhere/chromium"):
        find_chromium()
