"""What happened is said, and only that: no change is denied where one was made, or where the page was not watched."""

import pytest

from components.browser import check_call
from components.browser.feedback import CHANGED, NO_EFFECT

AT = "position:absolute;left:360px;top:285px;width:80px;height:30px"
BUTTON = f'<button id=go style="{AT}" onclick="{{}}">Go</button>'
CLICK = ("click", {"x": 500, "y": 500})
INNER = "<body style='margin:0'><button style='width:200px;height:100px' onclick='{}'>In</button></body>"


@pytest.fixture
def tell(pages, visit):
    """The feedback of calls, one per turn, on a body of HTML."""

    def run(body, *calls, path="/effects"):
        async def steps(session, _):
            lines = []
            for name, arguments in calls:
                lines += (await session.step([check_call(name, arguments)])).feedback
            return lines

        return visit(pages.add(path, body), steps)

    return run


def note(line):
    return line.split("executed. ")[1] if "executed. " in line else ""


IN_SHADOW = (
    "<x-y></x-y><script>const r=document.querySelector('x-y').attachShadow({mode:'open'});r.innerHTML='<p>a</p>';"
)


@pytest.mark.parametrize(
    "body",
    [
        IN_SHADOW + "</script>" + BUTTON.format("r.firstChild.textContent='b'"),
        "<x-y></x-y>" + BUTTON.format("document.querySelector('x-y').attachShadow({mode:'open'}).innerHTML='<p>a</p>'"),
        IN_SHADOW + "r.innerHTML='<u-v></u-v>'</script>"
        + BUTTON.format("r.firstChild.attachShadow({mode:'open'}).innerHTML='<p>a</p>'"),
        "<iframe id=f srcdoc='<p>a</p>'></iframe>" + BUTTON.format("f.contentDocument.body.append('b')"),
        "<iframe id=f srcdoc='<p>a</p>'></iframe>" + BUTTON.format("f.srcdoc='<p>b</p>'"),
        "<input id=i>" + BUTTON.format("i.value='x'"),
        "<input type=checkbox id=i>" + BUTTON.format("i.checked=true"),
        "<select id=i><option>a<option>b</select>" + BUTTON.format("i.value='b'"),
        "<div style='height:5000px'></div>" + BUTTON.format("window.scrollTo(0,900)").replace("absolute", "fixed"),
        "<div id=p popover style='width:300px;height:200px'>menu</div>" + BUTTON.format("p.showPopover()"),
        "<style>#m{display:none}button:focus+#m{display:block;height:300px}</style>" + BUTTON.format("")
        + "<div id=m>menu</div>",
        "<canvas id=c width=200 height=100></canvas>" + BUTTON.format("c.getContext('2d').fillRect(0,0,50,50)"),
        "<style>[data-bs-theme=dark] body{background:#222}</style>"
        + BUTTON.format("document.documentElement.dataset.bsTheme='dark'"),
        "<style>[data-theme=dark]{color-scheme:dark}</style>"
        + BUTTON.format("document.documentElement.dataset.theme='dark'"),
        "<div id=c style='display:contents'>a</div>" + BUTTON.format("c.firstChild.data='b'"),
    ],
    ids=["shadow root", "attached later", "in another shadow root", "frame", "another document in a frame", "value",
         "checked", "selected", "scrolled", "popover", "shown by CSS", "canvas", "theme", "scheme", "without a box"],
)  # fmt: skip
def test_a_change_that_is_no_mutation_of_the_document_is_said(tell, body):
    assert note(tell(body, CLICK)[0]) == CHANGED


@pytest.mark.parametrize(
    "body",
    [
        BUTTON.format(""),
        "<canvas width=200 height=100></canvas><input><iframe srcdoc='<p>a</p>'></iframe>" + BUTTON.format(""),
        "<style>#go:hover{background:red}</style>" + BUTTON.format(""),
        "<p hidden id=h>a</p>" + BUTTON.format("h.textContent='b';h.firstChild.data='c'"),
        "<x-empty></x-empty>" + BUTTON.format(""),
        "<style>body{animation:a 1s infinite}@keyframes a{to{background:red}}</style>" + BUTTON.format(""),
    ],
    ids=["nothing", "watched parts", "style of the hovered button", "hidden", "empty element", "animated background"],
)
def test_a_click_that_changes_nothing_is_said_to_change_nothing(tell, body):
    assert note(tell(body, CLICK)[0]) == NO_EFFECT


