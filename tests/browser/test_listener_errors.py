"""The error of a listener to a tab's events ends the episode of that tab, and no other one of the pool."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool, HarnessError, check_call
from components.browser.notices import Notices

from .conftest import PARAMS, task

FILE = "<input type=file style='position:absolute;left:300px;top:250px;width:200px;height:100px'>"


def test_an_error_of_a_listener_is_not_lost_with_its_tab(pages, monkeypatch):
    def broken(notices, event, cdp):
        raise KeyError("unexpected")

    monkeypatch.setattr(Notices, "on_file_chooser", broken)
    url = pages.add("/file", FILE)

    async def closing():
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(url))
            await session.step([check_call("new_tab", {}), check_call("goto_url", {"url": url})])
            await session.step([check_call("click", {"x": 500, "y": 500}), check_call("close_tab", {})])

    with pytest.raises(HarnessError, match=r"KeyError\('unexpected'\)"):
        asyncio.run(closing())


def test_an_error_of_a_listener_ends_its_own_episode_only(pages, monkeypatch):
    def broken(notices, event, cdp):
        raise KeyError("unexpected")

    monkeypatch.setattr(Notices, "on_file_chooser", broken)
    url, clicked = pages.add("/file", FILE), asyncio.Event()

    async def clicking(pool):
        async with pool.session() as session:
            await session.start(task(url))
            try:
                await session.step([check_call("click", {"x": 500, "y": 500})])
            finally:
                clicked.set()

    async def beside(pool):
        async with pool.session() as session:
            await session.start(task(url))
            while not clicked.is_set():
                result = await session.step([check_call("hover", {"x": 1, "y": 1})])
            return result.feedback

    async def both():
        async with BrowserPool(PARAMS) as pool:
            return await asyncio.gather(clicking(pool), beside(pool), return_exceptions=True)

    error, feedback = asyncio.run(both())
    assert isinstance(error, HarnessError)
    assert "KeyError('unexpected')" in str(error)
    assert feedback == ["Succeed: `hover` on <html> at (1, 1) executed."]
