"""Waiting adapts: an observation shows a page that is done, and a page that never rests is not waited for."""

import asyncio
import time

import pytest
import websockets

from components.browser import BrowserPool, check_call
from perf.app_server import NAVIGATIONS, AppServer
from perf.waiting import drive
from tests.browser.conftest import PARAMS

BUTTON = '<button style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
CLICK = check_call("click", {"x": 500, "y": 500})
LATER = "setTimeout(()=>main.innerHTML='<a href=#>done</a>',{})"


def driven(name, limit, fixed=False):
    """The outcome of the first navigations of an application."""

    async def run():
        server = AppServer()
        try:
            async with BrowserPool(PARAMS, text="elements") as pool:
                return await drive(pool, server, name, fixed=fixed, limit=limit)
        finally:
            server.close()

    return asyncio.run(run())


def early(name, limit):
    """Navigations that are observed early, and again in a second run. The applications' delays are the same in every
    run, so a fault of the rule comes back; a machine that stops the browser for half a second does not."""
    first = driven(name, limit).early
    return sorted({*first} & {*driven(name, limit).early}) if first else []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if place else []) for place, name in enumerate(NAVIGATIONS)]
)
def test_an_application_is_observed_when_it_is_done(name):
    assert early(name, 4) == []


def test_the_rule_that_was_replaced_can_still_be_measured():
    assert len(driven("board", 2, fixed=True).step_s) == 2


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if place else []) for place, name in enumerate(NAVIGATIONS)]
)
def test_no_navigation_of_twenty_is_observed_early(name):
    assert early(name, None) == []


@pytest.mark.parametrize(
    "reaction",
    [
        "main.innerHTML='<p class=Skeleton_x></p>';" + LATER.format(700),
        "main.innerHTML='<p aria-busy=true>wait</p>';" + LATER.format(700),
        "main.innerHTML='<p class=spinner>wait</p>';" + LATER.format(700),
        "main.innerHTML='<progress></progress>';" + LATER.format(700),
        LATER.format(310),
        "history.pushState({},'','?a');" + LATER.format(310),
        "this.classList.add('pressed');" + LATER.format(310),
        # as React does with a part whose code comes late: it shows a sign, and the part 300 ms after that
        "const code=document.createElement('script');code.src='late.js';code.onload=()=>{main.innerHTML='<p>wait</p>';"
        f"{LATER.format(330)}}};document.body.append(code)",
    ],
    ids=["skeleton", "busy", "spinner", "progress", "timer", "address", "pressed button", "late script"],
)
def test_a_late_reaction_is_awaited(pages, visit, reaction):
    style = "<style>p{width:90px;height:20px}.spinner{animation:a 1s infinite}@keyframes a{to{opacity:0}}</style>"
    pages.add("/late.js", "")  # no script, but it loads
    url = pages.add("/loads", f"{style}<div id=main></div>" + BUTTON.format(reaction))

    async def body(session, _):
        return (await session.step([CLICK])).observation.text

    assert 'link "done"' in visit(url, body)


def test_what_loaded_before_the_call_is_not_awaited(pages, visit):
    body = "<style>i{display:block;width:9px;height:9px;animation:a 1s infinite}@keyframes a{to{opacity:0}}</style>"
    body += "<i class=spinner></i><p aria-busy=true>x</p><p id=n>0</p>"
    url = pages.add("/spins", body + BUTTON.format("n.textContent+='!'"))

    async def steps(session, _):
        await session.page.evaluate("n.textContent = 0, setTimeout(() => n.textContent = 2, 1300)")
        await session.step([CLICK])
        return await session.page.evaluate("n.textContent")

    assert visit(url, steps) == "0!", "the step waited for its limit"


SOCKET = "{}const socket=new WebSocket(`ws://127.0.0.1:{}`);"
SEND = BUTTON.format("socket.send('go')")


def observed(pages, visit, answer, script, calls=1):
    """The last observation of a page with a button that sends a message to a socket, and the seconds of the last
    call. `answer` takes the message and returns the socket's, or None."""

    async def serve(connection):
        async for _ in connection:
            reply = await answer()
            if reply is not None:
                await connection.send(reply)

    async def body(session, _):
        for _ in range(calls):
            began = time.monotonic()
            step = await session.step([CLICK])
        return step.observation.text, time.monotonic() - began

    async def main():
        async with websockets.serve(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            url = pages.add("/socket", f"<div id=main></div>{SEND}<script>{SOCKET.format('', port)}{script}</script>")
            return await asyncio.to_thread(visit, url, body)

    return asyncio.run(main())


def test_the_answer_of_a_socket_is_awaited(pages, visit):
    async def late():
        await asyncio.sleep(0.8)
        return "done"

    script = "socket.onmessage=({data})=>main.innerHTML=`<a href=#>${data}</a>`"
    assert 'link "done"' in observed(pages, visit, late, script)[0]


def test_a_socket_that_does_not_answer_is_soon_not_awaited(pages, visit):
    async def silent():
        return None

    assert observed(pages, visit, silent, "", calls=3)[1] < 1
