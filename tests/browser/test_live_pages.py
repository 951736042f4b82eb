"""The environment on pages that behave like the web's: an agent that acts on what it is shown gets where it wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from components.browser import BlockedError, BrowserPool, Session, parse_elements
from components.params import BrowserParams, EgressParams
from components.records import Observation, Task, ToolCall
from tests.browser.live_shop import Shop

PARAMS = BrowserParams(
    viewport=(800, 600), concurrency=2, start_timeout_s=20, step_timeout_s=20, navigation_retries=1,
    egress=EgressParams(private_hosts=["127.0.0.1"]),
)  # fmt: skip


@pytest.fixture(scope="module")
def shop():
    site = Shop()
    yield site
    site.close()


class Visitor:
    """Acts on the last observation only."""

    def __init__(self, session: Session, seen: Observation) -> None:
        self.session = session
        self.seen = seen
        self.said = ""

    def names(self, role: str) -> list[str]:
        return [one.name for one in parse_elements(self.seen.text or "") if one.role == role]

    async def call(self, name: str, **arguments: object) -> str:
        result = await self.session.step([ToolCall(name=name, arguments=arguments)])
        self.seen, (self.said,) = result.observation, result.feedback
        return self.said

    async def click(self, role: str, name: str) -> str:
        found = [one for one in parse_elements(self.seen.text or "") if one.role == role and one.name == name]
        assert found, f"no {role} {name!r} among:\n{self.seen.text}"
        return await self.call("click", x=found[0].x, y=found[0].y)

    async def fill(self, name: str, text: str) -> str:
        await self.click("field", name)
        return await self.call("write", text=text)


@pytest.fixture(scope="module")
def visit(shop):
    """`visit(path, body)` runs `await body(visitor)` in an episode of its own."""
    with asyncio.Runner() as runner:
        pool = BrowserPool(PARAMS, text="elements")
        runner.run(pool.__aenter__())

        def run(path: str, body: Callable[[Visitor], Awaitable[None]]) -> None:
            async def episode() -> None:
                task = Task(task_id="t", intent="buy", start_url=shop.origin + path, website="shop", source="test")
                async with pool.session() as session:
                    await body(Visitor(session, await session.start(task)))

            runner.run(episode())

        yield run
        runner.run(pool.__aexit__())


def test_a_consent_banner_covers_the_page_until_it_is_accepted(visit):
    async def body(visitor: Visitor) -> None:
        assert visitor.names("button") == ["Accept all"]
        await visitor.click("button", "Accept all")
        assert visitor.names("link") == ["Catalog", "News", "Account", "Cart"]
        assert "navigated to" in await visitor.click("link", "Catalog")
        await visitor.call("go_back")
        assert visitor.names("button") == [], "the banner came back"

    visit("/", body)


def test_late_content_is_there_before_the_observation(visit):
    async def body(visitor: Visitor) -> None:
        listed = {one.name: one for one in parse_elements(visitor.seen.text or "")}
        assert listed["Accept all"]
        await visitor.click("button", "Accept all")
        link = next(one for one in parse_elements(visitor.seen.text or "") if one.name == "Cart")
        assert link.y > 1000 * 120 / 600, "the offer above had not come yet"
        await visitor.click("link", "Cart")
        assert visitor.seen.url.endswith("/cart")

    visit("/", body)


def test_suggestions_are_shown_after_a_pause_and_a_request(visit):
    async def body(visitor: Visitor) -> None:
        await visitor.click("button", "Accept all")
        await visitor.fill("Search", "lamp")
        assert visitor.names("option") == ["red lamp", "blue lamp", "green lamp"]
        await visitor.click("option", "blue lamp")
        assert visitor.seen.tabs[0].title == "blue lamp"

    visit("/", body)


def test_lists_can_be_filtered_and_paged(visit):
    async def body(visitor: Visitor) -> None:
        first = [name for name in visitor.names("button") if name.startswith("Add")]
        assert first == ["Add red lamp", "Add blue lamp", "Add green lamp", "Add red chair", "Add blue chair"]
        await visitor.click("button", "Next")
        assert "Add green chair" in visitor.names("button")
        assert "Checked." in await visitor.click("checkbox", "Red only")
        assert [name for name in visitor.names("button") if name.startswith("Add")] == [
            "Add red lamp", "Add red chair", "Add red table", "Add red shelf"
        ]  # fmt: skip

    visit("/catalog", body)


def test_endless_scrolling_loads_more_stories(visit):
    async def body(visitor: Visitor) -> None:
        assert "story 0" in visitor.names("link")
        said = []
        for _ in range(12):
            said.append(await visitor.call("scroll", direction="down", amount=1.0))
            if "story 29" in visitor.names("link"):
                break
        assert "story 29" in visitor.names("link")
        assert "boundary" in await visitor.call("scroll", direction="down", amount=1.0)

    visit("/feed", body)


@pytest.mark.slow
def test_an_agent_can_sign_in_and_order(visit, shop):
    async def body(visitor: Visitor) -> None:
        assert visitor.seen.url.endswith("/login"), "another episode's cookies"
        await visitor.fill("Name", "Alice")
        await visitor.fill("Password", "wrong")
        await visitor.click("button", "Sign in")
        assert visitor.seen.url.endswith("/login?wrong")
        await visitor.fill("Name", "Alice")
        await visitor.fill("Password", "wonderland")
        await visitor.click("button", "Sign in")
        assert visitor.seen.url.endswith("/account")
        await visitor.click("link", "Catalog")
        await visitor.click("button", "Add blue lamp")
        assert visitor.names("link") == ["Cart (1)"]
        await visitor.click("link", "Cart (1)")
        await visitor.click("link", "Order")
        assert visitor.seen.tabs[0].title == "Thank you"

    visit("/account", body)
    visit("/account", body)
    assert not any(shop.carts.values())


def test_a_drawing_over_the_page_is_looked_at_and_ends_nothing(visit):
    """An element of SVG has no `innerText`, and its script no `text`."""

    async def body(visitor: Visitor) -> None:
        assert visitor.names("button") == ["Go"]

    visit("/drawing", body)


def test_a_block_page_ends_the_episode_on_any_page(visit):
    async def nothing(visitor: Visitor) -> None:
        raise AssertionError("the episode began")

    async def too_often(visitor: Visitor) -> None:
        for _ in range(2):
            await visitor.call("goto_url", url=visitor.seen.url)
        with pytest.raises(BlockedError, match="Just a moment"):
            await visitor.call("goto_url", url=visitor.seen.url)

    with pytest.raises(BlockedError, match="403"):
        visit("/robot", nothing)
    visit("/limited", too_often)
