"""Finding Chromium and the flags it is started with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from components.browser.errors import ChromiumNotFoundError

NAMES = ("chromium", "chromium-browser", "google-chrome")

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


def find_chromium(playwright_path: str | None = None) -> Path:
    """The Chromium to use: $WAYMARK_CHROMIUM, one on PATH, Playwright's own download.

    Args:
        playwright_path: `playwright.chromium.executable_path` if the caller has Playwright running; else it is looked
            for in Playwright's download folder.

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
        found = shutil.which(name)
        if found:
            return Path(found)
    for path in [Path(playwright_path)] if playwright_path else _downloads():
        if path.is_file():
            return path
    command = "apt-get install -y chromium" if os.geteuid() == 0 else "python -m playwright install chromium"
    raise ChromiumNotFoundError(f"no Chromium found; type `{command}`, or set WAYMARK_CHROMIUM to its path")


def launch_flags(host_rules: str | None = None) -> list[str]:
    """Command-line flags; `host_rules` goes to --host-resolver-rules (where a site's names lead)."""
    flags = list(FLAGS)
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    if host_rules:
        flags.append(f"--host-resolver-rules={host_rules}")
    return flags


def _downloads() -> list[Path]:
    root = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    found = [
        *root.glob("chromium-*/chrome-linux*/chrome"),
        *root.glob("chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/*"),
    ]
    return sorted(found, reverse=True)
