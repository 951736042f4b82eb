"""MiniWoB++ as it is served: the package's own pages, seeded out of sight, ended once."""

import asyncio
import urllib.request
from pathlib import Path

import pytest

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Renderer, format_call, format_response
from components.agent.loop import run_episode
from components.browser import BrowserPool, check_call, parse_elements
from components.browser.feedback import ENDED, refused
from components.cli.main import main
from components.judge import rules_verdict
from components.params import BrowserParams
from components.records import FactGroup, Outcome, Task, Termination
from components.worlds import WorldError
from components.worlds.miniwob import site
from components.worlds.miniwob.server import SCRIPT_TAG, Server, families, html_root
from components.worlds.miniwob.site import MiniWoBSite, collection_limit_s
from components.worlds.miniwob.teacher import PLANS
from tests.samples import recipe

PARAMS = BrowserParams(viewport=(160, 210), concurrency=1)
FAMILIES = [
    "click-test-2",
    "click-button",
    "click-color",
    "click-dialog-2",
    "click-tab-2",
    "click-checkboxes",
    "login-user",
]
DONE = [check_call("done", {"answer": "done"})]


@pytest.fixture(scope="module")
def rows():
    """Two seeds of each family, train split."""
    return {
        row["task_id"]: row
        for row in asyncio.run(MiniWoBSite().collect([*FAMILIES, "no-such-family"], [3, 4], "train"))
    }


@pytest.fixture(scope="module")
def episode():
    """`episode(task, body)` runs `await body(session, observation)` on the started episode, in one pool for all."""
    with asyncio.Runner() as runner:
        pool = BrowserPool(PARAMS, site=MiniWoBSite(), text="elements")
        runner.run(pool.__aenter__())

        def run(task, body):
            async def one():
                async with pool.session() as session:
                    return await body(session, await session.start(task))

            return runner.run(one())

        yield run
        runner.run(pool.__aexit__())


def task(row):
    return Task.model_validate(row)


def click(observation, name):
    item = next(item for item in parse_elements(observation.text) if item.name == name)
    return check_call("click", {"x": item.x, "y": item.y})


def test_pages_differ_from_the_packages_only_in_the_script_tag():
    server = Server()
    try:
        for family in families():
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/{family}.html", timeout=10) as answer:
                served = answer.read()
            assert served.count(SCRIPT_TAG) == 1
            assert served.replace(SCRIPT_TAG, b"") == (html_root() / "miniwob" / f"{family}.html").read_bytes()
    finally:
        server.stop()


def test_nothing_outside_the_packages_pages_is_served():
    server = Server()
    try:
        for path in ("/../__init__.py", "/core/../../__init__.py", "/%2e%2e/__init__.py", "//etc/passwd"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10)
    finally:
        server.stop()


def test_a_row_has_the_fields_of_a_task(rows):
    row = rows["miniwob/click-test-2/3"]
    assert task(row) == Task(
        task_id="miniwob/click-test-2/3",
        intent="Click button ONE.",
        start_url="http://miniwob/click-test-2.html",
        website="miniwob/click-test-2",
        source="miniwob",
        split="train",
        seed=3,
        evaluator={"type": "site_reward"},
        rubric=[FactGroup(id="1", description="Click button ONE.", facts=['The button "ONE" was clicked.'])],
        difficulty=1,
    )


def test_the_limit_of_collection_grows_with_the_episodes_of_a_family():
    assert collection_limit_s(families=1, seeds=1) == 180  # the browser, the page, one call
    assert collection_limit_s(families=1, seeds=10_000) == 60 * (1 + 1 + 100)
    assert collection_limit_s(families=3, seeds=101) == 60 * (1 + 3 * (1 + 2))


def test_a_browser_that_is_too_slow_to_collect_is_named(monkeypatch):
    monkeypatch.setattr(site, "TIMEOUT_S", 0.001)
    with pytest.raises(WorldError, match=r"2 episodes of each of 1 MiniWoB\+\+ families within 0\.003 s: free"):
        asyncio.run(MiniWoBSite().collect(["click-button"], [3, 4], "train"))


def test_a_family_that_does_not_exist_gives_rows_with_the_reason(rows):
    assert rows["miniwob/no-such-family/3"]["error"] == "MiniWoB++ has no family no-such-family"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_episode_is_the_one_that_collect_saw(rows, episode, family):
    async def utterance(session, observation):
        return await session.page.evaluate("WAYMARK.utterance()")

    row = rows[f"miniwob/{family}/4"]
    assert episode(task(row), utterance) == row["intent"]


