"""The one client of models behind endpoints: what it pays for, what it keeps, whose doing an error is."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.endpoint import (
    Answer,
    Answers,
    BudgetSpent,
    Endpoint,
    EndpointDown,
    EndpointError,
    RequestRefused,
    image_part,
    text_part,
)
from components.params import EndpointParams
from components.records import Image
from components.store import read_json
from tests.endpoint_server import Server, text_of

PRICE = {"usd_per_million_prompt": 1000.0, "usd_per_million_completion": 10_000.0}  # 1 + 1 USD a request
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def user(*parts: object) -> list[dict]:
    return [{"role": "user", "content": list(parts) if len(parts) > 1 else parts[0]}]


def ask(server: Server, folder: Path, *asked: list[dict], params: dict | None = None, **how: object) -> list[Answer]:
    """Ask all at once, with answers kept in `folder`."""
    given = EndpointParams(**({"url": server.url, "model": "m", "key_variable": None} | (params or {})))

    async def main() -> list[Answer]:
        async with Endpoint(given, folder / "spent.json", folder / "answers.sqlite") as endpoint:
            return await asyncio.gather(*(endpoint.ask(one, **({"max_tokens": 8} | how)) for one in asked))

    return asyncio.run(main())


def test_an_answer_has_its_text_tokens_cost_and_time(server, tmp_path):
    server.delay_s = 0.05
    (answer,) = ask(server, tmp_path, user("hello"), params=PRICE)
    assert (answer.text, answer.finish_reason, answer.tokens, answer.usd) == ("Click it.", "stop", 1100, 2.0)
    assert answer.latency_s >= 0.05
    assert not answer.cached


def test_fields_with_null_are_left_out_for_models_that_accept_no_value(server, tmp_path):
    left_out = {"temperature": None, "top_p": None, "seed": None}
    params = {"extra": left_out | {"chat_template_kwargs": {"thinking": True}}}
    for seed in (1, 2):
        ask(server, tmp_path, user("hello"), params=params, temperature=0.5, top_p=1.0, seed=seed)
    assert len(server.asked) == 2, "answers of two seeds are two answers, also if the model is not told"
    assert not {"temperature", "top_p", "seed"} & server.asked[0].keys()
    assert server.asked[0]["chat_template_kwargs"] == {"thinking": True}


def test_a_cost_that_the_endpoint_does_not_tell_is_no_cost_of_0(server, tmp_path):
    server.usage = None
    with pytest.raises(EndpointError, match="m returns no `usage`, so its cost is unknown and max_usd would stop"):
        ask(server, tmp_path, user("hello"), params=PRICE | {"max_usd": 5.0})
    (answer,) = ask(server, tmp_path, user("hello again"))
    assert answer.usd == 0


def test_a_paid_answer_is_not_asked_again_even_by_another_process(server, tmp_path):
    (first,) = ask(server, tmp_path, user("hello"), params=PRICE)
    (second,) = ask(server, tmp_path, user("hello"), params=PRICE)
    assert len(server.asked) == 1
    assert (second.text, second.tokens, second.latency_s) == (first.text, first.tokens, first.latency_s)
    assert (second.cached, second.usd) == (True, 2.0)
    assert read_json(tmp_path / "spent.json")["usd"] == 2.0


def test_a_run_that_goes_on_on_another_machine_pays_nothing_again(server, tmp_path):
    """The ledger and the journal beside it travel with the run, and not the file of all answers."""
    here, there = tmp_path / "here", tmp_path / "there"
    first = ask(server, here, user("one"), user("two"), params=PRICE)
    there.mkdir()
    for path in here.glob("spent*"):
        shutil.copy(path, there)
    again = ask(server, there, user("one"), user("two"), params=PRICE)
    assert [answer.text for answer in again] == [answer.text for answer in first]
    assert all(answer.cached for answer in again)
    assert len(server.asked) == 2
    assert read_json(there / "spent.json") == read_json(here / "spent.json")


def test_two_clients_of_one_run_may_be_open_at_once(server, tmp_path):
    given = EndpointParams(url=server.url, model="m", key_variable=None)
    place = tmp_path / "spent.json", tmp_path / "answers.sqlite"

    async def main() -> list[str]:
        async with Endpoint(given, *place) as first, Endpoint(given, *place) as second:
            return [(await client.ask(user("one"), max_tokens=8)).text for client in (first, second)]

    assert len(asyncio.run(main())) == 2
    assert len(server.asked) == 1


def test_identical_requests_at_once_are_paid_once(server, tmp_path):
    server.delay_s = 0.1
    answers = ask(server, tmp_path, *[user("hello")] * 5, params=PRICE)
    assert len(server.asked) == 1
    assert sum(answer.cached for answer in answers) == 4
    assert read_json(tmp_path / "spent.json")["usd"] == 2.0


def test_another_image_seed_decoding_model_or_field_is_another_question(server, tmp_path):
    red, blue = (user(text_part("what?"), image_part(Image.of(data))) for data in (b"red", b"blue"))
    ask(server, tmp_path, red, blue)
    assert len(server.asked) == 2
    for how in ({"seed": 1}, {"temperature": 0.5}, {"max_tokens": 9}, {"response_format": {"type": "json_object"}}):
        ask(server, tmp_path, red, **how)
    for params in ({"model": "n"}, {"extra": {"reasoning_effort": "low"}}):
        ask(server, tmp_path, red, params=params)
    assert len(server.asked) == 8
    assert [asked.get("reasoning_effort") for asked in server.asked][-1] == "low"
    ask(server, tmp_path, red, blue)
    assert len(server.asked) == 8


def test_no_temperature_is_sent_to_models_that_take_none(server, tmp_path):
    ask(server, tmp_path, user("hello"), temperature=None, seed=None)
    assert not {"temperature", "seed", "top_p"} & set(server.asked[0])


def test_half_an_entry_is_ignored_and_another_kind_of_file_is_refused(server, tmp_path):
    (first,) = ask(server, tmp_path, user("hello"))
    with sqlite3.connect(tmp_path / "answers.sqlite") as database:
        database.execute("UPDATE answers SET answer = substr(answer, 1, 20)")
    (again,) = ask(server, tmp_path, user("hello"))
    assert (again.text, again.cached, len(server.asked)) == (first.text, False, 2)
    (tmp_path / "text").write_text("this is no database" * 100)
    with pytest.raises(EndpointError, match="move it away"):
        Answers(tmp_path / "text")


def test_a_killed_process_pays_twice_only_for_requests_in_flight(server, tmp_path):
    server.delay_s = 0.05
    program = f"""
