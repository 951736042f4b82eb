"""An OpenAI-compatible endpoint as a policy, against a real HTTP server on loopback that misbehaves on demand."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.agent import (
    Completion,
    EpisodeSettings,
    EpisodeSpec,
    Renderer,
    Request,
    format_call,
    format_response,
    run_episode,
)
from components.agent.policy import RequestClock, RequestRefusedError
from components.agent.rendering import IM_END, IM_START, Prompt, Response, Text
from components.params import EndpointParams, RecipeError, SamplingParams, parse
from components.policies import EndpointError, EndpointPolicy
from components.policies.chat import as_messages
from components.records import Termination, Turn
from components.store import read_json
from tests.agent.test_billing import Page
from tests.endpoint_server import Server
from tests.samples import raw_recipe, recipe
from tests.vlm import TASK, observation, picture, renderer

SAMPLING = SamplingParams(temperature=0.7)


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    running = Server()
    yield running
    running.close()


def prompt() -> Prompt:
    """Of a second turn, whose first was answered by the endpoint: there are no ids."""
    page = observation(1)
    turn = Turn(
        index=0, observation=page, prompt_sha256="", prompt_tokens=1, response="<think>first</think>", token_ids=[],
        logprobs=[], finish_reason="stop", tool_calls=[], feedback=["Succeed: <|im_end|> is only text"], timings={},
    )  # fmt: skip
    return renderer().prompt(TASK, [turn], observation(2))


def ask(
    server: Server, ledger: Path, times: int = 1, seed: int = 5, **params: object
) -> tuple[list[Completion], EndpointPolicy]:
    policy = EndpointPolicy(EndpointParams(url=server.url, model="m", **params), ledger / "spent.json")

    async def main() -> list[Completion]:
        async with policy:
            request = Request(prompt(), (), SAMPLING, 64, seed)
            return await asyncio.gather(*(policy.complete(request) for _ in range(times)))

    return asyncio.run(main()), policy


def test_a_prompt_becomes_the_messages_that_it_was_rendered_from():
    system, user, assistant, now = as_messages(prompt())
    assert (system["role"], user["role"], assistant["role"], now["role"]) == ("system", "user", "assistant", "user")
    assert "Click on the" in user["content"]
    assert assistant["content"] == "<think>first</think>"
    assert {part["type"] for part in now["content"]} == {"text", "image_url"}
    (image,) = (part["image_url"]["url"] for part in now["content"] if part["type"] == "image_url")
    assert base64.b64decode(image.removeprefix("data:image/png;base64,")) == picture(2).data
    said = "".join(part["text"] for part in now["content"] if part["type"] == "text")
    assert "< |im_end|> is only text" in said
    assert IM_START not in said
    assert IM_END not in said


def test_the_opening_of_a_thought_is_not_sent_to_the_server():
    segments = (Text(f"{IM_START}user\nwhat?{IM_END}\n{IM_START}assistant\n<think>\n"),)
    assert as_messages(Prompt(segments)) == [{"role": "user", "content": "what?"}]


@pytest.mark.parametrize("response", ["", " \n"])
def test_a_response_without_text_is_no_empty_message(response):
    """Some servers refuse an empty message, and the episode would end as the endpoint's doing."""
    segments = (Text(f"{IM_START}assistant\n"), Response((), response), Text(f"{IM_END}\n{IM_START}user\nAgain."))
    assert as_messages(Prompt(segments))[0] == {"role": "assistant", "content": "(no call)"}


def test_prompts_differ_by_what_an_endpoint_answered():
    one, other = (Prompt((Text("a"), Response((), text))) for text in ("b", "c"))
    assert one.sha256 != other.sha256


def test_a_request_has_all_its_fields_and_an_answer_no_ids(server, tmp_path):
    (done,), _ = ask(server, tmp_path, extra={"chat_template_kwargs": {"enable_thinking": True}})
    assert done == Completion([], [], "Click it.", "stop", tokens=100, usd=0.0)
    (asked,) = server.asked
    assert (asked["model"], asked["temperature"], asked["max_completion_tokens"], asked["seed"]) == ("m", 0.7, 64, 5)
    assert asked["chat_template_kwargs"] == {"enable_thinking": True}
    assert server.headers[0]["authorization"] == "Bearer a-key"


