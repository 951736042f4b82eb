"""Runs `kiwix-serve` on loopback: a separate process that serves one ZIM file and ends when this process ends.

The server has the pages at `/<book>/<path>`, the full-text search at `/search?pattern=…`, and the caller's page `index`
at `/`. The book is the name of the file as Kiwix changes it: `wikipedia_enplus` for `Wikipédia EN+.zim`. This was
checked with kiwix-tools 3.3.0 of Debian 12.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from components.ports import free_port
from components.worlds import WorldError

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
ATTEMPTS = 3
"""Starts of the server. Another process may take the free port before Kiwix binds it."""
THREADS = 2
PACKAGES = ("kiwix-tools",)
"""Debian packages that contain `kiwix-serve`."""
INSTALL = f"apt-get install -y --no-install-recommends {' '.join(PACKAGES)}"


class KiwixError(WorldError):
    """Kiwix is not installed or does not start; the message names the command or the setting to change."""


def find_kiwix() -> Path:
    """The path of `kiwix-serve`.

    Raises:
        KiwixError: it is not on PATH.
    """
    program = shutil.which("kiwix-serve")
    if program is None:
        raise KiwixError(
            f"kiwix-serve is not installed: type `{INSTALL}` (Debian, Ubuntu; `brew install kiwix-tools` on a Mac)"
        )
    return Path(program)


class KiwixServer:
    """The running server of one ZIM file.

    Args:
        zim: the file.
        index: HTML of the page at `/`.
        bar: Kiwix adds its bar with a search field to each page; for ZIM files whose pages have no search field.

    Raises:
        KiwixError: Kiwix is not installed, or did not start.
    """

    def __init__(self, zim: Path, index: str, bar: bool = False) -> None:
        program = find_kiwix()
        if not zim.is_file():
            raise KiwixError(
                f"there is no ZIM file {zim}; correct worlds.encyclopaedia.zim, or set it to null for the file that is "
                "built here"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="waymark-kiwix-")
        page = Path(self._folder.name) / "index.html"
        page.write_text(index)
        output = ""
        for _ in range(ATTEMPTS):
            self.port = free_port()
            options = ["--attachToProcess", str(os.getpid()), "--customIndex", str(page), "--threads", str(THREADS)]
            options += ["--nolibrarybutton", *([] if bar else ["--nosearchbar"])]
            self._process = subprocess.Popen(
                [program, "--address", "127.0.0.1", "--port", str(self.port), *options, zim.resolve()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the stage handles an interrupt in the terminal
            )
            if self._answers():
                return
            output = self._end()
        self._folder.cleanup()
        raise KiwixError(
            f"kiwix-serve did not start on {zim}: check that the file is complete, or download it again; the output of "
            f"kiwix-serve: {output.strip()[-500:] or 'none'}"
        )

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._process.pid

    def stop(self) -> None:
        """Stop the server and remove its files."""
        self._end()
        self._folder.cleanup()

    def _answers(self) -> bool:
        ends = time.monotonic() + START_TIMEOUT_S
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # $http_proxy does not know this machine
        while time.monotonic() < ends and self._process.poll() is None:
            with contextlib.suppress(OSError, urllib.error.URLError):
                direct.open(f"http://127.0.0.1:{self.port}/", timeout=5).close()
                return self._process.poll() is None  # if Kiwix has ended, another process answered
            time.sleep(0.02)
        return False

    def _end(self) -> str:
        """Ends the process and returns its output."""
        self._process.terminate()
        try:
            output, _ = self._process.communicate(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
        return output.decode(errors="replace")
