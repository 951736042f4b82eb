import asyncio

import pytest

from components.browser import BrowserPool, ChromiumNotFoundError, find_chromium
from components.browser.chromium import defect, find_headed_chromium
from tests.browser.conftest import PARAMS


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


def test_a_browser_stub_that_does_not_start_is_skipped(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    stub = executable(tmp_path / "chromium-headless-shell")
    stub.write_text("#!/bin/sh\necho install the snap >&2\nexit 1\n")
    assert find_chromium() != stub


def test_without_chromium_the_error_names_the_command_to_type(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYMARK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(ChromiumNotFoundError, match=r"type `.*install.*chromium.*`"):
        find_chromium()


def test_a_named_chromium_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("WAYMARK_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ChromiumNotFoundError, match="WAYMARK_CHROMIUM=/nowhere/chromium"):
        find_chromium()


def test_a_headed_browser_is_never_the_headless_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    shell = executable(tmp_path / "chromium-headless-shell")
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(shell))
    with pytest.raises(ChromiumNotFoundError, match=r"the headless shell has none: type `.*install.*chromium`"):
        find_headed_chromium()
    whole = executable(tmp_path / "chromium")
    assert find_headed_chromium() == whole


def test_a_headed_browser_needs_a_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(ChromiumNotFoundError, match="no display to show the browser on"):
        find_headed_chromium()


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0o755, "it was removed"),
        ("#!/bin/sh\n", 0o644, "it is not executable"),
        ("no program", 0o755, "exec format error"),
        ("#!/no/such/shell\n", 0o755, "no such file or directory"),
        (
            "#!/bin/sh\necho libnss3.so is missing >&2\nexit 127\n",
            0o755,
            "it exits with status 127 (libnss3.so is missing)",
        ),
    ],
)
def test_a_program_that_cannot_be_run_is_reported_with_the_fix(tmp_path, monkeypatch, content, mode, reason):
    """The path was found before: whatever happened to it since, the error is about the program."""
    path = tmp_path / "chromium"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    monkeypatch.setattr("components.browser.pool.find_chromium", lambda found: path)

    async def scenario():
        async with BrowserPool(PARAMS):
            pass

    with pytest.raises(ChromiumNotFoundError) as raised:
        asyncio.run(scenario())
    message = str(raised.value)
    assert message.startswith(f"the Chromium {path} cannot be run: {reason}; type `")
    assert "install" in message


def test_a_program_that_starts_has_no_defect():
    assert defect(find_chromium()) is None


def test_a_browser_that_finds_no_font_ends_the_stage_and_not_each_episode(no_fonts):
    async def start():
        async with BrowserPool(PARAMS):
            pass

    with pytest.raises(ChromiumNotFoundError, match=r"draws no text.*fonts-dejavu-core"):
        asyncio.run(start())