@pytest.mark.parametrize("tag", ["x-closed", "div"])
def test_a_change_of_a_closed_shadow_root_at_the_point_is_said(tell, tag):
    place = AT.replace("80px", "200px")
    body = f"<{tag} style='display:block;{place}'></{tag}><script>const r=document.querySelector('{tag}')"
    body += ".attachShadow({mode:'closed'});r.innerHTML='<p>a</p>';r.host.onclick=()=>{r.firstChild.textContent='b'}"
    assert [note(line) for line in tell(f"{body}</script>", CLICK, CLICK)] == [CHANGED, CHANGED]
    still = body.replace("='b'", ";")
    assert note(tell(f"{still}</script>", CLICK, path="/still")[0]) == NO_EFFECT


def test_more_closed_shadow_roots_than_are_asked_about_are_unknown(tell):
    body = "".join(f"<x-{number}></x-{number}>" for number in range(400)) + BUTTON.format("")
    said = "Note: no navigation or new tab detected; whether a closed component changed is unknown."
    assert note(tell(body, CLICK)[0]) == said


def test_a_canvas_that_moves_by_itself_is_unknown(tell):
    body = "<canvas id=c width=300 height=200></canvas>" + BUTTON.format("")
    body += "<script>let n=0;(function draw(){const g=c.getContext('2d');g.fillStyle=`rgb(${n++%250},0,0)`;"
    body += "g.fillRect(0,0,300,200);requestAnimationFrame(draw)})()</script>"
    assert "whether a canvas changed is unknown" in tell(body, CLICK)[0]


def test_style_under_the_cursor_is_a_change_when_hovering(tell):
    hover = ("hover", {"x": 500, "y": 500})
    styled = "<style>#go:hover{background:red}</style>" + BUTTON.format("")
    assert [note(line) for line in tell(styled, hover, hover)] == [CHANGED, ""]
    assert note(tell(BUTTON.format(""), hover)[0]) == ""


@pytest.mark.parametrize("origin", ["http://localhost", "sandbox"])
def test_changes_in_frames_of_other_origins_are_said(tell, pages, origin):
    inner = pages.add("/inner", INNER.format("setTimeout(()=>document.body.append(1),100)"))
    still = pages.add("/still", INNER.format(""))
    if origin == "sandbox":
        frame = "<iframe sandbox='allow-scripts' src='{}' style='border:0;width:400px;height:200px'></iframe>"
    else:
        inner, still = inner.replace("http://127.0.0.1", origin), still.replace("http://127.0.0.1", origin)
        frame = "<iframe src='{}' style='border:0;width:400px;height:200px'></iframe>"
    click = ("click", {"x": 125, "y": 80})
    assert note(tell(frame.format(inner), click, click)[1]) == CHANGED
    assert note(tell(frame.format(still), click, click)[1]) == NO_EFFECT


def test_a_scroll_in_a_frame_of_another_origin_moves(tell, pages):
    inner = pages.add("/tall", "<div style='height:3000px'></div>").replace("127.0.0.1", "localhost")
    body = f"<iframe src='{inner}' style='border:0;width:400px;height:400px'></iframe>"
    down = ("scroll", {"direction": "down", "amount": 0.5, "x": 200, "y": 200})
    up = ("scroll", {"direction": "up", "amount": 9, "x": 200, "y": 200})
    lines = tell(body, down, up, up)
    assert lines[:2] == ["Succeed: `scroll` down by 50% executed.", "Succeed: `scroll` up by 900% executed."]
    assert "boundary" in lines[2]


def test_a_blocked_service_worker_is_said_once_per_page(tell, pages):
    url = pages.add("/worker", "<script>for(let i=0;i<3;i++)navigator.serviceWorker?.register('/w.js')</script>")
    lines = tell(BUTTON.format(""), ("goto_url", {"url": url}), CLICK, ("goto_url", {"url": url}))
    assert [line.count("service worker") for line in lines] == [1, 0, 1]


def test_an_address_that_is_none_is_a_failed_call(tell):
    [line] = tell(BUTTON.format(""), ("goto_url", {"url": "http://[x"}))
    assert line == "Failed: `goto_url` execution failed: http://[x is no address."
