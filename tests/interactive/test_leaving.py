"""The person is asked before another host is opened, and a refused page leaves the shown page as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager

import pytest

from components.browser import BrowserPool, check_call
from components.interactive.hosts import HostRules
from components.interactive.leaving import HostGate
from components.interactive.session import WatchedSession
from components.params import BrowserParams, EgressParams
from tests.browser.conftest import Pages, task
from tests.loopback import Loopback

PARAMS = BrowserParams(viewport=(800, 600), concurrency=1, start_timeout_s=20, step_timeout_s=20, navigation_retries=0)


class Asked:
    """A person who always gives the same answer, and the questions that were asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.questions: list[str] = []

    async def confirm(self, question: str) -> bool:
        self.questions.append(question)
        return self.answer


@pytest.fixture
def pages() -> Iterator[Pages]:
    server = Pages()
    yield server
    server.close()


@pytest.fixture
def other(pages: Pages) -> Iterator[Loopback]:
    """The same pages on another host."""
    server = Loopback(pages._server.RequestHandlerClass, host="127.0.0.2")
    yield server
    server.close()


@asynccontextmanager
async def watched(url: str, person: Asked):
    rules = HostRules.of(url, [], EgressParams())
    params = PARAMS.model_copy(update={"egress": rules.egress})
    async with BrowserPool(params, text="elements") as pool, pool.session() as session:
        gate = HostGate(rules, person.confirm, pool.replace_egress_rules)
        watched_session = WatchedSession(session, gate, None)
        await watched_session.start(task(url))
        yield watched_session, session, gate


def test_what_is_no_address_is_an_error_of_the_call(pages: Pages) -> None:
    rules = HostRules.of(pages.origin, [], EgressParams())

    async def use(_: EgressParams) -> None:
        pass

    async def main() -> list[str | None]:
        gate = HostGate(rules, Asked(True).confirm, use)
        wrong = ("https://[website]/", "https://example.com:PORT/", "http://example.com:99999/")
        calls = [check_call("goto_url", {"url": url}) for url in wrong]
        return [call.error for call in await gate.permitted(calls, lambda url: url)]

    assert all(error is not None and error.endswith("is no address") for error in asyncio.run(main()))


def turns(url: str, person: Asked, *calls: tuple[str, dict]):
    """The feedback of each call, and the page's address and title at the end."""

    async def episode():
        async with watched(url, person) as (watched_session, session, gate):
            lines = []
            for name, arguments in calls:
                result = await watched_session.step([check_call(name, arguments)])
                lines += result.feedback
            return lines, session.page.url, await session.page.title(), gate

    return asyncio.run(episode())


LINK = "<a href='{}' style='display:block;height:200px'>elsewhere</a><input oninput='document.title = value'>"
CLICK = ("click", {"x": 100, "y": 100})


@pytest.mark.slow
def test_a_refused_link_leaves_the_page_and_what_was_typed(pages, other):
    pages.add("/there", "there")
    url = pages.add("/", LINK.format(other.origin + "/there"))
    person = Asked(False)
    typed = [("click", {"x": 60, "y": 350}), ("write", {"text": "new"})]
    lines, end, title, _ = turns(url, person, *typed, CLICK, CLICK)
    assert pages.hits.get("/there") is None
    assert (end, title) == (url, "new")
    assert f"127.0.0.2:{other.port} is outside of this run's hosts and was not opened" in lines[2]
    assert len(person.questions) == 1, "a refused host is not asked about again"


def test_an_allowed_link_is_opened_in_the_same_tab(pages, other):
    pages.add("/there", "there", title="the other host")
    url = pages.add("/", LINK.format(other.origin + "/there"))
    person = Asked(True)
    lines, end, title, _ = turns(url, person, CLICK)
    assert (end, title) == (f"{other.origin}/there", "the other host")
    assert "The user allowed 127.0.0.2" in lines[0]
    assert person.questions == [
        f"The agent wants to leave 127.0.0.1 and open {other.origin}/there. Allow 127.0.0.2:{other.port} in this run?"
    ]


def test_an_allowed_page_that_cannot_be_opened_is_not_said_to_be_open(pages, other):
    other.close()
    url = pages.add("/", LINK.format(other.origin + "/there"))
    lines, _, _, _ = turns(url, Asked(True), CLICK)
    assert f"The user allowed 127.0.0.2:{other.port}, and {other.origin}/there has status 502." in lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [True, False])
def test_a_window_of_another_host_is_asked_about_too(pages, other, answer):
    pages.add("/there", "there", title="the other host")
    url = pages.add("/", f"<a target=_blank href='{other.origin}/there' style='display:block;height:200px'>window</a>")
    person = Asked(answer)
    _, _, title, _ = turns(url, person, CLICK)
    assert len(person.questions) == 1
    assert (title == "the other host") is answer
    assert (pages.hits.get("/there") == 1) is answer


@pytest.mark.parametrize("answer", [True, False])
def test_a_redirect_to_another_host_is_stopped_and_asked_about(pages, other, answer):
    pages.add("/there", "there", title="the other host")
    pages.add("/redirect", "", status=302, Location=f"{other.origin}/there")
    url = pages.add("/", LINK.format("/redirect"), title="the first host")
    person = Asked(answer)
    _, _, title, _ = turns(url, person, CLICK)
    assert len(person.questions) == 1
    assert title == ("the other host" if answer else "the first host")
    assert (pages.hits.get("/there") == 1) is answer


def test_a_first_page_may_lead_over_two_hosts_once_both_are_allowed(pages, other):
    third = Loopback(pages._server.RequestHandlerClass, host="127.0.0.3")
    pages.add("/there", "there", title="the third host")
    pages.add("/second", "", status=302, Location=f"{third.origin}/there")
    url = pages.add("/", "", status=302, Location=f"{other.origin}/second")
    person = Asked(True)
    _, end, title, _ = turns(url, person)
    third.close()
    assert (end, title) == (f"{third.origin}/there", "the third host")
    assert [question.partition("Allow ")[2] for question in person.questions] == [
        f"{server.host}:{server.port} in this run?" for server in (other, third)
    ]


@pytest.mark.parametrize("answer", [True, False])
def test_an_address_that_the_agent_names_is_asked_about_before(pages, other, answer):
    pages.add("/there", "there", title="the other host")
    url = pages.add("/", "start", title="the first host")
    person = Asked(answer)
    lines, _, title, _ = turns(url, person, ("goto_url", {"url": f"{other.origin}/there"}))
    assert lines[0].startswith("Succeed" if answer else "Failed: `goto_url` execution failed: 127.0.0.2")
    assert title == ("the other host" if answer else "the first host")


@pytest.mark.slow
def test_files_of_other_hosts_are_refused_or_allowed_together(pages, other):
    pages.add("/picture", "")
    url = pages.add("/", f"<img src='{other.origin}/picture'><a href='/next'>next</a>")
    person = Asked(False)
    *_, gate = turns(url, person)
    assert pages.hits.get("/picture") is None
    assert gate.refused_files == {f"127.0.0.2:{other.port}": 1}
    person = Asked(True)
    turns(url, person)
    assert pages.hits["/picture"] == 1
    assert person.questions == [f"The page also loads files from 127.0.0.2:{other.port}. Allow?"]
