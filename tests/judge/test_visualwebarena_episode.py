"""Whole episodes on sites of VisualWebArena's kind: Chromium reads texts and images, an endpoint answers about them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image as PILImage

from components.browser.image_reading import MAX_IMAGES, MAX_SIDE
from components.judge import JudgeClients, ModelJudge, assisted_verdict, rules_verdict
from components.judge.rules import probes_of
from components.params import EndpointParams, ModelJudgeParams
from components.records import Ending, Outcome, Task, Trajectory, Verdict
from components.store import read_table, write_table
from components.tasks import at_sites, load_files
from tests.endpoint_server import Server, images_of, text_of
from tests.judge.test_visualwebarena import OURS
from tests.loopback import Handler, Loopback
from tests.samples import a_trajectory


def plain(colour: tuple[int, int, int], size: tuple[int, int] = (90, 60)) -> bytes:
    return encoded(PILImage.new("RGB", size, colour), "PNG")


def shaded(size: tuple[int, int] = (90, 60)) -> bytes:
    return encoded(PILImage.linear_gradient("L").resize(size).convert("RGB"), "JPEG")


def encoded(image: PILImage.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


ORDER = """<table id=my-orders-table><tbody><tr>
<td class='col name'>Desk lamp<dl><dt>Colour</dt><dd>Green</dd></dl></td><td class='col sku'>L02</td>
<td class='col price'>$55.00</td><td class='col qty'>Ordered 3 Shipped 1</td></tr></tbody></table>"""
PRODUCT = """<h1>Lamp</h1><div class=product-info-main><div class=product-info-price>
<div class='price-box price-final_price'><span><span>$1,055.00</span></span></div></div></div>
<a id=tab-label-reviews-title>Reviews 14</a><table id=productDetails_detailBullets_sections1><tbody>
<tr><th>Brand Name</th><td>Lumo</td></tr><tr><th>Weight</th><td>2 kg</td></tr></tbody></table>"""
COMMENT = """<article class=comment><div class=comment__main><header><h1><a class=fg-inherit>{}</a>
<span><time datetime='{}'></time></span></h1></header><div class=comment__content>{}</div></div>{}</article>"""


class Sites(Loopback):
    """All of the benchmark's sites on one host. `photos` are the images of a post, by name."""

    def __init__(self) -> None:
        self.photos: dict[str, bytes] = {}
        self.status = 200
        outer = self

        class Serving(Handler):
            def do_GET(self) -> None:
                body, kind, status = outer.answer(urlsplit(self.path).path)
                self.send_body(body, kind, status)

            def do_POST(self) -> None:
                self.send_body(b'"t0ken"', "application/json")

        super().__init__(Serving)

    def answer(self, path: str) -> tuple[bytes, str, int]:
        """Body, content type and status of a path."""
        match path.strip("/").split("/"):
            case ["photos", name]:
                found = self.photos.get(name)
                return found or b"", "image/png", self.status if found else 404
            case ["f", "birds", *_]:
                late = COMMENT.format("Mia", "2026-02-02T10:00:00+00:00", "It is a robin.", "")
                asks = COMMENT.format("Tom", "2026-01-01T10:00:00+00:00", "What is it?", late)
                early = COMMENT.format("Mia", "2026-01-03T10:00:00+00:00", "Nice.", "")
                images = "".join(f"<img src='/photos/{name}'>" for name in self.photos)
                drawing = "<img src='data:image/svg+xml,<svg/>'>"
                page = f"<a class=fg-inherit>Ann</a><div class=submission__image>{images}{drawing}</div>{asks}{early}"
                return _page(f"<main id=main>{page}</main>"), "text/html", 200
            case ["rest", "V1", "orders"]:
                return json.dumps({"items": [{"increment_id": "000000007"}]}).encode(), "application/json", 200
            case ["rest", "V1", "products", *_]:
                reviews = [{"detail": "dull"}, {"detail": "so bright"}]
                return json.dumps(reviews).encode(), "application/json", 200
            case ["sales", "order", *_]:
                return _page(ORDER), "text/html", 200
            case ["lamp.html"]:
                return _page(PRODUCT), "text/html", 200
            case ["static", *_]:
                return self.photos.get("bird.png", b""), "image/png", 200
        return _page("home"), "text/html", 200


def _page(body: str) -> bytes:
    return f"<!DOCTYPE html><title>a site</title>{body}".encode()


@pytest.fixture
def sites() -> Iterator[Sites]:
    server = Sites()
    yield server
    server.close()


