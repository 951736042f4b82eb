"""Branches of an episode on the city, in Chromium: from one state, apart from each other and from their parent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from components.agent import (
    Branch,
    Completion,
    EpisodeSettings,
    EpisodeSpec,
    Policy,
    Renderer,
    Request,
    format_call,
    format_response,
    run_episode,
)
from components.browser import BrowserPool, Environment, Session
from components.params import BrowserParams, SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import StateCheck, Task, Trajectory
from components.worlds import Worlds
from components.worlds.city import City
from components.worlds.city.instances import instances
from components.worlds.city.site import CitySite
from components.worlds.city.tasks.registry import templates

BROWSER = BrowserParams(concurrency=3, start_timeout_s=60, step_timeout_s=60, settle_ms=20_000)
CITY = Worlds([City(City.Params())])


class Says:
    """Answers in turn."""

    version = "says"

    def __init__(self, *responses: str) -> None:
        self._responses = [*responses]

    def prompt_tokens(self, prompt: object) -> int:
        return 10

    async def complete(self, request: Request) -> Completion:
        return Completion([], [], self._responses.pop(0), "stop")


def test_two_branches_begin_alike_and_change_their_own_copies(image):
    """The parent adds two articles to the basket; a branch begins after the first. One does what the parent did, and
    one ends at once. The parent's copy is looked at again when they have ended."""
    params = load("recipes/city-demo.yaml")
    renderer = Renderer(params.agent, params.observation.model_copy(update={"screenshots": 1}))
    settings = EpisodeSettings(renderer, params.agent, SamplingParams(), 40, 64)

    async def play(
        pool: BrowserPool, spec: EpisodeSpec, policy_for: Callable[[EpisodeSpec, Environment], Policy]
    ) -> Trajectory:
        async with pool.session(spec.task) as session:
            return await run_episode(spec, session, policy_for(spec, session), settings)

    async def checked_again(session: Session, answer: str | None) -> StateCheck | None:
        assert session.site_episode is not None
        return await session.site_episode.check_state(answer)

    async def scenario() -> tuple[Trajectory, int, list[Trajectory], StateCheck | None]:
        site = CitySite()
        async with BrowserPool(BROWSER, site, "elements") as pool:
            task = Task.model_validate(
                instances(site.server, templates()["shop_add_two_articles"], 1, 1)[0].row("eval")
            )
            spec = EpisodeSpec(task, 0, "scripted", 1)
            async with pool.session(task) as session:
                parent = await run_episode(spec, session, scripted_policy(CITY)(spec, session), settings)
                added = next(turn.index for turn in parent.turns if "Add to cart" in str(turn.feedback))
                branch = Branch(parent, added + 1)
                same = Says(*(turn.response for turn in parent.turns[branch.turn :]))
                idle = Says(format_response("x", [format_call("done", answer="")]))
                branches = await asyncio.gather(
                    *(
                        play(pool, EpisodeSpec(task, 0, "says", seed, branch), lambda *_, policy=policy: policy)
                        for seed, policy in enumerate((same, idle), start=2)
                    )
                )
                return parent, branch.turn, [*branches], await checked_again(session, parent.answer)

    parent, turn, (same, idle), again = asyncio.run(scenario())
    assert [branch.branch_of.difference for branch in (same, idle)] == [None, None]
    assert same.turns[turn].observation == idle.turns[turn].observation == parent.turns[turn].observation
    assert parent.state_check == again, "branches change nothing in the parent's copy"
    assert [t.state_check.reward for t in (parent, same, idle)] == [1, 1, 0]
    lines = [[c for c in t.state_check.changes if c.table == "basket_line"] for t in (parent, same, idle)]
    assert [len(changes) for changes in lines] == [2, 2, 1], "the first article was there when the branches began"
