"""Finding Chromium and the flags it is started with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from components.browser.errors import ChromiumNotFoundError

HEADLESS_SHELL = "chromium-headless-shell"
"""The engine without the browser around it: the same pages for half of the CPU time. MiniWoB++ episodes per second on
two cores, 12 at once: 20 against 13.5."""

NAMES = (HEADLESS_SHELL, "chromium", "chromium-browser", "google-chrome")

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No spare renderers: with many contexts, every navigation would throw away one warmed up for another context and
    # start the next, 48 processes in 60 episodes. Contexts never share a renderer, whatever the limit.
    "--renderer-process-limit=1",
]

_WEBRTC = ("webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy")  # its name has changed over the versions


def find_chromium(playwright_path: str | None = None) -> Path:
    """The Chromium to use: $WAYMARK_CHROMIUM, one on PATH, Playwright's own download; the first that starts.

    Args:
        playwright_path: `playwright.chromium.executable_path` if the caller has Playwright running; without it, only
            Playwright's usual download folder is looked through.

    Raises:
        ChromiumNotFoundError: none is there; the message names the command to type.
    """
    named = os.environ.get("WAYMARK_CHROMIUM")
    if named:
        path = Path(named)
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise ChromiumNotFoundError(f"WAYMARK_CHROMIUM={named} is no executable file; unset it or correct it")
        return path
    for name in NAMES:
        for folder in os.get_exec_path():  # a stub in one folder hides no browser in another
            found = shutil.which(name, path=folder)
            if found and starts(path := _past_wrapper(Path(found))):
                return path
    for path in [*downloads(), *([Path(playwright_path)] if playwright_path else [])]:
        if path.is_file() and starts(path):
            return path
    command = f"{sys.executable} -m playwright install --with-deps chromium"
    if os.geteuid() != 0:
        command = f"sudo {command}"
    elif shutil.which("apt-get"):
        command = f"apt-get install -y {HEADLESS_SHELL}"
    raise ChromiumNotFoundError(f"no Chromium found; type `{command}`, or set WAYMARK_CHROMIUM to its path")


def launch_flags(site: tuple[str, int] | None = None, proxy_port: int | None = None) -> list[str]:
    """Command-line flags.

    Args:
        site: host name of a site of ours and the loopback port that it leads to. It is asked directly.
        proxy_port: the egress guard's; all else goes through it, WebRTC included or not at all.

    With either of them the browser itself looks up no other name.
    """
    flags = list(FLAGS)
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    rules = [f"MAP {site[0]}:80 127.0.0.1:{site[1]}"] if site else []
    if proxy_port is not None:
        direct = ["<-loopback>", *([f"{site[0]}:80"] if site else [])]  # without the first, loopback is never proxied
        flags += [f"--proxy-server=http://127.0.0.1:{proxy_port}", f"--proxy-bypass-list={';'.join(direct)}"]
        flags += [f"--{switch}=disable_non_proxied_udp" for switch in _WEBRTC]
        rules += ["EXCLUDE 127.0.0.1"]
    if rules:
        flags.append(f"--host-resolver-rules={', '.join([*rules, 'MAP * ~NOTFOUND'])}")
    return flags


def _past_wrapper(path: Path) -> Path:
    """Debian's headless shell lies behind a shell script that stays its parent: who kills that misses the browser."""
    binary = path.parent.parent / "lib/chromium" / HEADLESS_SHELL
    return binary if path.name == HEADLESS_SHELL and os.access(binary, os.X_OK) else path


@cache
def starts(path: Path) -> bool:
    """Whether it tells its version: Ubuntu's `chromium-browser` may be a stub, a download may lack its libraries."""
    try:
        subprocess.run([path, "--version"], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def downloads() -> list[Path]:
    """Playwright's downloads on this machine, the best first."""
    root = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    patterns = (
        "chromium_headless_shell-*/*/*headless*shell",
        "chromium-*/chrome-linux*/chrome",
        "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/*",
    )
    return [path for pattern in patterns for path in sorted(root.glob(pattern), reverse=True)]