@pytest.fixture
def finish(sites, browser, tmp_path):
    """Open a task's start page, read what its rule asks for, and give the episode as it comes back from disk."""
    runner, pool = browser
    names = ("shopping", "classifieds", "reddit", "homepage")

    def of(number: int) -> Trajectory:
        found = {one.task_id: one for one in load_files([OURS]).tasks}[f"visualwebarena_rows/{number}"]
        task: Task = at_sites(found, dict.fromkeys(names, sites.origin))
        evaluator = task.evaluator | {"storage_state": None}
        first = f"{sites.origin}/f/birds/9/a-bird"
        start_url = " |AND| ".join([first, *task.start_url.split(" |AND| ")[1:]])
        task = task.model_copy(update={"evaluator": evaluator, "start_url": start_url})

        async def main() -> Ending:
            async with pool.session() as session:
                observation = await session.start(task)
                assert observation.tabs[0].active
                return Ending(
                    url=observation.url,
                    readings=[await session.read(probe) for probe in probes_of(task, observation.url)],
                )

        ending = runner.run(main())
        trajectory = a_trajectory(task).model_copy(update={"ending": ending})
        write_table(tmp_path / "table.parquet", Trajectory, [trajectory])
        assert read_table(tmp_path / "table.parquet", Trajectory) == [trajectory]
        return trajectory

    return of


@pytest.mark.slow
def test_orders_products_and_reviews_are_read(finish):
    texts = [reading.text for reading in finish(2).ending.readings]
    assert texts == ["3", "Green", "Desk lamp\nColour\nGreen", "1055.00", "14", "Lumo", "Lamp", "so bright"]


def test_the_newest_comment_and_whom_it_answers_are_read(finish):
    trajectory = finish(3)
    assert [reading.text for reading in trajectory.ending.readings] == ["It is a robin.", "Tom"]
    assert rules_verdict(trajectory).outcome is Outcome.SUCCESS


def decided(trajectory: Trajectory, server: Server, folder: Path) -> Verdict:
    endpoint = EndpointParams(url=server.url, model="m", key_variable=None, max_retries=0)
    params = ModelJudgeParams.model_validate({"endpoint": endpoint})

    async def main() -> Verdict:
        async with JudgeClients(params, folder, folder / "answers.sqlite") as clients:
            return await assisted_verdict(trajectory, ModelJudge(params, clients))

    return asyncio.run(main())


@pytest.mark.parametrize("sees_red", [True, False])
def test_an_endpoint_answers_about_the_images_of_a_page(finish, sites, tmp_path, sees_red):
    sites.photos = {"sky.png": plain((90, 160, 250)), "bird.png": shaded((1400, 900))}
    trajectory = finish(4)
    copied, asked = trajectory.ending.readings
    sizes = [PILImage.open(io.BytesIO(image.data)).size for image in copied.images]
    assert sizes == [(90, 60), (MAX_SIDE, 329)]
    assert copied.copies == [copied.images[1]]
    assert asked.copies == []
    server = Server()
    server.reply = lambda body: f"Seen.\nVerdict: {'SUCCESS' if sees_red or 'bird' in text_of(body) else 'NOT SUCCESS'}"
    try:
        verdict = decided(trajectory, server, tmp_path)
    finally:
        server.close()
    assert verdict.outcome is (Outcome.SUCCESS if sees_red else Outcome.FAILURE)
    assert [images_of(body) for body in server.asked] == [2, 2]
    assert verdict.judge_version.startswith("webarena-8+m@")
    assert verdict.tokens == 2200


def test_another_picture_is_no_copy_and_no_model_is_asked(finish, sites, tmp_path):
    sites.photos = {"sky.png": plain((90, 160, 250))}
    bird = shaded()
    sites.answer = lambda path, usual=sites.answer: (
        (bird, "image/png", 200) if path.startswith("/static") else usual(path)
    )
    server = Server()
    try:
        assert decided(finish(4), server, tmp_path).outcome is Outcome.FAILURE
    finally:
        server.close()
    assert server.asked == []


@pytest.mark.parametrize("trouble", ["status", "count"])
def test_images_that_cannot_be_read_give_no_verdict(finish, sites, trouble):
    sites.photos = {f"{number}.png": plain((number, 0, 0)) for number in range(1, MAX_IMAGES + 1)}
    if trouble == "status":
        sites.photos = {"bird.png": plain((1, 0, 0))}
        sites.status = 503
    verdict = rules_verdict(finish(4))
    assert verdict.outcome is Outcome.ERROR
    assert ("status 503" if trouble == "status" else f"has {MAX_IMAGES + 1} images") in verdict.rationale
