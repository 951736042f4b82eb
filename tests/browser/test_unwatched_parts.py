"""What a probe does not see by itself is watched where it is in view, and is said to be unknown elsewhere."""

from __future__ import annotations

import pytest

from components.browser import check_call
from components.browser.feedback import AT_BOUNDARY, CHANGED, NO_EFFECT

pytestmark = pytest.mark.slow

AT = "position:absolute;left:360px;top:285px;width:80px;height:30px"
BUTTON = f'<button id=go style="{AT}" onclick="{{}}">Go</button>'
CLICK = ("click", {"x": 500, "y": 500})
DOWN = ("scroll", {"direction": "down", "x": 500, "y": 500})
INNER = f"<button style='{AT}' onclick='{{}}'>Pay</button>"
FULL = "position:absolute;left:0;top:0;width:800px;height:600px;border:0"
UNKNOWN = "Note: no navigation or new tab detected; whether {} changed is unknown."
MOVING = "<canvas id=c width=300 height=200></canvas><script>let n=0;(function draw(){const g=c.getContext('2d');"
MOVING += "g.fillStyle=`rgb(${n++%250},0,0)`;g.fillRect(0,0,300,200);requestAnimationFrame(draw)})()</script>"


@pytest.fixture
def tell(pages, visit):
    """What the feedback of calls, one per turn, says after `executed.` on a body of HTML."""

    def run(body, *calls):
        async def steps(session, _):
            await session.page.wait_for_load_state("load")
            lines = []
            for name, arguments in calls:
                lines += (await session.step([check_call(name, arguments)])).feedback
            return [line.partition("executed. ")[2] for line in lines]

        return visit(pages.add("/unwatched", body), steps)

    return run


@pytest.fixture
def foreign(pages):
    """The address of a page of another origin."""
    return lambda path, body: pages.add(path, body).replace("127.0.0.1", "localhost")


# ---- frames of other origins

