"""Frames of another origin: in the same renderer (a port, a sandbox) and in one of their own (another site)."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from components.browser import BrowserPool, check_call, parse_elements
from components.browser.page_state import StateExtras
from tests.browser.conftest import PARAMS, Pages, task

pytestmark = pytest.mark.slow

_COUNT = itertools.count()
INNER = """<div style='height:120px'>text</div><button onclick="this.textContent='pressed'">in</button>
<div style='height:600px'></div>"""
STYLE = "width:300px;height:200px"


@pytest.fixture(scope="module")
def elsewhere():
    """A server of another origin on the same site."""
    server = Pages()
    yield server
    server.close()


@pytest.fixture
def framed(pages, elsewhere):
    """`framed(kind, inner, style)`: a frame of another origin with a document."""

    def html(kind: str, inner: str = INNER, style: str = "") -> str:
        path = f"/foreign{next(_COUNT)}"
        url = (elsewhere if kind == "port" else pages).add(path, inner)
        attributes = {
            "port": f'src="{url}"',
            "site": f'src="{url.replace("127.0.0.1", "localhost")}"',
            "sandbox": f'src="{url}" sandbox="allow-scripts"',
        }
        return f'<iframe style="{STYLE};{style}" {attributes[kind]}></iframe>'

    return html


@pytest.fixture
def press(pages, visit):
    """`press(body, name)` clicks the line with a name: the names of the lines before and after, and the first list."""

    def run(body: str, name: str = "in") -> tuple[list[str], list[str], str]:
        async def clicking(session, _):
            await session.page.wait_for_load_state("load")
            seen = (await session.step([])).observation
            lines = parse_elements(seen.text)
            names = [line.name for line in lines]
            if name not in names:
                return names, names, seen.text
            line = lines[names.index(name)]
            result = await session.step([check_call("click", {"x": line.x, "y": line.y})])
            return names, [line.name for line in parse_elements(result.observation.text)], seen.text

        return visit(pages.add(f"/around{next(_COUNT)}", body), clicking)

    return run


def test_each_frame_in_a_renderer_of_its_own_has_one_session(pages, framed, separate_renderers):
    url = pages.add("/four", "".join(framed("site", style=STYLE) for _ in range(4)))

    async def main() -> tuple[int, int, int]:
        async with BrowserPool(PARAMS, text="elements") as pool, pool.session() as session:
            made = []
            attach = session.page.context.new_cdp_session

            async def counted(target):
                made.append(target)
                return await attach(target)

            session.page.context.new_cdp_session = counted
            await session.start(task(url))
            await session.page.wait_for_load_state("load")
            for _ in range(3):
                result = await session.step([check_call("wait", {"seconds": 0})])
            lines = [line.name for line in parse_elements(result.observation.text)]
            return len(made), len(await session.tabs.active.frame_sessions()) - 1, lines.count("in")

    made, kept, lines = asyncio.run(main())
    assert (kept, lines) == (4, 4)
    assert made <= 8, "frames that navigate get one anew"


@pytest.mark.parametrize("kind", ["port", "site", "sandbox"])
@pytest.mark.parametrize("style", ["margin:30px;border:9px solid;padding:13px", "transform:scale(.5)"])
def test_a_button_in_a_foreign_frame_is_pressed_at_its_point(press, framed, kind, style):
    before, after, text = press(f"<button>out</button><br>{framed(kind, style=style)}")
    assert before == ["out", "in"]
    assert after == ["out", "pressed"]
    assert "more below" in text.splitlines()[-1]


@pytest.mark.parametrize("outer", ["port", "site"])
@pytest.mark.parametrize("inner", ["port", "sandbox"])
def test_a_foreign_frame_in_a_foreign_frame_is_pressed(press, framed, outer, inner):
    nested = framed(inner, style="width:200px;height:160px")
    assert press(framed(outer, nested))[:2] == (["in"], ["pressed"])


@pytest.mark.parametrize("kind", ["port", "site"])
def test_a_foreign_frame_in_a_frame_of_the_page_is_pressed(press, framed, pages, kind):
    path = pages.add(f"/between{next(_COUNT)}", framed(kind, style="margin:20px"))
    assert press(f'<iframe style="width:500px;height:400px" src="{path}"></iframe>')[:2] == (["in"], ["pressed"])


@pytest.mark.parametrize(
    "around", ['{}<div style="position:fixed;inset:0;background:#eee"></div>', '<div style="opacity:0">{}</div>']
)
def test_a_foreign_frame_that_is_not_seen_has_no_lines(press, framed, around):
    assert press(around.format(framed("site")))[0] == []


def test_only_the_part_of_a_foreign_frame_in_view_has_lines(press, framed):
    tall = "<button>first</button><div style='height:500px'></div><button>second</button>"
    box = f'<div style="height:300px;overflow:hidden">{framed("site", tall, "height:900px")}</div>'
    assert press(box)[0] == ["first"]


def test_a_page_without_foreign_frames_costs_no_round_trip(pages, visit):
    url = pages.add("/alone", "<button>a</button><iframe srcdoc='<button>b</button>'></iframe>")

    async def look(session, _):
        return (await session.tabs.active.look(0, extras=StateExtras(elements=True))).frames

    assert visit(url, look) == ()