import asyncio
from pathlib import Path
from components.endpoint import Endpoint
from components.params import EndpointParams
async def main():
    params = EndpointParams(url={server.url!r}, model="m", key_variable=None, max_in_flight=1)
    here = Path({str(tmp_path)!r})
    async with Endpoint(params, here / "spent.json", here / "answers.sqlite") as e:
        for n in range(1000):
            await e.ask([{{"role": "user", "content": str(n)}}], max_tokens=8)
asyncio.run(main())
"""
    child = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    while len(server.asked) < 8:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.1)
    before = len(server.asked)
    answers = ask(server, tmp_path, *[user(str(n)) for n in range(before)])
    assert len(server.asked) - before <= 1
    assert sum(answer.cached for answer in answers) >= before - 1


@pytest.mark.parametrize("trouble", [[408] * 3, [409] * 3, [429] * 3, [500] * 3, [503] * 3, [0] * 3])
def test_temporary_errors_are_an_outage(server, tmp_path, trouble):
    server.trouble = trouble
    with pytest.raises(EndpointDown, match="run again to go on"):
        ask(server, tmp_path, user("hello"), params={"max_retries": 2})
    assert len(server.asked) == 3
    assert ask(server, tmp_path, user("hello"))[0].text == "Click it."


def test_a_server_that_is_not_there_is_an_outage(server, tmp_path):
    server.close()
    with pytest.raises(EndpointDown):
        ask(server, tmp_path, user("hello"), params={"max_retries": 0})


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>Bad gateway</html>",
        b"{",
        b'{"choices": []}',
        b'{"choices": [{"finish_reason": "stop"}]}',
        b'{"choices": [{"finish_reason": "stop", "message": null}]}',
        b'{"choices": [{"finish_reason": "stop", "message": {"content": {"no": "text"}}}]}',
    ],
)
def test_an_unreadable_answer_is_an_outage_and_never_stored(server, tmp_path, garbage):
    server.garbage = garbage
    with pytest.raises(EndpointDown):
        ask(server, tmp_path, user("hello"), params={"max_retries": 0})
    server.garbage = None
    assert ask(server, tmp_path, user("hello"))[0].text == "Click it."


@pytest.mark.parametrize("usage", [{"total_tokens": 2}, {"prompt_tokens": None, "completion_tokens": None}, None])
def test_an_answer_without_counts_costs_nothing(server, tmp_path, usage):
    choice = {"finish_reason": "stop", "message": {"content": "Click it."}}
    server.garbage = json.dumps({"choices": [choice], "usage": usage}).encode()
    (answer,) = ask(server, tmp_path, user("hello"), params=PRICE)
    assert (answer.text, answer.tokens, answer.usd) == ("Click it.", 0, 0.0)


def test_a_filtered_answer_may_have_no_message(server, tmp_path):
    server.garbage = b'{"choices": [{"finish_reason": "content_filter", "message": null}]}'
    (answer,) = ask(server, tmp_path, user("hello"))
    assert (answer.text, answer.finish_reason, answer.filtered) == ("", "length", True)


def test_half_a_character_in_an_answer_is_replaced_and_the_answer_kept(server, tmp_path):
    server.message["content"] = "bad \ud83d emoji"
    (first,), (again,) = (ask(server, tmp_path, user("hello")) for _ in range(2))
    assert first.text == again.text == "bad ? emoji"
    assert len(server.asked) == 1


def test_half_a_character_in_a_request_is_an_error_of_that_request_alone(server, tmp_path):
    with pytest.raises(RequestRefused, match="half of a character"):
        ask(server, tmp_path, user("bad \ud83d emoji"), params={"max_retries": 50})
    assert server.asked == []


@pytest.mark.parametrize("text", ['{"requests": 1', '{"requests": 1, "eur": 2}', "[]"])
def test_a_damaged_ledger_is_named(server, tmp_path, text):
    (tmp_path / "spent.json").write_text(text)
    with pytest.raises(EndpointError, match=r"spent\.json does not say what was spent .*remove it"):
        ask(server, tmp_path, user("hello"))
    assert server.asked == []


@pytest.mark.parametrize("garbage", [b"<html>Bad gateway</html>", b"{", b'{"choices": null}', b'{"error": {}}'])
def test_a_request_is_sent_again_after_a_response_that_is_no_answer(server, tmp_path, monkeypatch, garbage):
    monkeypatch.setattr("components.endpoint.retries.FIRST_BACK_OFF_S", 0.01)
    server.garbage, server.garbage_answers = garbage, 2
    answers = ask(server, tmp_path, user("hello"), params={"max_retries": 2})
    assert [answer.text for answer in answers] == ["Click it."]
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_is_an_error_of_that_request_alone(server, tmp_path, status):
    server.trouble = [status]
    with pytest.raises(RequestRefused):
        ask(server, tmp_path, user("hello"))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_error_that_a_person_must_fix_is_no_outage_or_refusal(server, tmp_path, status):
    server.trouble = [status]
    with pytest.raises(EndpointError) as caught:
        ask(server, tmp_path, user("hello"))
    assert caught.type is EndpointError


def test_an_empty_account_is_no_outage_though_it_answers_429(server, tmp_path):
    server.trouble, server.error_code = [429], "insufficient_quota"
    with pytest.raises(EndpointError) as caught:
        ask(server, tmp_path, user("hello"), params={"max_retries": 3})
    assert caught.type is EndpointError
    assert len(server.asked) == 1, "waiting does not help"


def test_a_spent_budget_still_returns_paid_answers(server, tmp_path):
    ask(server, tmp_path, user("one"), user("two"), params=PRICE)
    poor = PRICE | {"max_usd": 4.0}
    assert ask(server, tmp_path, user("two"), params=poor)[0].cached
    with pytest.raises(BudgetSpent, match=r"cost 4\.00 USD"):
        ask(server, tmp_path, user("three"), params=poor)


def test_requests_in_flight_when_the_budget_is_spent_are_awaited(server, tmp_path):
    """They are paid for, even if their caller no longer waits for the answer."""
    server.delay_s, checks = 0.3, iter([False, True])
    params = EndpointParams(url=server.url, model="m", key_variable=None, max_in_flight=2)

    def check_budget() -> None:
        if next(checks):
            raise BudgetSpent("spent")

    async def main() -> None:
        files = tmp_path / "spent.json", tmp_path / "answers.sqlite"
        async with Endpoint(params, *files, check_budget=check_budget) as endpoint:
            await asyncio.gather(*(endpoint.ask(user(text), max_tokens=8) for text in ("one", "two")))

    with pytest.raises(BudgetSpent, match="spent"):
        asyncio.run(main())
    assert read_json(tmp_path / "spent.json")["requests"] == 1
    assert ask(server, tmp_path, user("one"))[0].cached


def test_a_cancelled_caller_does_not_cancel_the_shared_request(server, tmp_path):
    server.delay_s = 0.2
    params = EndpointParams(url=server.url, model="m", key_variable=None)

    async def main() -> Answer:
        async with Endpoint(params, tmp_path / "spent.json", tmp_path / "answers.sqlite") as endpoint:
            first = asyncio.create_task(endpoint.ask(user("hello"), max_tokens=8))
            second = asyncio.create_task(endpoint.ask(user("hello"), max_tokens=8))
            await asyncio.sleep(0.05)
            first.cancel()
            return await second

    assert asyncio.run(main()).text == "Click it."
    assert len(server.asked) == 1


def test_a_request_that_nobody_waits_for_is_not_sent_later(server, tmp_path):
    """It waits for `max_in_flight` when its only caller is cancelled; the same request of a later caller is sent."""
    server.delay_s = 0.2
    params = EndpointParams(url=server.url, model="m", key_variable=None, max_in_flight=1)

    async def main() -> Answer:
        async with Endpoint(params, tmp_path / "spent.json", tmp_path / "answers.sqlite") as endpoint:
            first, dropped, shared = (
                asyncio.create_task(endpoint.ask(user(text), max_tokens=8)) for text in ("first", "dropped", "shared")
            )
            await asyncio.sleep(0.05)
            dropped.cancel()
            shared.cancel()
            later = asyncio.create_task(endpoint.ask(user("shared"), max_tokens=8))
            await first
            return await later

    assert not asyncio.run(main()).cached
    assert [text_of(asked) for asked in server.asked] == ["first", "shared"]


def test_a_request_that_nobody_waits_for_is_not_sent_again(server, tmp_path):
    """Its first response, of status 503, comes after its only caller was cancelled."""
    server.delay_s, server.trouble = 0.2, [503]
    params = EndpointParams(url=server.url, model="m", key_variable=None)

    async def main() -> None:
        async with Endpoint(params, tmp_path / "spent.json", tmp_path / "answers.sqlite") as endpoint:
            caller = asyncio.create_task(endpoint.ask(user("hello"), max_tokens=8))
            await asyncio.sleep(0.05)
            caller.cancel()

    asyncio.run(main())
    assert len(server.asked) == 1


def test_the_answer_to_a_request_in_flight_is_kept_for_later_callers(server, tmp_path):
    server.delay_s = 0.2
    params = EndpointParams(url=server.url, model="m", key_variable=None)

    async def main() -> None:
        async with Endpoint(params, tmp_path / "spent.json", tmp_path / "answers.sqlite") as endpoint:
            caller = asyncio.create_task(endpoint.ask(user("hello"), max_tokens=8))
            await asyncio.sleep(0.05)
            caller.cancel()

    asyncio.run(main())
    assert ask(server, tmp_path, user("hello"))[0].cached
