"""When a request is sent again: the endpoint's own word first, then the status."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from email.utils import formatdate

import openai
import pytest

from components.endpoint.retries import retry_delay
from tests.endpoint_server import Server

Delay = Callable[..., float | None]


@pytest.fixture
def delay() -> Iterator[Delay]:
    """The delay after a response of a real server, by its status, its headers and the number of retries before."""
    server = Server()
    client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)

    def after(status: int, retry_headers: dict[str, str] | None = None, retries: int = 0) -> float | None:
        server.trouble, server.retry_headers = [status], retry_headers or {}
        with pytest.raises(openai.OpenAIError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
        return retry_delay(caught.value, retries)

    yield after
    client.close()
    server.close()


@pytest.mark.parametrize("status", [0, 408, 409, 429, 500, 503])
def test_what_may_pass_is_asked_again(delay, status):
    assert delay(status) is not None


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422])
def test_what_will_not_pass_is_not_asked_again(delay, status):
    assert delay(status) is None


def test_the_endpoint_may_say_whether_and_when_to_ask_again(delay):
    assert delay(400, {"x-should-retry": "true"}) is not None
    assert delay(503, {"x-should-retry": "false"}) is None
    assert delay(429, {"Retry-After": "7"}) == 7.0
    assert delay(429, {"Retry-After-Ms": "20"}) == 0.02
    date = formatdate(time.time() + 60, usegmt=True)
    assert delay(429, {"Retry-After": date}) == pytest.approx(60, abs=10)
    assert delay(429, {"Retry-After": "121"}) is None, "longer than a stage should wait"


def test_the_back_off_doubles_up_to_its_limit(delay):
    for retries, longest in [(0, 0.5), (1, 1.0), (2, 2.0), (4, 8.0), (50, 8.0)]:
        seconds = delay(500, retries=retries)
        assert seconds is not None
        assert 0.75 * longest <= seconds <= longest
