"""File choosers: the next `write` names files of the folder that the recipe allows, and no others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from components.browser import BrowserPool, check_call
from components.browser.uploads import Uploads

from .conftest import PARAMS, task
from .test_isolation import OurSite

PLACE = "position:absolute;left:300px;top:250px;width:200px;height:100px"
CLICK = ("click", {"x": 500, "y": 500})
CONTENT = "Promise.all([...field.files].map(async (file) => file.name + '=' + await file.text()))"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "files"
    (root / "photos").mkdir(parents=True)
    for name in ("a.txt", "b.csv", ".hidden", "photos/tent.png"):
        (root / name).write_text(f"content of {name}")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


@pytest.fixture
def choose(pages, folder):
    """Runs calls on a body of HTML; returns the lines of feedback and what the field `field` holds."""

    def run(body, *calls):
        async def episode():
            async with (
                BrowserPool(PARAMS.model_copy(update={"uploads": str(folder)})) as pool,
                pool.session() as session,
            ):
                await session.start(task(pages.add("/upload", body)))
                result = await session.step([check_call(name, arguments) for name, arguments in calls])
                return result.feedback, await session.page.evaluate(CONTENT)

        return asyncio.run(episode())

    return run


def write(text):
    """A call of `write`."""
    return ("write", {"text": text})


ONE = f"<input type=file id=field style='{PLACE}'>"
FILES = 'The files are "a.txt", "b.csv", "photos/tent.png".'


def test_a_click_names_the_files_and_write_chooses_one(choose):
    lines, files = choose(ONE, CLICK, write("a.txt"))
    assert lines[0].endswith(f"The page asks for a file: `write` its name. {FILES}")
    assert lines[1] == 'Succeed: `write` chose "a.txt". The page changed.'
    assert files == ["a.txt=content of a.txt"]


def test_several_files_are_named_one_per_line(choose):
    lines, files = choose(ONE.replace("id=", "multiple id="), CLICK, write("b.csv\nphotos/tent.png"))
    assert "The page asks for files: `write` their names, one per line." in lines[0]
    assert files == ["b.csv=content of b.csv", "tent.png=content of photos/tent.png"]


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["../secret.txt", "link.txt", ".hidden", "/etc/passwd", "photos", "", "a.txt\nb.csv"])
def test_other_files_are_refused_and_the_chooser_stays_open(choose, name):
    lines, files = choose(ONE, CLICK, write(name), write("a.txt"))
    assert lines[1].startswith("Failed: `write` execution failed: ")
    assert files == ["a.txt=content of a.txt"]


def test_a_button_that_opens_a_chooser_is_answered_too(choose):
    body = f"<input type=file id=field hidden><button style='{PLACE}' onclick='field.click()'>Upload</button>"
    assert choose(body, CLICK, write("a.txt"))[1] == ["a.txt=content of a.txt"]


def test_another_call_closes_the_chooser(choose):
    lines, files = choose(ONE, CLICK, ("press_keys", {"keys": ["a"]}), write("a.txt"))
    assert files == []
    assert lines[2].startswith("Failed: `write`")
    assert "click it first" in lines[2]


def test_a_missing_folder_is_refused_before_a_browser_starts(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"browser\.uploads: .*none is no folder"):
        BrowserPool(PARAMS.model_copy(update={"uploads": str(tmp_path / "none")}))


def test_a_long_folder_is_listed_in_part(tmp_path):
    for index in range(25):
        (tmp_path / f"{index:02}.txt").touch()
    assert Uploads(tmp_path).listing().endswith('"19.txt" and 5 more')


PICKER = f"<button style='{PLACE}' onclick='showOpenFilePicker()'>Pick</button><input type=file id=field hidden>"


def test_a_picker_without_an_input_is_noted_and_opens_no_chooser(choose):
    lines, files = choose(PICKER, CLICK, write("a.txt"))
    assert lines[0].endswith("The page asked for a file; there are none to choose.")
    assert lines[1].startswith("Failed: `write`")
    assert files == []


LEAVING = ONE.replace("id=", "onclick=\"setTimeout(() => location.href = '/left', 500)\" id=")
DETACHED = """
let field = document.createElement('input');
Object.assign(field, { type: 'file', onchange: ({ target }) => document.title = target.files[0].name });
field.click(); field = null"""


@pytest.mark.slow
def test_another_document_closes_the_chooser(choose, pages):
    pages.add("/left", f"<input id=field type=file style='{PLACE}'>")
    lines, files = choose(LEAVING, CLICK, ("wait", {"seconds": 2}), write("a.txt"))
    assert lines[2].startswith("Failed: `write`")
    assert files == []


@pytest.fixture
def turns(pages, folder):
    """Runs `await body(session)` on a page of HTML; returns its result."""

    def run(html, body):
        async def episode():
            params = PARAMS.model_copy(update={"uploads": str(folder)})
            async with BrowserPool(params) as pool, pool.session() as session:
                await session.start(task(pages.add("/upload", html)))
                return await body(session)

        return asyncio.run(episode())

    return run


def test_an_input_in_no_document_is_held_until_write(turns):
    async def body(session):
        await session.step([check_call(*CLICK)])
        await session.tabs.active.command("HeapProfiler.collectGarbage")
        return await session.step([check_call(*write("a.txt"))])

    result = turns(f'<button style="{PLACE}" onclick="{DETACHED}">Upload</button>', body)
    assert result.feedback[0].startswith('Succeed: `write` chose "a.txt".')
    assert result.observation.tabs[0].title == "a.txt"


def test_a_chooser_whose_input_is_gone_fails_with_a_sentence(turns):
    async def body(session):
        await session.step([check_call(*CLICK)])
        assert session.tabs.active.notices.chooser is not None
        session.tabs.active.notices.chooser = replace(session.tabs.active.notices.chooser, node=10**6)
        return await session.step([check_call(*write("a.txt"))])

    assert turns(ONE, body).feedback == [
        "Failed: `write` execution failed: the input that asked for a file is gone; click again what asks for it."
    ]


def test_a_chooser_does_not_reach_the_next_episode(pages, folder):
    async def episodes():
        pages.add("/jar", ONE + "<input autofocus aria-label=Name>")
        params = PARAMS.model_copy(update={"uploads": str(folder), "concurrency": 1})
        async with BrowserPool(params, site=OurSite(pages.port)) as pool:
            for calls in ([CLICK], [write("hello")]):
                async with pool.session() as session:
                    await session.start(task("http://ours/jar"))
                    result = await session.step([check_call(*call) for call in calls])
            return result.feedback

    assert asyncio.run(episodes()) == ['Succeed: `write` typed "hello" into <input> "Name".']
