"""A site that goes down under an episode ends it as the environment's; other addresses that fail are the agent's."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool, EnvError, EnvInitError
from components.browser import session as session_module
from components.params import BrowserParams, EgressParams
from components.records import ToolCall
from tests.browser.conftest import PARAMS, Pages, task

LINK = "<a href='/next' style='position:absolute;left:0;top:0;width:400px;height:300px'>next</a>"


def episode(site: Pages, *calls: ToolCall, params: BrowserParams = PARAMS, down: bool = False) -> list[str]:
    """Open the page with the link, take the site down or leave it, make the calls; their feedback."""

    async def main() -> list[str]:
        async with BrowserPool(params) as pool, pool.session() as session:
            await session.start(task(site.add("/start", LINK)))
            if down:
                await asyncio.to_thread(site.close)
            return [line for call in calls for line in (await session.step([call])).feedback]

    return asyncio.run(main())


CLICK = ToolCall(name="click", arguments={"x": 200, "y": 200})


@pytest.mark.parametrize("guard", [True, False], ids=["guarded", "unguarded"])
def test_a_link_to_a_site_that_went_down_is_an_error_of_the_environment(guard):
    egress = EgressParams(private_hosts=["127.0.0.1"], guard=guard)
    with pytest.raises(EnvError, match=r"/next could not be opened, though its site answered when the episode began"):
        episode(Pages(), CLICK, params=PARAMS.model_copy(update={"egress": egress}), down=True)


def test_a_failing_page_of_a_working_site_is_shown_to_the_agent(pages):
    pages.add("/next", "broken", status=500)
    assert episode(pages, CLICK)[0].startswith("Succeed")


def test_a_slow_page_is_not_blamed_for_a_dead_address_elsewhere(pages, monkeypatch):
    monkeypatch.setattr(session_module, "LEAST_NAVIGATION_S", 0.5)
    pages.add("/never", "there")
    calls = [
        ToolCall(name="goto_url", arguments={"url": f"{pages.origin}/never"}),
        ToolCall(name="goto_url", arguments={"url": "http://127.0.0.1:1/"}),
    ]

    async def main() -> list[str]:
        async with BrowserPool(PARAMS.model_copy(update={"step_timeout_s": 8.0})) as pool, pool.session() as session:
            await session.start(task(pages.add("/start", LINK)))
            await session.page.route("**/never", lambda route: None)  # the server does not answer
            return (await session.step(calls)).feedback

    assert [line.split(":")[0] for line in asyncio.run(main())] == ["Failed", "Failed"]


def test_a_dead_address_on_another_host_is_the_agents_failure(pages):
    pages.add("/next", "there")
    elsewhere = ToolCall(name="goto_url", arguments={"url": "http://127.0.0.1:1/"})
    said = episode(pages, elsewhere)
    assert said[0].startswith("Failed: `goto_url`")


def test_going_back_to_the_answer_of_a_form_is_no_failure_of_the_site(pages):
    """Chromium does not send a form again by itself, and shows an error page of its own."""
    form = "<form method=post action=/search><button style='width:400px;height:300px'>Search</button></form>"
    pages.add("/search", LINK.replace("/next", "/found"), **{"Cache-Control": "no-store"})
    pages.add("/found", "there")
    back = ToolCall(name="go_back", arguments={})

    async def main() -> list[str]:
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(pages.add("/start", form)))
            return [line for call in (CLICK, CLICK, back) for line in (await session.step([call])).feedback]

    lines = asyncio.run(main())
    assert [line.split(":")[0] for line in lines[:2]] == ["Succeed", "Succeed"]
    assert len(lines) == 3


@pytest.mark.parametrize("status", [403, 500])
def test_a_second_start_page_that_fails_is_no_start(pages, status):
    second = pages.add("/second", "sorry", status=status)

    async def main() -> None:
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(f"{pages.add('/start', LINK)} |AND| {second}"))

    with pytest.raises(EnvInitError, match=f"/second was answered with status {status}"):
        asyncio.run(main())
