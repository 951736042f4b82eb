"""Recorded oracles: a person does tasks of a real application in a headless browser, and the steps are replayed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml
from playwright.async_api import Page

from components.browser import Listed, SandboxError
from components.browser.person_input import PersonEvent
from components.cli import main
from components.params import BrowserParams
from components.records import StateCheck, Task
from components.worlds import NotSupportedError, world_class
from components.worlds.own_site import OwnSite, OwnSiteError, read_site
from components.worlds.own_site.recording.naming import Name, name_of
from components.worlds.own_site.recording.parameters import with_fields
from components.worlds.own_site.recording.recording import steps_text
from components.worlds.own_site.recording.transcription import Transcription
from components.worlds.own_site.site import OwnEpisode, OwnPages
from components.worlds.own_site.texts import formatted
from components.worlds.recorded import Recorded
from tests.worlds.own_site.packages import Change, changed
from tests.worlds.own_site.recorder_cases import click

ROOT = Path(__file__).parents[3]


def without_oracles(site: dict) -> None:
    for task in site["tasks"].values():
        del task["oracle"]


def reread(world: OwnSite, written: Path, change: Change) -> OwnSite:
    """The world after a change of its `site.yaml`."""
    folder = changed(written, change)
    kind = type(world)
    return type("Changed", (kind,), {"definition": read_site(folder)})(world.params)


def recorded(world: OwnSite, family: str, act: Callable[[Page, Task], Awaitable[str]], number: int = 1) -> Recorded:
    async def ask(task: Task, page: Page) -> str:
        answer = await act(page, task)
        await asyncio.sleep(0.3)
        return answer

    params = BrowserParams(concurrency=1, quiet_ms=60, settle_ms=1500)
    return asyncio.run(world.record(family, number, params, ask, headed=False))


def title_of(task: Task) -> str:
    return task.intent.split('"')[1]


async def add_item(page: Page, task: Task) -> str:
    await click(page, "input")
    await page.keyboard.type(title_of(task))
    await page.keyboard.press("Enter")
    return ""


async def finish_item(page: Page, task: Task) -> str:
    await click(page, f'[aria-label="Done with {title_of(task)}"]')
    return ""


@pytest.mark.slow
def test_a_recorded_task_is_done_again_and_its_file_is_read(world: OwnSite, written: Path) -> None:
    world = reread(world, written, without_oracles)
    record = recorded(world, "add_item", add_item)
    assert record.text == "- fill: {field: New item, text: '{title}'}\n- press: [Enter]\n"
    assert record.person is not None
    assert (record.person.reward, record.replay.reward, [other.reward for other in record.others]) == (1, 1, [1])
    assert (record.remarks, record.advice) == ([], [])
    assert record.file == written / "waymark_notes/oracles/add_item.yaml"
    template = read_site(written / "waymark_notes").tasks["add_item"]
    assert template.oracle == [{"fill": {"field": "New item", "text": "{title}"}}, {"press": ["Enter"]}]


@pytest.mark.slow
def test_an_oracle_that_is_there_stays_and_the_steps_are_shown(world: OwnSite) -> None:
    record = recorded(world, "finish_item", finish_item)
    assert record.text == "- click: 'button Done with {item[title]}'\n"
    assert record.file is None
    assert record.advice == [
        "finish_item has an oracle already, which stays. To use the new one, put its steps in the old ones' place."
    ]


@pytest.mark.slow
def test_a_recording_whose_replay_fails_says_so_and_is_not_read(world: OwnSite, written: Path) -> None:
    async def by_script(page: Page, task: Task) -> str:
        body = "new URLSearchParams({title: '" + title_of(task) + "'})"
        await page.evaluate(f"fetch('/add', {{method: 'POST', body: {body}}})")
        return ""

    record = recorded(reread(world, written, without_oracles), "add_item", by_script)
    assert record.person is not None
    assert (record.person.reward, record.replay.reward) == (1, 0)
    assert record.replay.reasons[0].startswith("missing: 1 row added to item (done 0, person kim")
    file = written / "waymark_notes/oracles/add_item.failed.yaml"
    assert record.file == file
    assert record.advice == [
        f"Correct the steps in {file}, name the file add_item.yaml, and type `waymark world check`."
    ]
    assert read_site(written / "waymark_notes").tasks["add_item"].oracle is None


@pytest.mark.slow
def test_steps_that_name_what_only_one_task_has_are_reported(world: OwnSite, written: Path) -> None:
    def by_number(site: dict) -> None:
        without_oracles(site)
        task = site["tasks"]["finish_item"]
        task["intent"] = "Tick off the item {item}."
        task["parameters"] = {"item": {"sql": "SELECT id FROM item WHERE done = 0 AND id < 4 ORDER BY id"}}
        task["effects"] = [{"changed": "item", "where": {"id": "{item}"}, "to": {"done": 1}}]

    async def act(page: Page, task: Task) -> str:
        await click(page, f'button[value="{task.intent.split()[-1].rstrip(".")}"]')
        return ""

    record = recorded(reread(world, written, by_number), "finish_item", act)
    assert (record.replay.reward, [other.reward for other in record.others]) == (1, [0])
    assert record.advice == [
        f"The steps do {record.replay.task_id} only: where they name something of this task alone, write a parameter "
        "(item) in braces."
    ]


@pytest.mark.slow
def test_a_wrong_answer_of_the_person_is_named(world: OwnSite) -> None:
    async def act(page: Page, task: Task) -> str:
        return "70"

    record = recorded(world, "count_open", act)
    assert record.person is not None
    assert record.person.reward == 0
    assert record.person.reasons[0].startswith('the answer "70" is not right: the rule expects one such as "')
    assert (record.text, record.replay.reward) == ("[]\n", 1)


def test_without_a_display_the_command_says_what_to_do(
    world: OwnSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main.main(["world", "record", "waymark_notes:KIND", "count_open"]) == 1
    assert "run it in a desktop session or under `xvfb-run`" in capsys.readouterr().err


def test_without_chromium_the_check_of_tasks_says_what_to_do(
    world: OwnSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAYMARK_CHROMIUM", "/no/such/browser")
    assert main.main(["world", "check", "waymark_notes:KIND", "count_open"]) == 1
    assert "WAYMARK_CHROMIUM=/no/such/browser is not an executable file" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_asks_on_the_terminal_and_prints_verdicts(world: OwnSite, written: Path, tmp_path: Path) -> None:
    answer = world.templates().instances("count_open", 1, 1)[0].answer["number"]
    program = "import sys; from components.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "world", "record", "waymark_notes:KIND", "count_open", "--headless"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{written}"}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, input=f"{answer}\n", capture_output=True, text=True, timeout=240
    )
    assert run.returncode == 0, run.stderr
    assert "notes/count_open/1: How many things" in run.stdout
    assert "What you did: reward 1\nThe steps, replayed on a fresh copy: reward 1\n" in run.stdout


def test_a_task_that_does_not_exist_is_named_before_a_browser_starts(world: OwnSite) -> None:
    async def ask(task: Task, page: Page) -> str:
        raise AssertionError

    with pytest.raises(OwnSiteError, match="no task 'ad_item'; it has add_item, finish_item, count_open"):
        asyncio.run(world.record("ad_item", 1, BrowserParams(), ask))
    with pytest.raises(OwnSiteError, match="add_item has the tasks 1 to 12: name one of them with --task, not 13"):
        asyncio.run(world.record("add_item", 13, BrowserParams(), ask))
    live = world_class("live")
    with pytest.raises(NotSupportedError, match="the world live takes no recorded oracles"):
        asyncio.run(live(live.Params()).record("any", 1, BrowserParams(), ask))


def line(role: str, name: str) -> Listed:
    return Listed(role, name, "", frozenset(), 0, 0)


@pytest.mark.parametrize(
    ("lines", "at", "counts", "name"),
    [
        (["button Save"], 0, {"button Save": 1}, Name("button", "Save")),
        (
            ["link A", "button Edit", "link B", "button Edit", "button Edit"],
            4,
            {"link A": 1, "link B": 1, "button Edit": 3},
            Name("button", "Edit", "B", 1),
        ),
        (
            ["link A", "button Edit", "link A", "button Edit"],
            3,
            {"link A": 2, "button Edit": 2},
            Name("button", "Edit", "", 1, True),
        ),
        (["button Edit"], 0, {"button edit": 1, "button Edit": 1}, Name("button", "Edit", "", 0, True)),
    ],
)
def test_an_element_is_named_so_that_it_can_be_told_from_others(lines, at, counts, name) -> None:
    listed = [line(*text.split(" ", 1)) for text in lines]
    assert name_of(listed, at, counts) == name


LONG = "A very long title of a thing that goes on and on without an end in sight"


@pytest.mark.parametrize(
    ("facts", "text", "expected"),
    [
        ({"title": "Buy bread"}, "Buy bread", "{title}"),
        ({"item": {"id": 7, "title": "Oil"}}, "Done with Oil (7)", "Done with {item[title]} ({item[id]})"),
        ({"a": "tea", "b": "green tea"}, "green tea, not tea", "{b}, not {a}"),
        ({"a": "tea"}, "steam", "steam"),
        ({"n": 3}, "page 13 of 3", "page 13 of {n}"),
        ({"a": "tea"}, "{tea} ${x}", "{{{a}}} ${{x}}"),
        ({"title": LONG}, f"{LONG[:57]}...", "{title:.57}*"),
        ({"title": LONG}, f"Done with {LONG[:47]}...", "Done with {title:.47}*"),
    ],
)
def test_parameters_take_the_place_of_their_values(facts, text, expected) -> None:
    assert with_fields([{"click": f"button {text}"}], facts) == [{"click": f"button {expected}"}]
    assert formatted(expected, facts).rstrip("*") == text.removesuffix("...")


def test_words_that_are_no_texts_are_not_taken_for_parameters() -> None:
    facts = {"way": "down", "kind": "button", "key": "Enter", "tool": "Control", "side": "right", "twice": "double"}
    steps = [
        {"scroll": {"direction": "down", "amount": 0.5, "over": "button down"}},
        {"click": "button button"},
        {"click": {"role": "button", "name": "right", "after": "down", "button": "right", "modifiers": ["Control"]}},
        {"click": {"role": "button", "name": "A", "click_type": "double"}},
        {"fill": {"field": "Enter", "role": "button", "text": "double"}},
        {"choose": {"select": "right", "option": "Control", "number": 1}},
        {"press": ["Enter", "{"]},
        {"goto": "/button"},
        {"back": None},
    ]
    written = with_fields(steps, facts)
    assert written == [
        {"scroll": {"direction": "down", "amount": 0.5, "over": "button {way}"}},
        {"click": "button {kind}"},
        {"click": {"role": "button", "name": "{side}", "after": "{way}", "button": "right", "modifiers": ["Control"]}},
        {"click": {"role": "button", "name": "A", "click_type": "double"}},
        {"fill": {"field": "{key}", "role": "button", "text": "{twice}"}},
        {"choose": {"select": "{side}", "option": "{tool}", "number": 1}},
        {"press": ["Enter", "{{"]},
        {"goto": "/{kind}"},
        {"back": None},
    ]
    assert [formatted(step, facts) for step in written] == steps


def event(kind: str, text: str = "", lines: str | None = None, line: int = -1) -> PersonEvent:
    return PersonEvent(kind=kind, text=text, lines=lines, line=line)


FIELD = '- field "Name" 10 20'
SCROLL = PersonEvent(kind="scroll", amount=0.5)


def test_a_text_goes_on_after_scrolling() -> None:
    for further in (event("write", "Rope"), event("write", "Rope", FIELD, 0)):
        transcription = Transcription()
        for heard in (event("write", "Ro", FIELD, 0), SCROLL, SCROLL, further, event("press")):
            transcription.hear(heard)
        assert transcription.steps() == [{"fill": {"field": "Name", "text": "Rope"}}, {"press": [""]}]
        assert transcription.remarks == []


def test_a_text_that_no_step_has_is_said() -> None:
    transcription = Transcription()
    for heard in (event("write", "Ro", FIELD, 0), event("press"), event("write", "Rope")):
        transcription.hear(heard)
    (remark,) = transcription.remarks
    assert remark.startswith('What was typed in the field "Name" after step 2 was left out')


def test_a_field_in_no_line_leaves_the_text_of_another_alone() -> None:
    transcription = Transcription()
    for heard in (event("write", "Rope", FIELD, 0), event("write", "x", FIELD), event("write", "xy")):
        transcription.hear(heard)
    assert transcription.steps() == [{"fill": {"field": "Name", "text": "Rope"}}]
    assert len(transcription.remarks) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SandboxError, OwnSiteError])
def test_an_error_of_the_check_leaves_the_recording(
    world: OwnSite, written: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    async def fail(episode: OwnEpisode, answer: str | None) -> StateCheck:
        raise kind("verify ended with status 3")

    monkeypatch.setattr(OwnEpisode, "check_state", fail)
    record = recorded(reread(world, written, without_oracles), "add_item", add_item)
    assert record.person is not None
    assert (record.person.reward, record.replay.reward) == (0, 0)
    assert record.person.reasons == ("the rule cannot be checked: verify ended with status 3",)
    assert "verify ended with status 3" in record.replay.reasons[0]
    file = written / "waymark_notes/oracles/add_item.failed.yaml"
    assert record.file == file
    assert yaml.safe_load(file.read_text()) == [
        {"fill": {"field": "New item", "text": "{title}"}},
        {"press": ["Enter"]},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["start", "begin"])
def test_a_replay_that_cannot_begin_leaves_the_recording(
    world: OwnSite, written: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    async def add_and_break(page: Page, task: Task) -> str:
        async def fail(pages: OwnPages, *arguments: object) -> None:
            raise OwnSiteError("the site does not start")

        monkeypatch.setattr(OwnPages, place, fail)
        return await add_item(page, task)

    record = recorded(reread(world, written, without_oracles), "add_item", add_and_break)
    assert record.person is not None
    assert (record.person.reward, record.replay.reward) == (1, 0)
    assert "the site does not start" in record.replay.reasons[0]
    assert record.file == written / "waymark_notes/oracles/add_item.failed.yaml"


def test_steps_are_written_as_yaml_that_reads_the_same() -> None:
    field = {"field": "", "text": "a\nb # {{x}}"}
    steps = [{"click": "button Yes: all"}, {"fill": field}, {"press": ["Enter"]}, {"back": None}]
    assert yaml.safe_load(steps_text(steps)) == steps
    assert yaml.safe_load(steps_text([])) == []
