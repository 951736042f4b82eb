"""The clipboard belongs to one episode: it works as a user expects there, and no other episode sees it."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool, check_call

from .conftest import PARAMS, task

FIELDS = """<input id=one value="{text}" autofocus><input id=two>
<div id=rich contenteditable>some <b>bold</b> text</div>
<button id=api onclick="navigator.clipboard.writeText('by the page')">Copy</button>
<button id=command onclick="one.select(); document.execCommand('copy')">Copy</button>
<script>
window.log = [];
for (const type of ['copy', 'cut', 'paste'])
  addEventListener(type, (event) => log.push(type + ':' + event.clipboardData.getData('text/plain')));
</script>"""


def keys(*names):
    """A call of `press_keys`."""
    return check_call("press_keys", {"keys": list(names)})


async def press(session, element, *names):
    """Focus an element of the page and press keys."""
    await session.page.evaluate(f"{element}.focus()")
    return (await session.step([keys(name) for name in names])).feedback


@pytest.fixture
def act(pages, visit):
    """Runs `body(session)` on the page of fields."""

    def run(body):
        async def steps(session, _):
            return await body(session)

        return visit(pages.add("/fields", FIELDS.format(text="tent")), steps)

    return run


@pytest.mark.slow
def test_two_concurrent_episodes_do_not_share_a_clipboard(pages):
    secret = pages.add("/secret", FIELDS.format(text="SECRET"))
    other = pages.add("/other", FIELDS.format(text="mine"))

    async def episodes():
        async with BrowserPool(PARAMS) as pool, pool.session() as first, pool.session() as second:
            await asyncio.gather(first.start(task(secret)), second.start(task(other)))
            await press(first, "one", "ctrl+a", "ctrl+c")
            await press(second, "two", "ctrl+v")
            assert await second.page.evaluate("[two.value, log]") == ["", ["paste:"]]
            await press(second, "one", "ctrl+a", "ctrl+c")
            await press(first, "two", "ctrl+v")
            await press(second, "two", "shift+insert")
            assert await first.page.evaluate("two.value") == "SECRET"
            assert await second.page.evaluate("two.value") == "mine"

    asyncio.run(episodes())


@pytest.mark.slow
def test_frames_of_another_site_do_not_share_a_clipboard_either(pages, separate_renderers):
    """They are in renderers of their own."""
    inner = pages.add("/inner-fields", FIELDS.format(text="SECRET")).replace("127.0.0.1", "localhost")
    page = pages.add(
        "/framed-fields", f"<iframe src='{inner}' style='width:600px;height:400px'></iframe><input id=out>"
    )

    async def copied(session):
        await session.page.frames[1].locator("#one").select_text()
        await session.step([keys("ctrl+c")])

    async def pasted(session):
        await session.page.frames[1].locator("#two").focus()
        await session.step([keys("ctrl+v")])
        return await session.page.frames[1].evaluate("two.value")

    async def episodes():
        async with BrowserPool(PARAMS) as pool, pool.session() as first, pool.session() as second:
            await asyncio.gather(first.start(task(page)), second.start(task(page)))
            await copied(first)
            assert await pasted(second) == ""
            assert await pasted(first) == "SECRET"
            await press(first, "out", "ctrl+v")
            assert await first.page.evaluate("out.value") == "SECRET"

    asyncio.run(episodes())


def test_an_episode_finds_nothing_that_the_one_before_copied(pages, visit):
    async def copy(session, _):
        await press(session, "one", "ctrl+a", "ctrl+c")

    async def paste(session, _):
        await press(session, "two", "ctrl+v")
        return await session.page.evaluate("two.value")

    url = pages.add("/fields", FIELDS.format(text="tent"))
    visit(url, copy)
    assert visit(url, paste) == ""


def test_text_is_cut_and_pasted_with_the_events_of_a_user(act):
    async def body(session):
        await press(session, "one", "ctrl+a", "ctrl+x")
        await press(session, "two", "ctrl+v", "ctrl+v")
        return await session.page.evaluate("[one.value, two.value, log]")

    assert act(body) == ["", "tenttent", ["cut:", "paste:tent", "paste:tent"]]


def test_formatted_text_keeps_its_format(act):
    async def body(session):
        await press(session, "rich", "ctrl+a", "ctrl+x")
        emptied = await session.page.evaluate("rich.innerText.trim()")
        await press(session, "rich", "ctrl+v")
        await press(session, "two", "ctrl+v")
        return emptied, *await session.page.evaluate("[rich.querySelector('b')?.innerText, two.value]")

    assert act(body) == ("", "bold", "some bold text")


def test_what_is_copied_survives_a_navigation_and_another_tab(pages, act):
    next_page = pages.add("/next", FIELDS.format(text=""))

    async def body(session):
        await press(session, "one", "ctrl+a", "ctrl+c")
        await session.step([check_call("new_tab", {}), check_call("goto_url", {"url": next_page})])
        await press(session, "two", "ctrl+v")
        return await session.page.evaluate("two.value")

    assert act(body) == "tent"


@pytest.mark.parametrize(("button", "text"), [("api", "by the page"), ("command", "tent")])
def test_a_copy_button_fills_the_clipboard_of_its_episode(act, button, text):
    async def body(session):
        box = await session.page.locator(f"#{button}").bounding_box()
        point = {"x": (box["x"] + box["width"] / 2) / 0.8, "y": (box["y"] + box["height"] / 2) / 0.6}
        await session.step([check_call("click", point)])
        await press(session, "two", "ctrl+v")
        return await session.page.evaluate("two.value")

    assert act(body) == text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_frame_copies_and_pastes_too(pages, visit, host):
    inner = pages.add("/inner", FIELDS.format(text="inside")).replace("127.0.0.1", host)

    async def body(session, _):
        frame = session.page.frames[1]
        await session.step([check_call("click", {"x": 300, "y": 350})])  # outside of the fields
        await frame.locator("#one").select_text()
        await session.step([keys("ctrl+c")])
        await frame.locator("#two").focus()
        await session.step([keys("ctrl+v")])
        return await frame.evaluate("two.value")

    url = pages.add(f"/outer-{host}", f"<iframe src='{inner}' style='width:600px;height:400px'></iframe>")
    assert visit(url, body) == "inside"


def test_a_page_that_handles_copy_and_paste_has_its_way(pages, visit):
    body = """<input id=one value=plain autofocus><input id=two><script>
      one.oncopy = (event) => { event.clipboardData.setData('text/plain', 'its own'); event.preventDefault(); };
      two.onpaste = (event) => {
        two.value = `[${event.clipboardData.getData('text/plain')}]`;
        event.preventDefault();
      };
    </script>"""

    async def steps(session, _):
        await press(session, "one", "ctrl+a", "ctrl+c")
        await press(session, "two", "ctrl+v")
        return await session.page.evaluate("two.value")

    assert visit(pages.add("/own", body), steps) == "[its own]"


@pytest.mark.parametrize(("kind", "value"), [("email", "ada@example.org"), ("number", "42")])
def test_a_field_that_does_not_tell_its_selection_is_copied_and_cut(pages, visit, kind, value):
    async def steps(session, _):
        await press(session, "one", "ctrl+a", "ctrl+c")
        await press(session, "two", "ctrl+v")
        copied = await session.page.evaluate("two.value")
        await press(session, "one", "ctrl+a", "ctrl+x")
        await press(session, "two", "ctrl+v")
        return copied, await session.page.evaluate("[one.value, two.value]")

    body = f"<input id=one type={kind} value={value} autofocus><input id=two>"
    assert visit(pages.add(f"/{kind}", body), steps) == (value, ["", value * 2])


def test_a_password_is_not_copied(pages, visit):
    async def steps(session, _):
        await press(session, "one", "ctrl+a", "ctrl+c")
        await press(session, "two", "ctrl+v")
        return await session.page.evaluate("two.value")

    assert visit(pages.add("/login", "<input id=one type=password value=lace autofocus><input id=two>"), steps) == ""
