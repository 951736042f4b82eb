"""Prepares a browser context that a pool's own site uses again: nothing of the last episode is left in it."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from components.browser.playwright_errors import translate
from components.browser.site import Site, SiteEpisode, is_on
from components.browser.tab import Tab


async def clean_for(episode: SiteEpisode, site: Site, tab: Tab) -> None:
    """Leave the last episode's page, clear storage, cookies and history of the site's origins, then set the episode's
    cookies. What the page sends or stores when it is left has the cookies of the last episode, and is cleared. With
    `Site.keeps_page`, the start page replaces the last one afterwards.

    Args:
        tab: the context's first tab, in which the episode begins.

    Raises:
        EnvError: the browser did not answer.
        SandboxError: the browser died.
    """
    if is_on(site, tab.page.url):
        await tab.evaluate("(() => { sessionStorage.clear(); localStorage.clear(); window.name = ''; })()")
    if not site.keeps_page:
        try:
            await tab.page.goto("about:blank")
        except PlaywrightError as error:
            raise translate(error) from error
    await asyncio.gather(
        *(
            tab.command("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
            for origin in site.origins
        ),
        tab.command("Network.clearBrowserCookies"),
        tab.command("Page.resetNavigationHistory"),  # a page sees how long it is
        *([] if site.keeps_cache else [tab.command("Network.clearBrowserCache")]),
    )
    cookies = [
        {"name": cookie.name, "value": cookie.value, "url": cookie.origin, "httpOnly": cookie.http_only}
        for cookie in episode.cookies
    ]
    if cookies:
        await tab.command("Network.setCookies", {"cookies": cookies})
