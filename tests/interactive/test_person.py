"""What a person types becomes a response that says all of it, in the protocol of the recipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, cast

import pytest

from components.agent import Prompt, Request
from components.agent.protocols import protocol
from components.interactive.console import Console
from components.interactive.person import PersonPolicy
from components.interactive.transcript import Transcript
from components.params import SamplingParams
from tests.evaluation.run_records import observation


class SeenPage:
    """What a person sees of a session: its last page."""

    last = observation(text="[3] button Add")


def responses(speaks: str, lines: Sequence[str], turns: int = 1) -> list[str]:
    """The responses to the first lines of a person; a line that is refused leads to the next one."""
    reading, writing = os.pipe()
    os.write(writing, "".join(f"{line}\n" for line in lines).encode())
    os.close(writing)
    transcript = Transcript(colour=False)
    person = PersonPolicy(cast(Any, SeenPage()), Console(transcript.write, reading), transcript, speaks)

    async def answer() -> list[str]:
        request = Request(cast(Prompt, None), (), SamplingParams(), 100, 0)
        return [(await person.complete(request)).text for _ in range(turns)]

    try:
        return asyncio.run(answer())
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("speaks", "line", "lost"),
    [
        ("webagent_r1", "scroll down 0.7  # on", "webagent_r1 cannot say amount=0.7; leave it out"),
        ("webagent_r1", "scroll down 3  # on", "webagent_r1 cannot say amount=3; leave it out"),
        ("webagent_r1", "scroll down 0.5 400 300  # on", "webagent_r1 cannot say x=400, y=300; leave it out"),
        ("webagent_r1_bare", "wait 10  # on", "webagent_r1_bare cannot say seconds=10; leave it out"),
        ("browseragent", "scroll up 3  # on", "browseragent cannot say amount=3; leave it out"),
    ],
)
def test_an_argument_that_the_protocol_cannot_say_is_named_and_asked_again(speaks, line, lost, capsys):
    (response,) = responses(speaks, [line, "scroll down  # on"])
    assert f"the protocol {lost}" in capsys.readouterr().out
    (call,) = protocol(speaks).parse(response).calls
    assert (call.name, call.arguments["direction"]) == ("scroll", "down")


def test_a_persons_memory_keeps_the_thoughts_of_all_turns():
    lines = ["click 512 86  # the price is 12 euros", "scroll down  # the shipping is free"]
    first, second = responses("webgym", lines, turns=2)
    assert "Memory: the price is 12 euros\n" in first
    assert "Memory: the price is 12 euros; the shipping is free\n" in second
