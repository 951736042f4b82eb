"""The element list of a large page: what is in view, in a time that does not grow with the page."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from components.browser import element_list, parse_elements
from components.browser.tab import Tab

_COUNT = itertools.count()
ROWS = (
    "for (let i = 0; i < {rows}; i++) html += `<div style='height:30px'><b>${{i}}</b> <button>b${{i}}</button></div>`;"
)
COLUMNS = """const size = 'flex:none;margin:0;width:80px;height:50px';
const cell = (i, j) => `<p style="${{size}}"><i>x</i><button>${{i}}.${{j}}</button>`;
for (let i = 0; i < 5; i++) html += '<div style="display:flex">'
+ Array.from({{length: {rows} / 5}}, (_, j) => cell(i, j)).join('') + '</div>';"""
TABLE = """const cell = (i, j) => `<td><button style="width:80px">${{i}}.${{j}}</button>`; html = '<table>';
for (let i = 0; i < {rows} / 500; i++) html += '<tr style="height:50px">'
+ Array.from({{length: 500}}, (_, j) => cell(i, j)).join('');"""


def page(rows: int, loop: str = ROWS, before: str = "", after: str = "") -> str:
    script = f"let html = ''; {loop.format(rows=rows)} document.querySelector('main').innerHTML = html;"
    return f"{before}<main></main>{after}<script>{script}</script>"


@pytest.fixture
def names(pages, visit):
    """`names(body, scroll)`: the names of the lines at a scroll position as a share of the height and of the width."""

    def of(body: str, down: float = 0, across: float = 0) -> list[str]:
        async def look(session, _):
            await session.page.evaluate(
                "([down, across]) => { const page = document.scrollingElement;"
                "scrollTo(across * (page.scrollWidth - innerWidth), down * (page.scrollHeight - innerHeight)); }",
                [down, across],
            )
            return [line.name for line in parse_elements((await session.step([])).observation.text)]

        return visit(pages.add(f"/large{next(_COUNT)}", body), look)

    return of


@pytest.mark.parametrize(("down", "first"), [(0, 0), (0.5, 4990), (1, 9980)])
def test_rows_in_view_are_listed_wherever_the_page_is_scrolled(names, down, first):
    assert names(page(10000), down) == [f"b{row}" for row in range(first, first + 20)]


@pytest.mark.slow
@pytest.mark.parametrize("loop", [COLUMNS, TABLE])
def test_a_wide_page_lists_its_columns_in_view(names, loop):
    listed = names(page(12500, loop))
    assert {"0.0", "0.8", "4.0", "4.8"} <= set(listed)
    assert all(int(name.split(".")[1]) < 10 for name in listed)
    last = names(page(12500, loop), across=1)
    assert {int(name.split(".")[1]) for name in last} >= {12499 // 5 if loop == COLUMNS else 499}


OVER = "<div style='position:fixed;inset:100px 0;background:#fff'><button>over</button></div>"
OVERLAYS = {
    "at the end": ("", f"<div>{OVER}</div>"),
    "in a part far away": ("", f"<section style='height:900px'>{OVER}</section>"),
    "in a row": (
        "<script>addEventListener('load', () => {"
        f'document.querySelector("main").children[7000].innerHTML = "{OVER}"; }});</script>',
        "",
    ),
}


@pytest.mark.parametrize("where", OVERLAYS)
def test_an_overlay_of_a_large_page_is_listed_and_covers_rows(names, where):
    before, after = OVERLAYS[where]
    listed = names(page(10000, before=before, after=after))
    assert "over" in listed
    assert len(listed) < 12


def test_controls_far_away_from_their_label_in_view_are_listed(names):
    hidden = "<label for=c>news</label><input id=c type=checkbox style='position:absolute;top:90000px'>"
    assert names(page(10000, before=hidden))[0] == "news"


def crowd(rows: int) -> str:
    """A drawing of three points per row, all in view, and a button behind it."""
    drawing = f"'<svg width=300 height=200>' + '<circle r=3 cx=9 cy=9></circle>'.repeat({3 * rows}) + '</svg>'"
    return f"<main></main><button>after</button><script>document.querySelector('main').innerHTML = {drawing};</script>"


def test_a_button_behind_a_crowd_of_elements_in_view_is_listed(pages, visit):
    async def look(session, observation):
        return observation.text, await element_list(session.page, details=True)

    plain, detailed = visit(pages.add(f"/crowd{next(_COUNT)}", crowd(10000)), look)
    assert [line.name for line in parse_elements(plain)] == ["after"]
    assert detailed.splitlines()[-1] == "(more than 12000 elements are in view; some of them were not looked at)"


async def executed_blocks(tab: Tab) -> int:
    """How often the blocks of all scripts were executed since the last call, by the browser's own counters."""
    scripts = (await tab.command("Profiler.takePreciseCoverage"))["result"]
    return sum(block["count"] for script in scripts for function in script["functions"] for block in function["ranges"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [*(partial(page, loop=loop) for loop in (ROWS, COLUMNS, TABLE)), crowd],
    ids=["rows", "columns", "table", "crowd"],
)
def test_the_work_does_not_grow_with_the_page(pages, visit, body):
    async def measure(session, _):
        tab = session.tabs.active
        await tab.command("Profiler.enable")
        await tab.command("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})
        await executed_blocks(tab)
        await element_list(session.page)
        return await executed_blocks(tab)

    small, large = (visit(pages.add(f"/work{next(_COUNT)}", body(rows)), measure) for rows in (7500, 37500))
    assert small > 100
    assert large < 1.5 * small, "the larger page has five times as many elements"
