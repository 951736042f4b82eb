"""The scripted teachers play real episodes to success, in every protocol that their site's pages allow."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
from collections import Counter
from functools import partial

import pytest

from components.agent import EpisodeSettings, EpisodeSpec, Renderer, run_episode
from components.agent.protocols import protocol
from components.agent.protocols.webgym import sections
from components.browser import BrowserPool, EnvError, HarnessError, Placed, check_call
from components.judge import rules_verdict
from components.params import AgentParams, BrowserParams, ObservationParams, SamplingParams
from components.policies.scripted import GIVE_UP, ScriptedTeacher, at_points, fused, under, without_points
from components.records import Outcome, Task, Termination, ToolCall, Trajectory
from components.worlds import NotSupportedError, TeacherTurn, World
from components.worlds.encyclopaedia import Encyclopaedia
from components.worlds.encyclopaedia.kiwix import INSTALL
from components.worlds.encyclopaedia.questions import KINDS, questions
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from components.worlds.miniwob.teacher import PLANS, WITHOUT_IDS

needs_kiwix = pytest.mark.skipif(shutil.which("kiwix-serve") is None, reason=f"no Kiwix; type `{INSTALL}`")
TEXT = {"webagent_r1": "html", "webagent_r1_bare": "html", "browseragent": "axtree"}


def play(kind: type[World], rows: list[dict], speaks: str, noise: float = 0.0, viewport=(480, 640)) -> list[Trajectory]:
    text = TEXT.get(speaks, "elements")
    agent = AgentParams(protocol=speaks, prompt="compact", max_response_tokens=96, max_context_tokens=8192)
    settings = EpisodeSettings(
        Renderer(agent, ObservationParams(text=text)), agent, SamplingParams(temperature=0), 10, 96
    )

    world = kind(kind.Params())

    async def all_of_them() -> list[Trajectory]:
        params = BrowserParams(viewport=viewport, concurrency=4, quiet_ms=0)
        async with BrowserPool(params, site=world.site(), text=text) as pool:

            async def one(row: dict) -> Trajectory:
                spec = EpisodeSpec(Task.model_validate(row), 0, "scripted", 0)
                async with pool.session() as session:
                    make = partial(world.teacher, spec.task, spec.attempt, spec.seed, noise)
                    return await run_episode(spec, session, ScriptedTeacher(session, make, speaks), settings)

            return await asyncio.gather(*map(one, rows))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("thought", "note"),
    [
        ('click button "ok" 512 86', 'click button "ok"'),
        ('click link "12 34" 5 6, link "b" 70 800', 'click link "12 34", link "b"'),
        ('click 2nd field 300 400, write "1 2"', 'click 2nd field, write "1 2"'),
        ("done", "done"),
    ],
)
def test_a_note_has_no_coordinates(thought, note):
    assert without_points(thought) == note


@pytest.mark.slow
def test_where_each_response_rewrites_the_memory_it_holds_all_notes():
    rows = asyncio.run(MiniWoBSite().collect(["login-user", "click-tab-2"], range(4), "train"))
    played = play(MiniWoB, rows, "webgym", viewport=(160, 210))
    assert failed(played) == []
    for trajectory in played:
        memories = [sections(turn.response)["memory"] for turn in trajectory.turns]
        for earlier, later in itertools.pairwise(memories):
            assert later.startswith(f"{earlier}; ")
    login = next(t for t in played if t.task.family == "login-user")
    assert re.fullmatch(
        r'click field "Username", write "\w+"; click field "Password", write "\w+"; click button "Login"',
        sections(login.turns[-1].response)["memory"],
    )


def failed(trajectories: list[Trajectory]) -> list[str]:
    return [t.task_id for t in trajectories if rules_verdict(t).outcome is not Outcome.SUCCESS]


@pytest.mark.slow
@needs_kiwix
@pytest.mark.parametrize("speaks", ["browseragent", "webagent_r1_bare", "openwebrl"])
def test_a_question_of_every_kind_is_answered(speaks):
    played = play(Encyclopaedia, questions([*KINDS], len(KINDS), "train", 0), speaks)
    assert failed(played) == []
    assert Counter(len(t.turns) for t in played) == {3: 14, 4: 9}, "search, result, and an article per hop"


@pytest.fixture(scope="module")
def accessible_rows() -> list[dict]:
    """Two tasks of each MiniWoB family whose targets have element ids."""
    families = [name for name in PLANS if name not in WITHOUT_IDS]
    return asyncio.run(MiniWoBSite().collect(families, [11, 12], "train"))


@pytest.mark.slow
@pytest.mark.parametrize("speaks", ["browseragent", "webagent_r1"])
def test_element_ids_solve_each_miniwob_family_with_accessible_targets(speaks, accessible_rows):
    assert failed(play(MiniWoB, accessible_rows, speaks, viewport=(160, 210))) == []


@pytest.mark.slow
@needs_kiwix
def test_facts_from_a_page_are_kept_as_the_conclusion():
    (row,) = questions(["city-currency"], 1, "train", 0)
    *_, article, last = play(Encyclopaedia, [row], "browseragent")[0].turns
    country = row["rubric"][1]["description"]
    assert f"<conclusion>Country: {country}</conclusion>" in article.response
    assert f"<conclusion>Currency: {row['reference_answer']}</conclusion>" in last.response


@pytest.mark.slow
@needs_kiwix
def test_noise_makes_some_answers_wrong_repeatably():
    rows = questions([*KINDS], 12, "train", 0)
    first, again = (play(Encyclopaedia, rows, "browseragent", noise=1.0) for _ in range(2))
    assert [t.answer for t in first] == [t.answer for t in again]
    assert len(failed(first)) >= 9
    assert all(t.format_ok for t in first)


@needs_kiwix
def test_a_task_without_the_location_of_its_answer_ends_its_episode():
    row = {**questions(["capital"], 1, "train", 0)[0], "rubric": []}
    (played,) = play(Encyclopaedia, [row], "browseragent")
    assert played.termination is Termination.HARNESS_ERROR
    assert "let a model teach others (teacher.policy)" in played.diagnostics["error"]


CALLS = [
    ToolCall(name="click_element", arguments={"element": "7"}),
    ToolCall(name="write_element", arguments={"element": "7", "text": 'say "a, b (c)"', "submit": False}),
    ToolCall(name="write_element", arguments={"element": "7", "text": "Cote d'Ivoire", "submit": True}),
    ToolCall(name="hover_element", arguments={"element": "7"}),
    ToolCall(name="go_back"),
    ToolCall(name="go_forward"),
    ToolCall(name="press_keys", arguments={"keys": ["Enter"]}),
    ToolCall(name="done", arguments={"answer": "Kingston (Norfolk Island)"}),
]


MIDDLE_CLICK = ToolCall(name="click_element", arguments={"element": "7", "button": "middle"})
ADDED_TEXT = ToolCall(name="write_element", arguments={"element": "7", "text": "more", "clear": False})
TWO_KEYS = ToolCall(name="press_keys", arguments={"keys": ["Tab", "Enter"]})


@pytest.mark.parametrize("speaks", TEXT)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_each_protocol_reads_what_it_writes(speaks, call):
    parsed = protocol(speaks).parse(protocol(speaks).write("why", [call], "kept"))
    assert parsed.error is None
    (read,) = parsed.calls
    assert read.name == call.name
    assert {k: v for k, v in read.arguments.items() if v is not False} == {
        k: v for k, v in call.arguments.items() if v is not False
    }


@pytest.mark.parametrize("speaks", TEXT)
def test_a_call_that_a_protocol_cannot_express_is_refused(speaks):
    for calls in ([ToolCall(name="drag")], [MIDDLE_CLICK], [ADDED_TEXT], [TWO_KEYS], CALLS[:2]):
        with pytest.raises(ValueError, match=speaks.removesuffix("_bare")):
            protocol(speaks).write("", calls)


MIDDLE = {"x": 150, "y": 50}


def test_a_point_names_its_innermost_element_and_an_element_its_middle():
    row, button = Placed("1", "row", "", "", (0, 0, 500, 100)), Placed("2", "button", "ok", "", (100, 20, 200, 80))
    assert under(150, 50, [row, button]) == button
    assert under(300, 50, [row, button]) == row
    assert under(600, 50, [row, button]) is None
    write = ToolCall(name="write_element", arguments={"element": "2", "text": "x", "submit": True})
    assert [(c.name, c.arguments) for c in at_points(write, [row, button])] == [
        ("click", {"x": 150, "y": 50}), ("write", {"text": "x"}), ("press_keys", {"keys": ["Enter"]})
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("click_element", {"button": "right"}, [("click", MIDDLE | {"button": "right"})]),
        ("click_element", {"click_type": "double", "modifiers": "ctrl"},
         [("click", MIDDLE | {"click_type": "double", "modifiers": "ctrl"})]),
        ("write_element", {"text": "x", "clear": False}, [("click", MIDDLE), ("write", {"text": "x", "clear": False})]),
        ("select_option", {"option": "Red"}, [("click", MIDDLE), ("write", {"text": "Red"})]),
        ("hover_element", {}, [("hover", MIDDLE)]),
        ("drag_element", {"to": "2"}, [("drag", {"x1": 150, "y1": 50, "x2": 400, "y2": 60})]),
        ("press_element", {"keys": ["End"]}, [("click", MIDDLE), ("press_keys", {"keys": ["End"]})]),
    ],
)  # fmt: skip
def test_a_call_on_an_element_keeps_its_meaning_on_points(name, arguments, expected):
    seen = [Placed("1", "textbox", "", "", (100, 20, 200, 80)), Placed("2", "button", "ok", "", (300, 20, 500, 100))]
    calls = at_points(ToolCall(name=name, arguments={"element": "1", **arguments}), seen)
    assert [(call.name, call.arguments) for call in calls] == expected
    assert [check_call(call.name, call.arguments).error for call in calls] == [None] * len(calls)


@pytest.mark.parametrize(
    ("calls", "speaks", "said"),
    [
        ([ToolCall(name="click", arguments={"x": 150, "y": 50})], "browseragent", "click(2)"),
        ([ToolCall(name="click", arguments={"x": 150, "y": 50, "button": "right"})], "webagent_r1", '"Right Click"'),
        ([ToolCall(name="click", arguments={"x": 150, "y": 50, "button": "right"})], "browseragent", "stop(N/A)"),
        ([ToolCall(name="click", arguments={"x": 1, "y": 1, "click_type": "double"})], "webagent_r1", 'message="N/A"'),
        ([ToolCall(name="scroll", arguments={"direction": "down", "amount": 1.0, "x": 9, "y": 9})], "browseragent",
         "scroll(down)"),
        ([ToolCall(name="scroll", arguments={"direction": "down", "amount": 1.0, "x": 9, "y": 9})], "webagent_r1",
         '"Scroll Down"'),
        ([ToolCall(name="wait", arguments={"seconds": 1})], "browseragent", "stop(N/A)"),
        ([ToolCall(name="goto_url", arguments={"url": "http://a.test/"})], "webagent_r1", 'message="N/A"'),
        ([ToolCall(name="press_keys", arguments={"keys": ["Tab"]})], "webagent_r1", 'message="N/A"'),
        ([ToolCall(name="click", arguments={"x": 150, "y": 50, "button": "middle"})], "webagent_r1", 'message="N/A"'),
        ([ToolCall(name="click", arguments={"x": 150, "y": 50}),
          ToolCall(name="write", arguments={"text": "more", "clear": False})], "browseragent", "stop(N/A)"),
    ],
)  # fmt: skip
def test_a_step_that_a_protocol_cannot_say_ends_its_own_episode_only(calls, speaks, said):
    class OneStep:
        acts_on = "points"

        def next(self, elements):
            return TeacherTurn("why", calls)

    class Page:
        async def oracle(self):
            return ""

        async def oracle_elements(self):
            return [Placed("1", "row", "", "", (0, 0, 500, 100)), Placed("2", "button", "ok", "", (100, 20, 200, 80))]

    completion = asyncio.run(ScriptedTeacher(Page(), OneStep, speaks).complete(None))
    assert said in completion.text
    assert protocol(speaks).parse(completion.text).error is None


@pytest.mark.parametrize(
    ("name", "arguments"), [("go_forward", {}), ("press_element", {"element": "1", "keys": ["a"]})]
)
def test_a_step_that_points_cannot_say_ends_its_own_episode_only(name, arguments):
    class OneStep:
        acts_on = "elements"

        def next(self, elements):
            return TeacherTurn("why", [ToolCall(name=name, arguments=arguments)])

    class Page:
        async def oracle_elements(self):
            return [Placed("1", "button", "ok", "", (0, 0, 500, 100))]

    completion = asyncio.run(ScriptedTeacher(Page(), OneStep).complete(None))
    assert protocol("openwebrl").parse(completion.text).calls == [GIVE_UP]


class _Points:
    """A teacher that reads a key which a page lacks."""

    acts_on = "points"

    def next(self, elements):
        return {}["price"]


class _Elements(_Points):
    """The same of a teacher that acts on elements."""

    acts_on = "elements"


class _Page:
    """A page whose element list is no list."""

    async def oracle(self):
        return "<html>"

    async def oracle_elements(self):
        return []


class _LostPage:
    """A page that does not answer."""

    async def oracle(self):
        raise EnvError("the page did not answer")


def raised(page, make):
    """What a scripted teacher raises for its first response."""
    with pytest.raises(Exception) as error:
        asyncio.run(ScriptedTeacher(page, make).complete(None))
    return error.value


def test_what_a_teacher_raises_is_contained_in_its_episode():
    failed_turn, failed_parse, failed_making = (
        raised(_Page(), _Elements),
        raised(_Page(), _Points),
        raised(_Page(), [].pop),
    )
    assert str(failed_turn) == "the scripted teacher: KeyError('price')"
    assert "test_scripted.py" in failed_turn.trace
    assert str(failed_parse).startswith("the scripted teacher: ValueError(\"not a line of an element list: '<html>'")
    assert str(failed_making) == "the scripted teacher: IndexError('pop from empty list')"
    assert {type(error) for error in (failed_turn, failed_parse, failed_making)} == {HarnessError}


def test_a_lost_page_and_a_world_without_a_teacher_are_no_bugs():
    assert str(raised(_LostPage(), _Points)) == "the page did not answer"
    without = partial(World.teacher, MiniWoB(MiniWoB.Params()), None)
    assert type(raised(_Page(), without)) is NotSupportedError


def test_a_click_and_the_writing_after_it_are_one_call():
    click, other = (ToolCall(name="click", arguments={"x": x, "y": 2}) for x in (1, 9))
    write = ToolCall(name="write", arguments={"text": "t"})
    fill = ToolCall(name="write", arguments={"x": 1, "y": 2, "text": "t"})
    assert fused([click, write, other]) == [fill, other]
