"""Renders generated pages in Chromium: what a page for pre-training looks like, and which elements it shows."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from components.browser.elements import element_list
from components.params import PageKindName
from components.training import application_pages, pages, sentence_pages
from components.training.pages import Page

_FOCUS_ONE = """share => {
    const all = document.querySelectorAll('a, button, input');
    if (all.length) all[Math.floor(share * all.length)].focus();
}"""


@dataclass(frozen=True)
class PageKind:
    """How pages of a kind are made and shown.

    Attributes:
        html: makes one page.
        viewport: width and height in pixels.
        details: whether the element list shows the options of selects and how far the page continues (`element_list`).
    """

    html: Callable[[random.Random], str]
    viewport: tuple[int, int]
    details: bool


PAGE_KINDS: dict[PageKindName, PageKind] = {
    "widgets": PageKind(pages.random_page, pages.SIZE, details=False),
    "applications": PageKind(application_pages.application_page, application_pages.SIZE, details=True),
    "sentences": PageKind(sentence_pages.sentence_page, application_pages.SIZE, details=True),
}


async def render_pages(count: int, seed: int, kind: PageKindName = "widgets") -> list[Page]:
    """Render `count` seeded pages that show at least one element each."""
    from playwright.async_api import async_playwright  # pages are drawn and read without it

    from components.browser.chromium import find_chromium, launch, launch_flags

    rng, (width, height) = random.Random(seed), PAGE_KINDS[kind].viewport
    rendered: list[Page] = []
    async with async_playwright() as playwright:
        browser = await launch(playwright, find_chromium(), launch_flags(), scroll_bars=False)
        page = await browser.new_page(viewport={"width": width, "height": height})
        while len(rendered) < count:
            await page.set_content(PAGE_KINDS[kind].html(rng))
            if rng.random() < 0.4:
                await page.evaluate(_FOCUS_ONE, rng.random())
            lines = (await element_list(page, details=PAGE_KINDS[kind].details)).splitlines()
            if any(line.startswith("-") for line in lines):
                rendered.append(Page(await page.screenshot(type="png"), lines))
        await browser.close()
    return rendered


def render_pages_in_processes(count: int, seed: int, kind: PageKindName = "widgets", workers: int = 2) -> list[Page]:
    """`render_pages` in several processes. The pages depend on the number of workers, so the stage must fix it."""
    shares = [count // workers + (worker < count % workers) for worker in range(workers)]
    with ProcessPoolExecutor(workers) as pool:
        parts = pool.map(_render, shares, [seed * 1000 + worker for worker in range(workers)], [kind] * workers)
        return [page for part in parts for page in part]


def _render(count: int, seed: int, kind: PageKindName) -> list[Page]:
    return asyncio.run(render_pages(count, seed, kind))
