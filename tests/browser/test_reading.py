"""What a rule can ask of pages when an episode is over, in a real Chromium on a loopback site."""

from __future__ import annotations

import time

import pytest

from components.browser import check_call
from components.records import Probe

VALUE = "document.querySelector('[name=\"title\"').value"
"""Without its bracket, as WebArena writes its selectors: CSS closes at the end what is open."""


@pytest.fixture
def read(pages, visit):
    """The reading of a probe after an episode that began on `body`, which stays where it was."""

    def of(body: str, probe: Probe, *calls):
        async def steps(session, observation):
            await session.step([check_call(name, arguments) for name, arguments in calls])
            before = session.page.url
            reading = await session.read(probe)
            assert session.page.url == before, "the page that the agent left stays the active one"
            return reading

        return visit(pages.add("/start", body), steps)

    return of


def test_the_agents_last_page_is_read_as_it_is(read, pages):
    reading = read("<input name=title value='a &amp; b'>", Probe(url="last", locator=VALUE, script=VALUE))
    assert (reading.text, reading.error, reading.address) == ("a & b", None, pages.origin + "/start")


def test_without_a_locator_it_is_the_whole_page(read):
    text = read("<p title='in an attribute'>seen</p>", Probe(url="last", locator="")).text
    assert "in an attribute" in text
    assert "seen</p>" in text


def test_another_page_opens_in_its_own_tab_with_the_agents_cookies(read, pages):
    url = pages.add("/cart", "<p id=who></p><script>who.textContent = document.cookie</script>")
    probe = Probe(url=url, locator="x", address=url, script="document.querySelector('#who').textContent")
    reading = read("<script>document.cookie = 'cart=3'</script>", probe)
    assert (reading.text, reading.address) == ("cart=3", url)


def test_an_element_that_comes_late_is_waited_for(read, pages):
    url = pages.add("/late", "<script>setTimeout(() => document.body.append('here'), 2200)</script>")
    probe = Probe(url=url, locator="x", address=url, script="document.body.lastChild.data")
    assert read("", probe).text == "here"


def test_a_missing_element_is_an_empty_text_with_the_exception(read, pages):
    url = pages.add("/missing", "no such page", status=404)
    began = time.monotonic()
    reading = read("", Probe(url=url, locator=VALUE, address=url, script=VALUE))
    assert reading.text == ""
    assert "TypeError" in reading.error
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failing_server_gives_no_reading(read, pages, status):
    url = pages.add("/broken", "sorry", status=status)
    reading = read("", Probe(url=url, locator="", address=url))
    assert reading.text is None
    assert f"status {status}" in reading.error


def test_a_page_without_a_server_gives_no_reading(read):
    reading = read("", Probe(url="x", locator="", address="http://127.0.0.1:9/"))
    assert reading.text is None
    assert reading.error


def test_an_address_with_a_placeholder_gives_no_reading(read):
    reading = read("", Probe(url="__SHOPPING__/x", locator="", address="__SHOPPING__/x"))
    assert reading.text is None
    assert reading.error


def test_invalid_javascript_gives_no_reading(read):
    reading = read("", Probe(url="last", locator="x", script="document.("))
    assert reading.text is None
    assert "SyntaxError" in reading.error


def test_a_promise_is_awaited_and_an_address_can_be_asked_for(read, pages):
    pages.add("/api", "/orders/7")
    order = pages.add("/orders/7", "<p>two lamps</p>")
    probe = Probe(
        url="func:latest()",
        locator="x",
        address=pages.origin + "/start",
        resolve="fetch('/api').then(r => r.text()).then(t => `${location.origin}/${t.match(/orders.\\d/)[0]}`)",
        script="document.querySelector('p').outerText",
    )
    reading = read("", probe)
    assert (reading.text, reading.address) == ("two lamps", order)


def test_an_address_that_cannot_be_resolved_gives_no_reading(read, pages):
    probe = Probe(url="f", locator="", address=pages.origin + "/start", resolve="fetch('/nothing').then(r => r.json())")
    reading = read("", probe)
    assert reading.text is None
    assert "could not be found" in reading.error


def test_a_required_server_that_does_not_answer_gives_no_reading(read):
    throws = "Promise.reject(new Error('HTTP 401'))"
    assert read("", Probe(url="last", locator="f", script=throws)).text == ""
    reading = read("", Probe(url="last", locator="f", script=throws, must_answer=True))
    assert reading.text is None
    assert "HTTP 401" in reading.error


def test_a_page_that_must_be_opened_first_is_opened(read):
    body = "<button onclick=\"setTimeout(() => { document.body.append('inside') }, 50)\">more</button>"
    probe = Probe(
        url="last",
        locator="x",
        prepare=["document.querySelector('.none').click()", "document.querySelector('button').click()"],
        script="document.body.lastChild.data",
    )
    assert read(body, probe).text == "inside"


def test_a_page_that_overrides_built_ins_is_read_with_our_own(read):
    body = "<p>true</p><script>document.querySelector = () => ({outerText: 'a lie'})</script>"
    assert read(body, Probe(url="last", locator="x", script="document.querySelector('p').outerText")).text == "true"


def test_the_active_tab_is_the_agents_last_page(read, pages):
    pages.add("/other", "second")
    calls = [("new_tab", {}), ("goto_url", {"url": pages.origin + "/other"})]
    reading = read("first", Probe(url="last", locator="x", script="document.body.outerText"), *calls)
    assert reading.text == "second"
