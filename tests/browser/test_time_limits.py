"""Servers that never answer and turns with too many calls cost the agent a line of feedback, and not the episode."""

from __future__ import annotations

import asyncio
import socket

import pytest

from components.browser import BrowserPool, check_call

from .conftest import PARAMS, task

LIMITS = PARAMS.model_copy(update={"step_timeout_s": 9, "settle_ms": 300})
LATE = "execution failed: it was not run, because the turn's time is over."
CLICK = ("click", {"x": 500, "y": 500})


@pytest.fixture
def silent():
    """The address of a server that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.fixture
def play(pages):
    """Runs turns on a body of HTML; returns the feedback of each and the last observation."""

    def run(body, *turns, params=LIMITS):
        async def episode():
            async with BrowserPool(params, text="elements") as pool, pool.session() as session:
                await session.start(task(pages.add("/limits", body)))
                results = [await session.step([check_call(*call) for call in calls]) for calls in turns]
                return [result.feedback for result in results], results[-1].observation

        return asyncio.run(episode())

    return run


@pytest.mark.slow
def test_goto_url_to_a_silent_server_fails_and_the_old_page_answers(play, silent):
    hover = ("hover", {"x": 9, "y": 9})
    feedback, observation = play("<button>Here</button>", [("goto_url", {"url": silent})], [hover])
    assert feedback[0] == [f"Failed: `goto_url` execution failed: {silent} did not answer within 4 s."]
    assert feedback[1][0].startswith("Succeed: `hover`")
    assert '"Here"' in observation.text


@pytest.mark.slow
def test_silent_servers_do_not_use_up_the_time_of_the_turn(play, silent):
    (feedback,), observation = play("here", [("goto_url", {"url": silent})] * 3)
    assert feedback[0].endswith("did not answer within 4 s.")
    assert feedback[2] == f"Failed: `goto_url` {LATE}"
    assert observation.url.endswith("/limits")


@pytest.mark.slow
def test_a_link_to_a_silent_server_is_stopped_and_the_line_says_so(play, silent):
    link = f"<a href='{silent}' style='position:fixed;inset:0'>go</a>"
    feedback, observation = play(link, [CLICK], [("hover", {"x": 9, "y": 9})])
    assert f"The navigation to {silent} was stopped, because its server did not answer within " in feedback[0][0]
    assert feedback[1][0].startswith("Succeed: `hover`")
    assert observation.url.endswith("/limits")


@pytest.mark.slow
def test_calls_over_the_time_of_a_turn_are_not_run_and_done_is(play):
    ticking = "<p id=p>0</p><script>setInterval(() => p.textContent = Date.now(), 50)</script>"
    calls = [*[CLICK] * 12, ("done", {"answer": "ended"})]
    (feedback,), observation = play(ticking, calls, params=LIMITS.model_copy(update={"settle_ms": 1500}))
    assert feedback[0].startswith("Succeed: `click`")
    assert feedback[11] == f"Failed: `click` {LATE}"
    assert feedback[12] == "Succeed: task marked as done. Response: ended"
    assert observation.url.endswith("/limits")