HIDDEN = {
    "hidden": "<iframe src='{}' style='display:none'></iframe>",
    "transparent": "<iframe src='{}' style='visibility:hidden;position:absolute'></iframe>",
    "off the screen": "<iframe src='{}' style='position:absolute;left:-3000px;top:0'></iframe>",
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_frame_in_view_is_watched_behind_many_that_are_not(tell, foreign, kind):
    hidden = HIDDEN[kind].format(foreign("/ad", "<p>ad</p>")) * 9
    frame = f"<iframe style='{FULL}' src='{{}}'></iframe>"
    pays = frame.format(foreign("/pays", INNER.format("document.body.append(1)")))
    assert tell(hidden + pays, CLICK, DOWN) == [CHANGED, AT_BOUNDARY]
    idle = frame.format(foreign("/idle", INNER.format("")))
    assert tell(hidden + idle, CLICK) == [NO_EFFECT]


def test_a_change_of_a_hidden_frame_is_no_change_of_the_page(tell, foreign):
    ticking = foreign("/ticking", "<p id=p></p><script>setInterval(()=>{p.textContent+=1},20)</script>")
    idle = foreign("/idle", INNER.format(""))
    body = HIDDEN["off the screen"].format(ticking) + f"<iframe style='{FULL}' src='{idle}'></iframe>"
    assert tell(body, CLICK) == [NO_EFFECT]


def test_more_frames_in_view_than_are_watched_are_unknown(tell, foreign):
    idle = f"<iframe style='width:60px;height:60px' src='{foreign('/idle', INNER.format(''))}'></iframe>"
    assert tell(idle * 9 + BUTTON.format(""), CLICK) == [UNKNOWN.format("a frame of another site")]


def test_the_clicked_frame_is_watched_before_the_others(tell, foreign):
    small = f"<iframe style='width:60px;height:60px' src='{foreign('/idle', INNER.format(''))}'></iframe>" * 9
    pays = foreign("/pays", INNER.format("document.body.append(1)"))
    assert tell(f"{small}<iframe style='{FULL}' src='{pays}'></iframe>", CLICK) == [CHANGED]


@pytest.mark.parametrize("attributes", ["", "sandbox='allow-scripts'"], ids=["of the page's site", "sandboxed"])
def test_a_frame_in_a_frame_of_another_origin_is_watched(tell, pages, foreign, attributes):
    for action, said in (("document.body.append(1)", CHANGED), ("", NO_EFFECT)):
        inner = pages.add("/inner", INNER.format(action))
        outer = foreign("/outer", f"<iframe style='{FULL}' src='{inner}' {attributes}></iframe>")
        assert tell(f"<iframe style='{FULL}' src='{outer}'></iframe>", CLICK) == [said]


def test_a_canvas_in_a_frame_of_another_origin_is_unknown(tell, foreign):
    frame = foreign("/canvas", "<canvas width=200 height=100></canvas>" + INNER.format(""))
    assert tell(f"<iframe style='{FULL}' src='{frame}'></iframe>", CLICK) == [UNKNOWN.format("a canvas")]


SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='800' height='600'><rect width='800' height='600'"
SVG += " onclick='this.remove()'/></svg>"


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml"])
def test_an_embedded_document_is_watched(tell, pages, kind):
    page = pages.add("/embedded", INNER.format("document.body.append(1)"))
    url = page if kind == "text/html" else f"data:{kind},{SVG}"
    assert tell(f'<embed type="{kind}" style="{FULL}" src="{url}">', CLICK) == [CHANGED]


# ---- canvases


def test_a_scroll_over_a_moving_canvas_claims_no_boundary(tell):
    body = MOVING + "<script>addEventListener('wheel',()=>{},{passive:true})</script>"
    said = "Note: page scroll position did not change; whether a canvas changed is unknown."
    assert tell(body, DOWN) == [said]
    assert tell("<canvas width=300 height=200></canvas>", DOWN) == [AT_BOUNDARY]


# ---- what no mutation tells

FIELDS = "<script>document.write('<input>'.repeat({}))</script>"


def test_a_value_of_a_late_field_is_a_change(tell):
    set_last = "[...document.querySelectorAll('input')].at(-1).value='x'"
    body = BUTTON.format(set_last).replace("absolute", "fixed") + FIELDS
    assert tell(body.format(600), CLICK) == [CHANGED]


SMALL = "position:absolute;left:571px;top:413px;width:60px;height:20px;margin:0;padding:0;border:0;overflow:hidden"
SHOWN = {
    "popover": "<button popovertarget=m style='{at}'>Go</button><div id=m popover style='{small}'>menu</div>",
    "focus": "<style>#m{{display:none}}button:focus+#m{{display:block}}</style><button style='{at}'>Go</button>"
    "<div id=m style='{small}'>menu</div>",
    "focus far away": "<style>#m{{visibility:hidden}}body:has(button:focus) #m{{visibility:visible}}</style>"
    "<main><div><p><button style='{at}'>Go</button></p></div></main>"
    "<footer><div id=m style='{small}'>menu</div></footer>",
    "transparent": "<style>#m{{opacity:0}}div:focus-within #m{{opacity:1}}</style><div><button style='{at}'>Go</button>"
    "<div id=m style='{small}'>menu</div></div>",
    "off the screen": "<style>#m{{translate:-2000px}}div:focus-within #m{{translate:0px}}</style><div>"
    "<button style='{at}'>Go</button><div id=m style='{small}'>menu</div></div>",
    "rule": "<style>#m{{display:none}}</style><div id=m style='{small}'>menu</div>"
    "<button style='{at}' onclick='document.styleSheets[0].deleteRule(0)'>Go</button>",
    "declaration": "<style>#m{{display:none}}</style><div id=m style='{small}'>menu</div>"
    "<button style='{at}' onclick='document.styleSheets[0].cssRules[0].style.display=`block`'>Go</button>",
    "sheet": "<div id=m style='{small}'>menu</div><button style='{at}' onclick='const sheet=new CSSStyleSheet();"
    "sheet.replaceSync(`#m{{display:none}}`);document.adoptedStyleSheets=[sheet]'>Go</button>",
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_small_part_that_appears_without_mutation_is_a_change(tell, kind):
    assert tell(SHOWN[kind].format(at=AT, small=SMALL), CLICK) == [CHANGED]


def test_parts_that_blink_by_themselves_are_no_change(tell):
    style = "<style>i{animation:a .3s steps(2,jump-none) infinite}@keyframes a{to{opacity:0}}</style>"
    assert tell(f"{style}<i><b>on</b></i>" + BUTTON.format(""), CLICK) == [NO_EFFECT]


def test_what_shows_that_the_clicked_button_has_the_focus_is_no_change(tell):
    ring = "<style>i{opacity:0;position:absolute;inset:0}:focus>i{opacity:.5}</style>"
    assert tell(f"{ring}<button style='{AT}'><i></i></button>", CLICK) == [NO_EFFECT]


def test_elements_beyond_those_that_are_compared_are_unknown(tell):
    body = BUTTON.format("").replace("absolute", "fixed") + "<script>document.write('<i></i>'.repeat(10100))</script>"
    assert tell(body, CLICK) == [UNKNOWN.format("an element beyond the first 10,000")]