def test_the_same_seed_gives_the_same_page_and_another_seed_another(rows, episode):
    async def shot(session, observation):
        return observation.screenshot.sha256, observation.text

    one, other = (task(rows[f"miniwob/click-button/{seed}"]) for seed in (3, 4))
    assert episode(one, shot) == episode(one, shot) != episode(other, shot)


def test_the_page_of_another_family_pays_nothing(rows, episode):
    async def easier(session, observation):
        easy = (await session.step([check_call("goto_url", {"url": "http://miniwob/click-test.html"})])).observation
        pressed = await session.step([click(easy, "Click Me!")])
        return pressed.feedback, await session.site_reward(), await session.page.evaluate("WOB_RAW_REWARD_GLOBAL")

    feedback, reward, displayed = episode(task(rows["miniwob/login-user/3"]), easier)
    assert (reward, displayed) == (0.0, 1)
    assert ENDED not in feedback[0]


def test_a_screenshot_does_not_depend_on_when_the_text_cursor_blinks(rows, episode):
    async def shots(session, observation):
        step = await session.step([click(observation, "Username")])
        shots = {step.observation.screenshot.sha256}
        for _ in range(4):
            await asyncio.sleep(0.27)  # the cursor of a field blinks every 0.5 s
            shots.add((await session.step([check_call("wait", {"seconds": 0})])).observation.screenshot.sha256)
        return len(shots)

    assert episode(task(rows["miniwob/login-user/3"]), shots) == 1


@pytest.mark.slow
def test_a_page_that_changed_is_painted_as_if_it_were_new(rows):
    """Chromium paints changed parts alone, and a border at the edge of such a part then gets another colour."""

    async def shot(pool):
        async with pool.session() as session:
            step = await session.step([click(await session.start(task(rows["miniwob/click-tab-2/3"])), "Tab #2")])
            return step.observation.screenshot.sha256

    async def shots():
        params = PARAMS.model_copy(update={"concurrency": 6})
        async with BrowserPool(params, site=MiniWoBSite(), text="elements") as pool:
            return await asyncio.gather(*(shot(pool) for _ in range(36)))

    assert len(set(asyncio.run(shots()))) == 1


def test_the_url_tells_neither_port_nor_seed(rows, episode):
    async def url(session, observation):
        return observation.url

    assert episode(task(rows["miniwob/click-test-2/3"]), url) == "http://miniwob/click-test-2.html"


def test_the_first_ending_counts_and_survives_a_reload(rows, episode):
    async def body(session, observation):
        wrong, right = click(observation, "TWO"), click(observation, "ONE")
        before = await session.site_reward()
        await session.step([wrong])
        after_wrong = await session.site_reward()
        await session.step([right, check_call("press_keys", {"keys": "F5"})])
        await session.page.reload()
        await session.step([right])
        return before, after_wrong, await session.site_reward()

    assert episode(task(rows["miniwob/click-test-2/4"]), body) == (0.0, -1.0, -1.0)


@pytest.mark.parametrize("name, reward", [("ONE", 1.0), ("TWO", -1.0)])
def test_an_ended_page_says_so_and_takes_no_more_actions(rows, episode, name, reward):
    async def body(session, observation):
        button = click(observation, name)
        first = await session.step([button])
        second = await session.step([button, check_call("scroll", {"direction": "down"}), check_call("hover", {})])
        last = await session.step([check_call("press_keys", {"keys": "F5"}), *DONE])
        return [first, second, last], await session.site_reward()

    steps, raw = episode(task(rows["miniwob/click-test-2/4"]), body)
    assert steps[0].feedback[0].endswith(f"executed. Note: no visible navigation or new tab detected. {ENDED}")
    assert steps[1].feedback[0] == refused("click")
    assert [line.split(":")[0] for line in steps[1].feedback] == ["Failed", "Succeed", "Failed"]
    assert steps[2].feedback[0] == refused("press_keys")
    assert [step.late_actions for step in steps] == [0, 1, 1], "neither a scroll nor a call that cannot be read"
    assert steps[2].done
    assert raw == reward, "the sign is the same after a right and after a wrong ending"


def test_an_action_after_the_ending_in_the_same_turn_is_late(rows, episode):
    async def body(session, observation):
        right, wrong = click(observation, "ONE"), click(observation, "TWO")
        return await session.step([right, wrong, *DONE]), await session.site_reward()

    step, raw = episode(task(rows["miniwob/click-test-2/4"]), body)
    assert (step.late_actions, raw) == (1, 1.0)


