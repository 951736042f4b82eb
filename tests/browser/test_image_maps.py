"""The areas of image maps are links of the element list and the accessibility tree, at points within their shapes."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from components.browser import BrowserPool, check_call, parse_elements
from components.browser.tools import ALL_TOOLS
from tests.browser.conftest import PARAMS, task

pytestmark = pytest.mark.slow

_COUNT = itertools.count()
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='200' height='200'></svg>"


def mapped(*areas: str, style: str = "", around: str = "") -> str:
    """An image of 200 × 200 pixels with areas whose links are told in the title."""
    links = "".join(f'<area onclick="document.title=this.alt;return false" href="#" {area}>' for area in areas)
    image = f'<img usemap="#m" alt="plan" style="background:#9cf;{style}" width=200 height=200 src="{PICTURE}">'
    return f'<div style="{around}">{image}</div><map name="m">{links}</map>'


@pytest.fixture
def press(pages, visit):
    """`press(body, name)` clicks the line with a name: (x, y) in pixels, the title, the feedback, and all names."""

    def run(body: str, name: str):
        async def clicking(session, seen):
            lines = parse_elements(seen.text)
            names = [line.name for line in lines]
            if name not in names:
                return None, "no line", "", names
            line = lines[names.index(name)]
            result = await session.step([check_call("click", {"x": line.x, "y": line.y})])
            place = (line.x * 0.8, line.y * 0.6)
            return place, result.observation.tabs[0].title, result.feedback[0], names

        return visit(pages.add(f"/map{next(_COUNT)}", body), clicking)

    return run


@pytest.mark.parametrize(
    ("area", "place"),
    [
        ("shape=rect coords='20,30,60,90'", (40, 60)),
        ("coords='60,90,20,30'", (40, 60)),
        ("shape=circle coords='100,150,40'", (100, 150)),
        ("shape=poly coords='0,0,40,0,40,120,0,120'", (20, 60)),
        ("shape=default", (100, 100)),
    ],
)
def test_each_shape_is_a_link_at_its_middle(press, area, place):
    point, title, line, names = press(mapped(f"{area} alt=North"), "North")
    assert names == ["North"]
    assert title == "North"
    assert point == pytest.approx(place, abs=1)
    assert '<area> "North"' in line


def test_a_polygon_that_its_middle_is_outside_of_is_hit(press):
    corner = "shape=poly coords='0,0,200,0,200,6,6,6,6,200,0,200' alt=North"  # two strips of 6 pixels
    _, title, _, _ = press(mapped(corner), "North")
    assert title == "North"


def test_a_default_area_is_hit_where_no_other_is(press):
    _, title, _, names = press(mapped("shape=circle coords='100,100,90' alt=Lake", "shape=default alt=Land"), "Land")
    assert title == "Land"
    assert sorted(names) == ["Lake", "Land"]


@pytest.mark.parametrize(
    "style",
    ["width:100px", "height:400px", "border:9px solid;padding:13px", "transform:scale(1.5)", "zoom:1.5", "float:right"],
)
@pytest.mark.parametrize("around", ["", "transform:scale(.8);transform-origin:0 0", "zoom:.7"])
def test_areas_of_a_scaled_image_are_hit_where_it_draws_them(press, style, around):
    areas = "coords='10,10,50,90' alt=West", "coords='60,10,95,90' alt=East"
    _, title, _, names = press(mapped(*areas, style=style, around=around), "East")
    assert title == "East"
    assert names == ["West", "East"]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [("alt=One title=Two aria-label=Three", "Three"), ("alt=One title=Two", "One"), ("title=Two", "Two"), ("", "")],
)
def test_the_name_of_an_area_is_its_label_text_or_title(press, attributes, name):
    assert press(mapped(f"coords='0,0,50,50' {attributes}"), "-")[3] == [name]


@pytest.mark.parametrize("style", ["visibility:hidden", "display:none", "opacity:0", "margin-left:900px"])
def test_areas_of_an_image_that_is_not_seen_have_no_line(press, style):
    assert press(mapped("coords='0,0,50,50' alt=North", style=style), "North")[3] == []


def test_areas_that_are_covered_or_no_links_have_no_line(press):
    areas = "coords='0,0,50,50' alt=Covered", "coords='60,60,90,90' alt=Seen"
    cover = "<div style='position:fixed;inset:0 auto auto 0;width:55px;height:55px;background:#fff'></div>"
    image = "<img usemap='#n' width=40 height=40 style='background:red'>"
    plain = f"<map name=n><area coords='0,0,9,9' alt=plain></map>{image}"
    assert press(mapped(*areas) + cover + plain, "-")[3] == ["Seen"]


def test_two_images_of_one_map_list_its_areas_once(press):
    body = mapped("coords='0,0,50,50' alt=North")
    assert press(f"{body}<img usemap='#m' width=20 height=20 alt='' style='background:red'>", "-")[3] == ["North"]


@pytest.mark.slow
def test_an_area_of_the_accessibility_tree_is_clicked_by_its_id(pages):
    areas = ("shape=poly coords='0,0,200,0,0,200' alt=North", "shape=circle coords='150,150,40' alt=South")
    far = mapped(*areas, around="margin-top:500px")  # a half of the map is below the view
    url = pages.add("/tree", far + "<p style='height:900px'>text</p>")

    async def scenario():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            tree = (await session.start(task(url))).text
            results = []
            for name in ("North", "South"):
                (line,) = [line for line in tree.splitlines() if f'link "{name}"' in line]
                call = check_call("click_element", {"element": line.strip().split("]")[0].strip("[")}, ALL_TOOLS)
                result = await session.step([call])
                tree = result.observation.text
                results.append((result.observation.tabs[0].title, result.feedback[0]))
            return results

    north, south = asyncio.run(scenario())
    assert north[0] == "North"
    assert '`click` on <area> "North"' in north[1]
    assert south[0] == "South"
