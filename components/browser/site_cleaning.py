"""Prepares a browser context that a pool's own site uses again: nothing of the last episode is left in it."""

from __future__ import annotations

import asyncio

from components.browser.site import Site, SiteEpisode, is_on
from components.browser.tab import Tab


async def clean_for(episode: SiteEpisode, site: Site, tab: Tab) -> None:
    """Clear storage, cookies and history of the site's origins, then set the episode's cookies.

    Args:
        tab: the context's first tab, in which the episode begins.

    Raises:
        EnvError: the browser did not answer.
        SandboxError: the browser died.
    """
    await asyncio.gather(
        *(
            tab.command("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
            for origin in site.origins
        ),
        tab.command("Network.clearBrowserCookies"),
        tab.command("Page.resetNavigationHistory"),  # a page sees how long it is
    )
    if is_on(site, tab.page.url):
        await tab.evaluate("(() => { sessionStorage.clear(); localStorage.clear(); window.name = ''; })()")
    cookies = [
        {"name": cookie.name, "value": cookie.value, "url": cookie.origin, "httpOnly": cookie.http_only}
        for cookie in episode.cookies
    ]
    if cookies:
        await tab.command("Network.setCookies", {"cookies": cookies})
