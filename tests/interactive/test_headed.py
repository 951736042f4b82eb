"""The browser's window, where this machine has a whole Chromium and a virtual display."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from components.browser import BrowserPool, ChromiumNotFoundError
from components.browser.chromium import find_headed_chromium
from tests.browser.conftest import PARAMS, Pages, task

XVFB = shutil.which("Xvfb")


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A virtual display, on a number that the server chooses."""
    if XVFB is None:
        pytest.skip("no Xvfb; type `apt-get install xvfb`")
    read, write = os.pipe()
    server = subprocess.Popen(
        [XVFB, "-displayfd", str(write), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"],
        pass_fds=[write], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    try:
        monkeypatch.setenv("DISPLAY", f":{os.read(read, 20).decode().strip()}")
        try:
            find_headed_chromium()
        except ChromiumNotFoundError as error:
            pytest.skip(str(error))
        yield
    finally:
        os.close(read)
        server.terminate()
        server.wait()


def test_a_headed_browser_has_a_window_around_the_same_viewport(display):
    pages = Pages()
    url = pages.add("/", "<script>document.title = [innerWidth, innerHeight, outerHeight > innerHeight]</script>")

    async def title() -> str:
        async with BrowserPool(PARAMS, headed=True) as pool, pool.session() as session:
            await session.start(task(url))
            return await session.page.title()

    assert asyncio.run(title()) == "800,600,true"
    pages.close()