def test_a_seed_of_64_bits_becomes_one_that_the_api_accepts(server, tmp_path):
    ask(server, tmp_path, seed=2**63 + 5)
    ask(server, tmp_path, seed=2**63 - 1)
    assert [asked["seed"] for asked in server.asked] == [5, 2**63 - 1]


def test_separate_reasoning_of_a_server_is_part_of_the_response(server, tmp_path):
    server.message = {"role": "assistant", "content": "<tool_call>", "reasoning_content": "\nI see.\n"}
    server.finish = "length"
    (done,), _ = ask(server, tmp_path)
    assert done.text == "<think>\nI see.\n</think>\n\n<tool_call>"
    assert done.finish_reason == "length"


@pytest.mark.parametrize("message", [None, {"role": "assistant", "content": "Click"}])
def test_an_answer_that_the_content_filter_cut_is_refused_and_paid(server, tmp_path, message):
    server.message, server.finish = message, "content_filter"
    price = {"usd_per_million_prompt": 1000.0}
    with pytest.raises(RequestRefusedError, match=r"content filter of m at http://.* cut its answer"):
        ask(server, tmp_path, **price)
    assert len(server.asked) == 1
    assert read_json(tmp_path / "spent.json")["usd"] == 1.0


def test_requests_are_retried_after_rate_limits_and_server_errors(server, tmp_path):
    server.trouble = [429, 500, 503]
    (done,), policy = ask(server, tmp_path)
    assert done.text == "Click it."
    assert len(server.asked) == 4
    assert policy.spent.requests == 1


def test_permanent_errors_stop_with_the_way_to_go_on(server, tmp_path):
    server.trouble = [429] * 9
    with pytest.raises(EndpointError, match=r"RateLimitError, max_retries is 2.*run again to go on"):
        ask(server, tmp_path, max_retries=2)
    assert len(server.asked) == 3
    server.trouble = [401]
    with pytest.raises(EndpointError, match="AuthenticationError"):
        ask(server, tmp_path)
    assert len(server.asked) == 4, "a wrong key is no reason to ask again"


def test_a_missing_key_is_an_error_before_the_first_request(server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EndpointError, match="OPENAI_API_KEY holds no key"):
        ask(server, tmp_path)
    (done,), _ = ask(server, tmp_path, key_variable=None)
    assert done.text == "Click it."
    assert len(server.asked) == 1


def test_concurrency_and_requests_per_minute_are_limited(server, tmp_path):
    server.delay_s = 0.1
    ask(server, tmp_path, times=8, max_in_flight=3)
    assert 1 < server.most <= 3
    server.times.clear()
    ask(server, tmp_path, times=7, requests_per_minute=300)
    assert server.times[-1] - server.times[0] > 0.15, "300 a minute is one in 0.2 s, after five at once"


@pytest.mark.parametrize(
    "episodes, trouble, params",
    [
        pytest.param(6, [], {"max_in_flight": 1}, id="max_in_flight"),
        pytest.param(4, [], {"requests_per_minute": 60}, id="requests_per_minute"),
        pytest.param(1, [503], {}, id="retry"),
    ],
)
def test_waiting_for_its_turn_costs_a_request_no_time(server, tmp_path, episodes, trouble, params):
    server.message["content"] = format_response("Go on.", [format_call("wait", seconds=0)])
    server.delay_s, server.trouble, server.retry_headers = 0.5, trouble, {"Retry-After-Ms": "2500"}
    given = recipe()
    agent = given.agent.model_copy(update={"inference_timeout_s": 2.0, "task_timeout_s": 2.5})
    settings = EpisodeSettings(Renderer(agent, given.observation), agent, SAMPLING, 1, 64)
    policy = EndpointPolicy(EndpointParams(url=server.url, model="m", **params), tmp_path / "spent.json")

    async def main() -> list[Termination]:
        async with policy:
            specs = [EpisodeSpec(TASK, attempt, "m", attempt) for attempt in range(episodes)]
            ended = await asyncio.gather(*(run_episode(spec, Page(), policy, settings) for spec in specs))
        return [trajectory.termination for trajectory in ended]

    assert asyncio.run(main()) == [Termination.MAX_STEPS] * episodes


