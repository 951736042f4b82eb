"""Modifiers of the city in a real browser: what covers a page can be answered, and a modified shop still sells."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool, check_call
from components.params import BrowserParams
from components.records import Task
from components.worlds import LoopbackSite
from tests.worlds.city.visitor import FORUM, SHOP, Server, visitor_with

WIDTH, HEIGHT = 1000, 800


class Running:
    """The session's server, which outlives a pool."""

    def __init__(self, port: int) -> None:
        self.port = port

    def stop(self) -> None: ...


class CopySite(LoopbackSite[Running]):
    """The pages of one copy, for a pool of browsers."""

    origins = (f"http://{SHOP}", f"http://{FORUM}")

    def __init__(self, server: Server, key: str) -> None:
        super().__init__()
        self._server, self._key = server, key

    def serve(self) -> Running:
        return Running(self._server.port)

    def cookies(self, task: Task) -> dict[str, str]:
        return {"city": self._key}

    async def ready(self, page) -> str | None:
        return None

    async def reward(self, page) -> float | None:
        return None


def browse(server: Server, key: str, url: str, act):
    """Run `act(session)` in Chromium on a copy, from a page on."""

    async def run():
        params = BrowserParams(viewport=(WIDTH, HEIGHT), concurrency=1, start_timeout_s=30, step_timeout_s=30)
        task = Task(task_id="t", intent="look", start_url=url, website="city", source="test")
        async with BrowserPool(params, CopySite(server, key)) as pool, pool.session(task) as session:
            await session.start(task)
            return await act(session)

    return asyncio.run(run())


async def click(session, selector: str) -> None:
    """Click the middle of an element as the agent does, by its coordinates, which are thousandths of the viewport."""
    element = session.page.locator(selector).first
    await element.scroll_into_view_if_needed()
    box = await element.bounding_box()
    x, y = (box["x"] + box["width"] / 2) / WIDTH * 1000, (box["y"] + box["height"] / 2) / HEIGHT * 1000
    await session.step([check_call("click", {"x": round(x), "y": round(y)})])


TOP_AT = "([x, y]) => document.elementFromPoint(x, y).closest('[id^=city-]')?.id ?? ''"


def test_a_banner_covers_the_lower_part_until_answered(server):
    async def act(session):
        page = session.page
        covered = [await page.evaluate(TOP_AT, point) for point in ([500, 100], [500, 700])]
        await click(session, "#city-cookies button[data-choice=refused]")
        uncovered = await page.evaluate(TOP_AT, [500, 700])
        await page.reload()
        return covered, uncovered, await page.locator("#city-cookies").count()

    key = visitor_with(server, "cookie_banner").key
    assert browse(server, key, f"http://{SHOP}/catalogue/", act) == (["", "city-cookies"], "", 0)


def test_a_dialog_covers_the_page_until_it_is_closed(server):
    async def act(session):
        page, seen = session.page, []
        for _ in range(2):
            await page.goto(f"http://{FORUM}/forum/the-quay-6/")
            seen.append(await page.evaluate(TOP_AT, [500, 60]))
        await click(session, "#city-popup .city-close")
        seen.append(await page.evaluate(TOP_AT, [500, 60]))
        await page.reload()
        return seen[1:], await page.locator("#city-popup").count()

    key = visitor_with(server, "popup").key
    assert browse(server, key, f"http://{FORUM}/", act) == (["city-popup", ""], 0)


@pytest.mark.parametrize("modifiers", [("theme", "layout"), ("labels", "language", "slow")])
def test_a_modified_shop_still_sells(server, modifiers):
    async def act(session):
        await click(session, f"form[action='/basket/add/{product}/'] button[type=submit]")

    visitor = visitor_with(server, *modifiers)
    stock = "SELECT product_id AS id FROM partner_stockrecord ORDER BY num_in_stock DESC, id LIMIT 1"
    product = server.query(visitor.key, stock)[0]["id"]
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    browse(server, visitor.key, f"http://{SHOP}/catalogue/x_{product}/", act)
    (line,) = server.diff(before, visitor.key)["basket_line"]
    assert (line["after"]["product_id"], line["after"]["quantity"]) == (str(product), "1")