def test_the_record_of_an_episode_adds_up_late_actions(rows, episode):
    class Habit:
        """Clicks the right button twice, and then another time before `done`."""

        version = "habit"

        def prompt_tokens(self, prompt):
            return 1

        async def complete(self, request):
            calls = (
                [format_call("click", **self.place)] * 2 if not request.turns else [format_call("click", **self.place)]
            )
            calls += [format_call("done", answer="")] if len(request.turns) == 1 else []
            return Completion([], [], format_response("Click.", calls), "stop")

    async def body(session, observation):
        policy, params = Habit(), recipe()
        policy.place = click(observation, "ONE").arguments
        settings = EpisodeSettings(
            Renderer(params.agent, params.observation), params.agent, params.evaluation.sampling, 4, 64
        )
        return await run_episode(EpisodeSpec(of, 0, "habit", 0), session, policy, settings)

    of = task(rows["miniwob/click-test-2/4"])
    trajectory = episode(of, body)
    assert (trajectory.site_reward, trajectory.late_actions, trajectory.termination) == (1.0, 2, Termination.DONE)
    assert rules_verdict(trajectory).outcome is Outcome.FAILURE


def test_the_next_episode_of_a_browser_begins_without_an_ending(rows, episode):
    async def body(session, observation):
        return await session.step([click(observation, "ONE")])

    steps = [episode(task(rows["miniwob/click-test-2/4"]), body) for _ in range(2)]
    assert [step.late_actions for step in steps] == [0, 0]


def test_a_reload_before_the_end_gives_the_same_page_again(rows, episode):
    async def body(session, observation):
        await session.page.reload()
        return (await session.step([])).observation.text == observation.text

    assert episode(task(rows["miniwob/click-button/3"]), body)


def test_the_page_looks_the_same_after_the_end_as_before(rows, episode):
    """No START cover, no reward display, no new problem."""

    async def body(session, observation):
        result = await session.step([click(observation, "ONE")])
        parts = "['#sync-task-cover', '#reward-display', '#click-canvas']"
        hidden = f"{parts}.map(part => document.querySelector(part).checkVisibility())"
        return (
            observation.text.replace(" focused", ""),
            result.observation.text.replace(" focused", ""),
            await session.page.evaluate(hidden),
        )

    before, after, shown = episode(task(rows["miniwob/click-test-2/3"]), body)
    assert before == after
    assert shown == [False, False, False]


def test_a_second_tab_gives_no_second_attempt(rows, episode):
    async def body(session, observation):
        url = check_call("goto_url", {"url": "miniwob/click-test-2.html"})
        await session.step([click(observation, "TWO"), check_call("new_tab", {}), url, click(observation, "ONE")])
        return await session.site_reward()

    assert episode(task(rows["miniwob/click-test-2/4"]), body) == -1.0


def test_the_reward_is_known_after_the_agent_left_the_site(rows, episode):
    async def body(session, observation):
        await session.step([click(observation, "ONE"), check_call("goto_url", {"url": "about:blank"})])
        return await session.site_reward()

    assert episode(task(rows["miniwob/click-test-2/4"]), body) == 1.0


def test_an_episode_starts_with_no_page_to_go_back_to(rows, episode):
    async def body(session, observation):
        return (await session.step([check_call("go_back", {})])).feedback

    first = task(rows["miniwob/click-button/3"])
    assert [episode(first, body), episode(first, body)] == [
        ["Failed: `go_back` execution failed: there is no previous page."]
    ] * 2


def test_no_other_host_can_be_reached(rows, episode):
    async def body(session, observation):
        addresses = ("http://example.com/", "http://127.0.0.1:1234/", "http://93.184.215.14/")
        return (await session.step([check_call("goto_url", {"url": address}) for address in addresses])).feedback

    said = episode(task(rows["miniwob/click-button/3"]), body)
    assert all("is not on the list of allowed hosts" in line for line in said)


def test_each_family_of_the_teacher_is_in_the_package():
    assert set(PLANS) <= {Path(name).stem for name in families()}


def test_an_agent_that_left_for_a_page_that_is_not_there_gets_reward_0(rows, episode):
    async def leave(session, observation):
        await session.step([check_call("goto_url", {"url": "http://miniwob/nothing.html"})])
        assert (await session.step(DONE)).done
        return await session.site_reward()

    assert episode(task(rows["miniwob/click-button/3"]), leave) == 0.0


def test_a_script_of_the_page_gets_the_reward_as_the_world_says(rows, episode, capsys):
    """No tool of an agent runs one; `World.forgeable` warns of whatever else would."""

    async def forge(session, observation):
        await session.page.evaluate("core.endEpisode(1)")
        assert (await session.step(DONE)).done
        return await session.site_reward()

    assert episode(task(rows["miniwob/click-button/3"]), forge) == 1.0
    assert main(["world", "check", "miniwob", "no-such-family"]) == 1
    assert "miniwob can be forged: its pages compute and keep their reward" in capsys.readouterr().err
