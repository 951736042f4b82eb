"""Finds Chromium and composes its command-line flags."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from playwright.async_api import Browser, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from components.browser.errors import ChromiumNotFoundError

HEADLESS_SHELL = "chromium-headless-shell"
"""Chromium's engine without the browser's user interface. It renders the same pages in half of the CPU time: 20 instead
of 13.5 episodes per second on small pages, with 12 at once on two cores."""

NAMES = (HEADLESS_SHELL, "chromium", "chromium-browser", "google-chrome")

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A screenshot of a page that changed has the pixels of one that has just been opened: parts that are painted by
    # themselves get other colours at their edges, and which parts these are depends on the time.
    "--disable-partial-raster",
    # No spare renderers: with many contexts, every navigation would discard one that was started for another context
    # and start a new one (48 processes in 60 episodes). Contexts never share a renderer, whatever this limit is.
    "--renderer-process-limit=1",
]

HIDE_SCROLL_BARS = "--hide-scrollbars"

_WIDTH_OF_TEXT = """() => {
  const text = document.body.appendChild(document.createElement('span'));
  text.textContent = 'text';
  return text.offsetWidth;
}"""

_drew_text: set[Path] = set()
"""The programs that have drawn text in this process."""

_WEBRTC = ("webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy")  # its name has changed over the versions


def find_chromium(playwright_path: str | None = None) -> Path:
    """The Chromium to use: the first that starts of $WAYMARK_CHROMIUM, those on PATH, and Playwright's downloads.

    Args:
        playwright_path: `playwright.chromium.executable_path` if the caller runs Playwright; without it, only
            Playwright's usual download folder is searched.

    Raises:
        ChromiumNotFoundError: no Chromium was found; the message names the command that installs it.
    """
    named = os.environ.get("WAYMARK_CHROMIUM")
    if named:
        path = Path(named)
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise ChromiumNotFoundError(f"WAYMARK_CHROMIUM={named} is not an executable file; unset or correct it")
        return path
    for name in NAMES:
        for folder in os.get_exec_path():  # a stub in one folder must not hide a browser in another
            executable = shutil.which(name, path=folder)
            if executable and starts(path := _without_wrapper(Path(executable))):
                return path
    for path in [*downloads(), *([Path(playwright_path)] if playwright_path else [])]:
        if path.is_file() and starts(path):
            return path
    raise ChromiumNotFoundError(f"no Chromium found; type `{_install_command()}`, or set WAYMARK_CHROMIUM to its path")


def find_headed_chromium(playwright_path: str | None = None) -> Path:
    """The Chromium that can show a window, searched as `find_chromium` does. The headless shell cannot.

    Raises:
        ChromiumNotFoundError: there is no display, or only the headless shell is installed; the message says what to
            do.
    """
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ChromiumNotFoundError(
            "there is no display to show the browser on (DISPLAY and WAYLAND_DISPLAY are not set): run it in a desktop "
            "session or under `xvfb-run`"
        )
    named = os.environ.get("WAYMARK_CHROMIUM")
    folders = os.get_exec_path()
    installed = [shutil.which(name, path=folder) for name in NAMES if name != HEADLESS_SHELL for folder in folders]
    downloaded = [*downloads(), *([Path(playwright_path)] if playwright_path else [])]
    for path in [*([Path(named)] if named else []), *(Path(path) for path in installed if path), *downloaded]:
        if "headless" not in path.name and path.is_file() and starts(path):
            return path
    command = f"{sys.executable} -m playwright install --with-deps chromium"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        command = "apt-get install -y chromium"
    raise ChromiumNotFoundError(
        f"no Chromium that has windows was found; the headless shell has none: type `{command}`, or set "
        "WAYMARK_CHROMIUM to the path of a whole Chromium"
    )


async def launch(
    playwright: Playwright, path: Path, arguments: list[str], headless: bool = True, scroll_bars: bool = False
) -> Browser:
    """Start a Chromium.

    Args:
        scroll_bars: draw the bars of what can be scrolled. They take 15 pixels of the width or height of a page.

    Raises:
        ChromiumNotFoundError: it is missing, cannot be run or finds no font; the message names the fix.
        playwright.async_api.Error: it did not start for another reason.
    """
    browser = await _launch(playwright, path, arguments, headless, scroll_bars)
    if headless and path not in _drew_text:  # a window would appear for a moment
        try:
            await _require_text(browser, path)
        except BaseException:
            await browser.close()
            raise
        _drew_text.add(path)
    return browser


async def try_out(path: Path) -> None:
    """Start a Chromium and stop it again.

    Raises:
        ChromiumNotFoundError: it cannot be run or finds no font; the message names the fix.
        playwright.async_api.Error: it did not start for another reason.
    """
    async with async_playwright() as playwright:
        browser = await launch(playwright, path, launch_flags())
        await browser.close()


async def _require_text(browser: Browser, path: Path) -> None:
    """Refuses a Chromium that finds no font. It draws no letters: buttons and links have no size and cannot be clicked,
    and nothing else says why."""
    page = await browser.new_page()
    try:
        width = await page.evaluate(_WIDTH_OF_TEXT)
    finally:
        await page.close()
    if not width:
        raise ChromiumNotFoundError(
            f"the Chromium {path} draws no text, because it finds no font: install some, such as Debian's package "
            "fonts-dejavu-core, or correct FONTCONFIG_FILE or FONTCONFIG_PATH if one of them is set"
        )


async def _launch(
    playwright: Playwright, path: Path, arguments: list[str], headless: bool, scroll_bars: bool
) -> Browser:
    try:
        return await playwright.chromium.launch(
            executable_path=path,
            args=arguments if scroll_bars else [*arguments, HIDE_SCROLL_BARS],
            ignore_default_args=[HIDE_SCROLL_BARS] if scroll_bars else None,  # Playwright adds it if headless
            headless=headless,
            chromium_sandbox=os.geteuid() != 0,
            handle_sigint=False,  # the stage handles an interrupt; closing the pool stops the browser
        )
    except PlaywrightError as error:
        if problem := await asyncio.to_thread(defect, path):
            raise ChromiumNotFoundError(problem) from error
        raise


def missing(path: Path) -> str | None:
    """Why a Chromium that was found before is no program any more, with the fix; None if it still is one."""
    if path.is_file() and os.access(path, os.X_OK):
        return None
    return _cannot_run(path, "it is not executable" if path.is_file() else "it was removed")


def defect(path: Path) -> str | None:
    """Why a Chromium cannot be run, with the fix; None if it prints its version. Blocks for a moment."""
    if problem := missing(path):
        return problem
    try:
        run = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", timeout=60)
    except OSError as error:
        return _cannot_run(path, (error.strerror or str(error)).lower())
    except subprocess.TimeoutExpired:
        return _cannot_run(path, "it does not even print its version")
    if run.returncode == 0:
        return None
    lines = run.stderr.strip().splitlines()
    return _cannot_run(path, f"it exits with status {run.returncode}" + (f" ({lines[-1]})" if lines else ""))


def _cannot_run(path: Path, reason: str) -> str:
    fix = f"type `{_install_command()}`, or set WAYMARK_CHROMIUM to the path of another one"
    if os.environ.get("WAYMARK_CHROMIUM") == str(path):
        fix = "correct or unset WAYMARK_CHROMIUM"
    return f"the Chromium {path} cannot be run: {reason}; {fix}"


def _install_command() -> str:
    command = f"{sys.executable} -m playwright install --with-deps chromium"
    if os.geteuid() != 0:
        return f"sudo {command}"
    return f"apt-get install -y --reinstall {HEADLESS_SHELL}" if shutil.which("apt-get") else command


def launch_flags(hosts: Mapping[str, int] | None = None, proxy_port: int | None = None) -> list[str]:
    """Command-line flags. With either argument, the browser itself resolves no other host name.

    Args:
        hosts: host names of the pool's own pages, and the loopback port that serves each. The browser connects to them
            directly, at port 80.
        proxy_port: port of the egress guard. All other traffic goes through it; WebRTC without a proxy is disabled.
    """
    flags = list(FLAGS)
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    hosts = hosts or {}
    rules = [f"MAP {host}:80 127.0.0.1:{port}" for host, port in hosts.items()]
    if proxy_port is not None:
        direct = ["<-loopback>", *(f"{host}:80" for host in hosts)]  # without the first, loopback is never proxied
        flags += [f"--proxy-server=http://127.0.0.1:{proxy_port}", f"--proxy-bypass-list={';'.join(direct)}"]
        flags += [f"--{switch}=disable_non_proxied_udp" for switch in _WEBRTC]
        rules += ["EXCLUDE 127.0.0.1"]
    if rules:
        flags.append(f"--host-resolver-rules={', '.join([*rules, 'MAP * ~NOTFOUND'])}")
    return flags


def _without_wrapper(path: Path) -> Path:
    """The binary behind Debian's wrapper script. The script stays the parent process, so killing it would leave the
    browser running."""
    binary = path.parent.parent / "lib/chromium" / HEADLESS_SHELL
    return binary if path.name == HEADLESS_SHELL and os.access(binary, os.X_OK) else path


@cache
def starts(path: Path) -> bool:
    """Whether the program prints its version. Ubuntu's `chromium-browser` may be a stub, and a download may lack shared
    libraries."""
    try:
        subprocess.run([path, "--version"], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def downloads() -> list[Path]:
    """Playwright's downloads on this machine: headless shells first, newer versions first."""
    root = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    patterns = (
        "chromium_headless_shell-*/*/*headless*shell",
        "chromium-*/chrome-linux*/chrome",
        "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/*",
    )
    return [path for pattern in patterns for path in sorted(root.glob(pattern), reverse=True)]
