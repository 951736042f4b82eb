"""`python -m docs.generator.city_picture`: the picture of three sites of the city, `docs/images/city.png`."""

from __future__ import annotations

import asyncio
import io

from PIL import Image

from components.browser import BrowserPool, check_call
from components.params import BrowserParams
from components.records import Task
from components.worlds.city.instances import instance
from components.worlds.city.site import CitySite
from components.worlds.city.tasks.registry import find
from docs.generator.packages import ROOT

PAGES = ("http://shop.test/catalogue/", "http://desk.test/tickets/", "http://forum.test/forum/boats-and-gear-3/")
TEMPLATE = "across_ticket_total"
"""Its users are logged in at the desk and in the shop."""
VIEWPORT = (1100, 820)
WIDTH = 520
GAP = 12


def main() -> None:
    """Write the picture."""
    shots = [shot.resize((WIDTH, WIDTH * shot.height // shot.width)) for shot in asyncio.run(screenshots())]
    whole = Image.new("RGB", (len(shots) * (WIDTH + GAP) - GAP, shots[0].height), "white")
    for index, shot in enumerate(shots):
        whole.paste(shot, (index * (WIDTH + GAP), 0))
    whole.quantize(160).save(ROOT / "docs/images/city.png", optimize=True)


async def screenshots() -> list[Image.Image]:
    """The pages, in this order."""
    site = CitySite()
    async with BrowserPool(BrowserParams(viewport=VIEWPORT, concurrency=1), site) as pool:
        task = Task.model_validate(instance(site.server, find(TEMPLATE), 1).row("eval"))
        async with pool.session(task) as session:
            await session.start(task)
            shots = []
            for page in PAGES:
                result = await session.step([check_call("goto_url", {"url": page})])
                shots.append(Image.open(io.BytesIO(result.observation.screenshot.data)).convert("RGB"))
            return shots


if __name__ == "__main__":
    main()
