"""The scripted teacher solves each family that it has a plan for, and noise makes it fail in the same way each time."""

import asyncio
from functools import cache

import pytest

from components.agent.protocols import protocol
from components.browser import BrowserPool, parse_elements
from components.params import BrowserParams
from components.records import Task
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from components.worlds.miniwob.teacher import PLANS, MiniWoBTeacher

PARAMS = BrowserParams(viewport=(160, 210), concurrency=4)
MAX_TURNS = 10


async def play(pool, task, noise=0.0, attempt=0):
    """The turns' texts, the page's reward, the actions after its ending, and whether the teacher said done."""
    async with pool.session() as session:
        await session.start(task)
        teacher, said = MiniWoBTeacher(task, attempt=attempt, seed=0, noise=noise), []
        late = 0
        for _ in range(MAX_TURNS):
            turn = teacher.next(parse_elements(await session.oracle()))
            said.append(protocol("openwebrl").write(turn.thought, turn.calls))
            result = await session.step(turn.calls)
            late += result.late_actions or 0
            if result.done:
                break
        return said, await session.site_reward(), late, result.done


@cache
def rows_of(families: tuple[str, ...], seeds: tuple[int, ...]) -> list[dict]:
    return asyncio.run(MiniWoBSite().collect(list(families), list(seeds), "train"))


async def play_rows(rows, noise=0.0, attempts=1):
    async with BrowserPool(PARAMS, site=MiniWoBSite()) as pool:
        plays = [
            (row["website"], play(pool, Task.model_validate(row), noise, a)) for row in rows for a in range(attempts)
        ]
        results = await asyncio.gather(*[one for _, one in plays])
    return [(family.removeprefix("miniwob/"), *result) for (family, _), result in zip(plays, results, strict=True)]


def play_all(families, seeds, **options):
    return asyncio.run(play_rows(rows_of(tuple(families), tuple(seeds)), **options))


@pytest.mark.slow
def test_every_family_is_solved_with_nothing_else_done():
    results = play_all(PLANS, [11, 12])
    assert [(family, *ending) for family, _, *ending in results if ending != [1.0, 0, True]] == []


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_eight_seeds_per_family_at_least_99_percent_are_solved():
    results = play_all(PLANS, range(100, 108))
    solved = sum(ending == [1.0, 0, True] for _, _, *ending in results)
    assert solved >= 0.99 * len(results)


@pytest.mark.slow
def test_the_last_step_and_done_share_a_turn_and_earlier_steps_stand_alone():
    said = {family: texts for family, texts, *_ in play_all(["click-button", "enter-text"], [1])}
    assert [text.count("<tool_call>") for text in said["click-button"]] == [2]
    assert [text.endswith('"done"}}</tool_call>') for text in said["enter-text"]] == [False, True]


@pytest.mark.slow
def test_a_search_opens_one_tab_after_the_other_and_then_clicks_the_link():
    said = [text for _, texts, *_ in play_all(["click-tab-2"], range(6)) for text in texts]
    assert any('click tab "Tab #2"' in text for text in said)
    assert any('click link "' in text for text in said)


@pytest.mark.slow
def test_noise_fails_some_episodes_repeatably_and_all_call_done():
    first, again = (play_all(["click-button", "click-checkboxes"], [1, 2], noise=1.0, attempts=2) for _ in range(2))
    assert first == again
    assert all(done for *_, done in first)
    assert any(reward < 1.0 for _, _, reward, *_ in first)


def test_a_family_without_a_plan_is_refused_by_name():
    task = Task(
        task_id="t", intent="x", start_url="http://miniwob/terminal.html", website="miniwob/terminal", source="miniwob"
    )
    with pytest.raises(ValueError, match="no plan for terminal"):
        MiniWoBTeacher(task)
    assert not MiniWoB(MiniWoB.Params()).can_teach(task)


@pytest.mark.parametrize(
    ("intent", "can"), [("Select nothing and click Submit.", True), ("Tick no box, submit", False)]
)
def test_a_task_in_words_that_the_plan_does_not_know_cannot_be_taught(intent, can):
    website = "miniwob/click-checkboxes"
    task = Task(task_id="t", intent=intent, start_url=f"http://{website}.html", website=website, source="miniwob")
    assert MiniWoB(MiniWoB.Params()).can_teach(task) is can