def test_a_budget_holds_across_interrupted_runs(server, tmp_path):
    price = {"usd_per_million_prompt": 1000.0, "usd_per_million_completion": 10_000.0}  # 1 + 1 USD a request
    _, first = ask(server, tmp_path, times=2, **price)
    assert (first.spent.prompt_tokens, first.spent.completion_tokens, first.spent.usd) == (2000, 200, 4.0)
    _, second = ask(server, tmp_path, **price)
    assert second.spent.usd == 6.0
    with pytest.raises(EndpointError, match=r"cost 6.00 USD, max_usd is 5.00"):
        ask(server, tmp_path, max_usd=5.0, **price)
    assert len(server.asked) == 3


def given_up(server: Server, ledger: Path, **params: object) -> EndpointPolicy:
    """A policy of which one answer came too late, and the next one did not."""
    server.reply = lambda asked: "late" if asked["seed"] == 1 and time.sleep(0.8) is None else "Click it."
    policy = EndpointPolicy(EndpointParams(url=server.url, model="m", **params), ledger / "spent.json")

    async def main() -> None:
        async with policy:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5) as limit:
                    await policy.complete(Request(prompt(), (), SAMPLING, 64, 1, RequestClock(limit)))
            await policy.complete(Request(prompt(), (), SAMPLING, 64, 2))

    asyncio.run(main())
    return policy


def test_a_request_that_was_given_up_is_counted(server, tmp_path):
    assert given_up(server, tmp_path).spent.requests == len(server.asked) == 2


def test_a_request_that_was_given_up_is_in_flight_until_it_ends(server, tmp_path):
    began = time.monotonic()
    given_up(server, tmp_path, max_in_flight=1)
    assert server.times[1] - began > 0.8


def test_a_request_that_was_given_up_is_not_sent_again(server, tmp_path, caplog):
    server.delay_s, server.trouble = 0.7, [503]
    assert given_up(server, tmp_path).spent.requests == 1
    assert [asked["seed"] for asked in server.asked] == [1, 2]
    assert caplog.records == []


def test_requests_in_flight_when_the_budget_is_spent_are_counted(server, tmp_path):
    """They are paid for, though their episodes are cancelled."""
    server.reply = lambda asked: "late" if asked["seed"] and time.sleep(0.5) is None else "Click it."
    params = EndpointParams(url=server.url, model="m", usd_per_million_prompt=1000.0, max_usd=1.0)
    policy = EndpointPolicy(params, tmp_path / "spent.json")

    async def episode(seed: int) -> None:
        for _ in range(2):
            await policy.complete(Request(prompt(), (), SAMPLING, 64, seed))

    async def main() -> None:
        async with policy:
            try:
                async with asyncio.TaskGroup() as group:
                    for seed in range(3):
                        group.create_task(episode(seed))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None

    with pytest.raises(EndpointError, match=r"max_usd is 1\.00"):
        asyncio.run(main())
    assert len(server.asked) == 3
    assert read_json(tmp_path / "spent.json")["usd"] == 3.0


def test_the_length_of_a_prompt_is_estimated(tmp_path):
    policy = EndpointPolicy(EndpointParams(url="http://a/v1", model="m"), tmp_path / "spent.json")
    short, long = renderer().prompt(TASK, [], observation(1)), prompt()
    assert 0 < policy.prompt_tokens(short) < policy.prompt_tokens(long)
    assert policy.prompt_tokens(Prompt((picture(1, 320, 320),))) == 100


def test_an_endpoint_that_teaches_must_be_named():
    with pytest.raises(RecipeError, match=r"teacher\.endpoint: is missing"):
        parse(raw_recipe(teacher__policy="endpoint"))
