"""Who may use a server by URL and load weights into it."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
from collections.abc import Iterator

import pytest
from fastapi import HTTPException, Request

KEY = "0123456789abcdef"


@pytest.fixture
def network(monkeypatch, tmp_path):
    """The state of a server, and a clock in seconds that a test moves."""
    monkeypatch.syspath_prepend("components/policies/vllm/engine")
    module = importlib.import_module("waymark_network")
    seconds = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: seconds[0])

    def make(is_fixed: bool = False):
        return module.Network(KEY, {"model": "m"}, tmp_path, is_fixed)

    return make, seconds, module.CLIENT_TTL_S


def stage(name: str) -> Request:
    return Request({"type": "http", "headers": [(b"x-waymark-client", name.encode())]})


def check_refused(server, name: str) -> None:
    with pytest.raises(HTTPException) as refused:
        server._use(stage(name))
    assert status_of(refused) == 423


def status_of(refused) -> int:
    return refused.value.status_code


def test_a_stage_that_loads_weights_shuts_out_others_until_silent(network):
    make, seconds, ttl_s = network
    server = make()
    server._claim(stage("trainer"))
    for use in (server._use, server._claim):
        with pytest.raises(HTTPException) as refused:
            use(stage("other"))
        assert status_of(refused) == 423
    seconds[0] = ttl_s - 1
    server._claim(stage("trainer"))
    seconds[0] = 2 * ttl_s - 2
    with pytest.raises(HTTPException):
        server._claim(stage("other"))
    seconds[0] = 2 * ttl_s
    server._claim(stage("other"))
    with pytest.raises(HTTPException):
        server._use(stage("trainer"))


def test_each_part_of_an_upload_is_a_sign_of_life(network, tmp_path):
    make, seconds, ttl_s = network
    server, parts = make(), [b"one", b"two", b"three"]
    (tmp_path / "files").mkdir()

    def slowly() -> Iterator[dict[str, object]]:
        for part in parts:
            seconds[0] += 0.9 * ttl_s
            check_refused(server, "other")
            yield {"type": "http.request", "body": part, "more_body": part != parts[-1]}

    messages = slowly()

    async def receive() -> dict[str, object]:
        return next(messages)

    name = hashlib.sha256(b"".join(parts)).hexdigest()
    request = Request(stage("trainer").scope, receive)
    assert asyncio.run(server._receive(name, request)) == {"file": name}
    assert (tmp_path / "files" / name).read_bytes() == b"onetwothree"
    seconds[0] += 0.9 * ttl_s
    check_refused(server, "other")


def test_an_upload_that_was_silent_too_long_ends_if_the_server_is_taken(network, tmp_path):
    make, seconds, ttl_s = network
    server = make()
    (tmp_path / "files").mkdir()

    async def receive() -> dict[str, object]:
        seconds[0] += ttl_s
        server._claim(stage("other"))
        return {"type": "http.request", "body": b"late", "more_body": False}

    with pytest.raises(HTTPException) as refused:
        asyncio.run(server._receive("0" * 64, Request(stage("trainer").scope, receive)))
    assert status_of(refused) == 423


def test_a_stage_whose_weights_are_loaded_is_not_silent(network):
    make, seconds, ttl_s = network
    server = make()
    with server._loading_for(stage("trainer")):
        seconds[0] += 10 * ttl_s
        check_refused(server, "other")
    seconds[0] += ttl_s - 1
    check_refused(server, "other")
    seconds[0] += 1
    server._use(stage("other"))


def test_stages_that_load_nothing_share_and_keep_others_from_loading(network):
    make, seconds, ttl_s = network
    server = make()
    server._use(stage("a"))
    server._use(stage("b"))
    for name in ("a", "c"):
        with pytest.raises(HTTPException) as refused:
            server._claim(stage(name))
        assert status_of(refused) == 423
    seconds[0] = ttl_s / 2
    server._use(stage("a"))
    seconds[0] = ttl_s
    server._claim(stage("a"))


def test_a_stage_that_has_loaded_its_weights_may_share_the_server(network):
    make, _, _ = network
    server = make()
    server._claim(stage("a"))
    server._share(stage("a"))
    server._use(stage("b"))
    with pytest.raises(HTTPException) as refused:
        server._claim(stage("a"))
    assert status_of(refused) == 423


def test_a_refused_stage_does_not_count_as_one_that_uses_the_server(network):
    make, _, _ = network
    server = make()
    server._use(stage("a"))
    with pytest.raises(HTTPException):
        server._claim(stage("b"))
    server._claim(stage("a"))


def test_a_server_with_fixed_weights_takes_none(network):
    make, _, _ = network
    server = make(is_fixed=True)
    server._use(stage("a"))
    with pytest.raises(HTTPException) as refused:
        server._claim(stage("a"))
    assert status_of(refused) == 403


def test_a_request_for_other_weights_is_refused(network):
    make, _, _ = network
    server = make()
    server._model = "aa"
    server.require("aa", stage("a"))
    for weights in ("bb", "aa+cc", "", None):
        with pytest.raises(HTTPException) as refused:
            server.require(weights, stage("a"))
        assert status_of(refused) == 409
    server._model = ""
    with pytest.raises(HTTPException):
        server.require("", stage("a"))
