"""Pages, what a person does on each, and the steps that the recorder is to write down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Page

Act = Callable[[Page], Awaitable[None]]
VALUES = """[...document.querySelectorAll('input, textarea, select')].map((el) =>
  el.type === 'checkbox' || el.type === 'radio' ? el.checked : el.value).join('|')"""
TITLE = "document.title"
REACTION_S = 0.3
LATER_S = REACTION_S + 0.1
OTHER = "<p>The other page</p><button onclick=\"document.title += '!'\">Agree</button>"


@dataclass(frozen=True)
class Case:
    """A page, what a person does on it, the steps, and an expression with the same value after the replay."""

    body: str
    act: Act
    steps: list
    state: str = TITLE
    then: str = ""
    """The value of `state` that shows that the person's action had its effect."""
    remarks: list[str] = field(default_factory=list)


async def click(page: Page, selector: str, **how) -> None:
    """Move the mouse to the middle of an element, as it is now, and click. Playwright scrolls nothing."""
    box = await page.locator(selector).first.bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, **how)
    await page.wait_for_timeout(100)


async def look_and_click(page: Page) -> None:
    await page.wait_for_timeout(1500)  # a person reads a page before the first click
    await click(page, "#a")


async def keys(page: Page, *names: str) -> None:
    for name in names:
        await page.keyboard.press(name)
    await page.wait_for_timeout(100)


async def two_fields(page: Page) -> None:
    await click(page, "#a")
    await page.keyboard.type("Ropr")
    await keys(page, "Backspace", "e", "Tab")
    await page.keyboard.type("12 m")


async def text_of_lines(page: Page) -> None:
    await click(page, "textarea")
    await page.keyboard.type("one")
    await keys(page, "Enter")
    await page.keyboard.type("two")


async def enter_sends(page: Page) -> None:
    await click(page, "input")
    await page.keyboard.type("tea")
    await keys(page, "Enter")


async def chat(page: Page) -> None:
    await click(page, "textarea")
    await page.keyboard.type("hello")
    await keys(page, "Enter")


async def select_by_keys(page: Page) -> None:
    await click(page, "#a")
    await keys(page, "Tab", "C")


async def replace_text(page: Page) -> None:
    await click(page, "[contenteditable]")
    await keys(page, "Control+a")
    await page.keyboard.type("new words")


async def slide(page: Page) -> None:
    await page.keyboard.press("Tab")
    await keys(page, "ArrowRight", "ArrowRight")


async def pick_date(page: Page) -> None:
    await click(page, "#a")
    await keys(page, "Tab")
    await page.keyboard.type("12242026")
    await page.wait_for_timeout(100)


async def scroll_and_click(page: Page) -> None:
    await page.mouse.move(400, 300)
    await page.mouse.wheel(0, 900)
    await page.wait_for_timeout(300)
    await click(page, "#far")


async def type_scroll_type(page: Page) -> None:
    await click(page, "input")
    await page.keyboard.type("Ro")
    await page.mouse.wheel(0, 100)
    await page.wait_for_timeout(300)
    await page.keyboard.type("pe")


async def type_scroll_type_inside(page: Page) -> None:
    await click(page, "textarea")
    await keys(page, "Control+End")
    await page.keyboard.type("one")
    await page.mouse.wheel(0, -20)
    await page.wait_for_timeout(300)
    await page.keyboard.type(" two")
    await click(page, "button")


async def scroll_to_another(page: Page) -> None:
    await page.mouse.move(400, 300)
    await page.mouse.wheel(0, 900)
    await page.wait_for_timeout(300)
    await click(page, "button:nth-of-type(2)")


async def scroll_area(page: Page) -> None:
    await page.mouse.move(50, 50)
    await page.mouse.wheel(0, 500)
    await page.wait_for_timeout(300)
    await click(page, "#far")


async def shortcut(page: Page) -> None:
    await keys(page, "c", "Control+Enter", "Escape")


async def modifiers(page: Page) -> None:
    await click(page, "#twice", click_count=2)
    await click(page, "#right", button="right")


async def script_acts(page: Page) -> None:
    await page.evaluate("document.querySelector('#b').click()")
    await page.evaluate("const a = document.querySelector('#a'); a.value = 'x'; a.dispatchEvent(new Event('input'))")
    await click(page, "#b")


ROW = "<div><a href='#{0}'>{0}</a> <button onclick=\"document.title='{0}'\">Delete</button></div>"
CASES = {
    "typing, one step per field": Case(
        "<label>Name <input id=a></label><label>Length <input id=b></label>",
        two_fields,
        [{"fill": {"field": "Name", "text": "Rope"}}, {"fill": {"field": "Length", "text": "12 m"}}],
        VALUES,
        "Rope|12 m",
    ),
    "lines of a text": Case(
        "<label>Note <textarea></textarea></label>",
        text_of_lines,
        [{"fill": {"field": "Note", "text": "one\ntwo"}}],
        VALUES,
        "one\ntwo",
    ),
    "Enter that sends a form": Case(
        "<form onsubmit=\"document.title = 'sent ' + this.q.value; return false\"><label>Search <input name=q></label>"
        "<button>Go</button></form>",
        enter_sends,
        [{"fill": {"field": "Search", "text": "tea"}}, {"press": ["Enter"]}],
        TITLE,
        "sent tea",
    ),
    "Enter that a page takes from a text": Case(
        "<label>Message <textarea onkeydown=\"if (event.key === 'Enter') { document.title = this.value;"
        " this.value = ''; event.preventDefault(); }\"></textarea></label>",
        chat,
        [{"fill": {"field": "Message", "text": "hello"}}, {"press": ["Enter"]}],
        TITLE,
        "hello",
    ),
    "a select by keys": Case(
        "<label>Name <input id=a></label><label>State <select><option>Open<option>Closed</select></label>",
        select_by_keys,
        [{"click": "field Name"}, {"choose": {"select": "State", "option": "Closed"}}],
        VALUES,
        "|Closed",
    ),
    "a checkbox by its label": Case(
        "<label><input type=checkbox> <b>I agree</b></label>",
        lambda page: click(page, "b"),
        [{"click": "checkbox I agree"}],
        VALUES,
        "true",
    ),
    "a checkbox by the space key": Case(
        "<label><input type=checkbox> I agree</label>",
        lambda page: keys(page, "Tab", "Space"),
        [{"click": "checkbox I agree"}],
        VALUES,
        "true",
    ),
    "a radio button by an arrow": Case(
        "<label><input type=radio name=r> Red</label><label><input type=radio name=r> Blue</label>",
        lambda page: keys(page, "Tab", "ArrowDown"),
        [{"click": "radio Blue"}],
        VALUES,
        "false|true",
    ),
    "a button by Enter": Case(
        "<button onclick=\"document.title = 'saved'\">Save</button>",
        lambda page: keys(page, "Tab", "Enter"),
        [{"click": "button Save"}],
        TITLE,
        "saved",
    ),
    "what only a listener makes a control": Case(
        "<div id=a style='border:1px solid'>Save</div><div style='border:1px solid'>Text</div>"
        "<script>a.addEventListener('click', () => { document.title = 'saved'; })</script>",
        look_and_click,
        [{"click": "button Save"}],
        TITLE,
        "saved",
    ),
    "a link": Case(
        "<a href=/other>Details</a>", lambda page: click(page, "a"), [{"click": "link Details"}], TITLE, "other"
    ),
    "one of many buttons, after the name of its row": Case(
        "".join(ROW.format(name) for name in ("Ada", "Ben", "Cy")),
        lambda page: click(page, "div:nth-of-type(2) button"),
        [{"click": {"role": "button", "name": "Delete", "after": "Ben"}}],
        TITLE,
        "Ben",
    ),
    "scrolling that the oracle does by itself": Case(
        "<div style='height:600px'>text</div><a href=/other>Half</a><div style='height:600px'>text</div>"
        "<button id=far onclick=\"document.title = 'far'\">Far</button>",
        scroll_and_click,
        [{"click": "button Far"}],
        TITLE,
        "far",
    ),
    "typing on after scrolling the page": Case(
        "<label>Name <input></label><div style='height:2000px'></div>",
        type_scroll_type,
        [{"fill": {"field": "Name", "text": "Rope"}}],
        VALUES,
        "Rope",
    ),
    "typing on after scrolling the text": Case(
        "<label>Note <textarea style='height:40px; line-height:20px; padding:0'></textarea></label>"
        "<button onclick=\"document.title = 'saved'\">Save</button>"
        "<script>const note = document.querySelector('textarea'); note.value = 'a\\nb\\nc\\nd\\n';</script>",
        type_scroll_type_inside,
        [
            {"fill": {"field": "Note", "text": "a\nb\nc\nd\none two"}},
            {"scroll": {"direction": "up", "amount": 0.5, "over": "field Note"}},
            {"click": "button Save"},
        ],
        f"{VALUES} + {TITLE}",
        "a\nb\nc\nd\none twosaved",
    ),
    "scrolling to one of several alike": Case(
        "<button onclick=\"document.title = 'near'\">Edit</button><div style='height:1300px'></div>"
        "<button onclick=\"document.title = 'far'\">Edit</button>",
        scroll_to_another,
        [{"scroll": {"direction": "down", "amount": 1.24}}, {"click": "button Edit"}],
        TITLE,
        "far",
    ),
    "scrolling in an area": Case(
        "<div style='height:100px; overflow:auto'><button>Top</button><div style='height:400px'></div>"
        "<button id=far onclick=\"document.title = 'inner'\">Inner</button></div>",
        scroll_area,
        [{"scroll": {"direction": "down", "amount": 3.42, "over": "button Top"}}, {"click": "button Inner"}],
        TITLE,
        "inner",
    ),
    "keys outside of fields": Case(
        "<script>addEventListener('keydown', (event) => { document.title += (event.ctrlKey ? '^' : '') + event.key; })"
        "</script>",
        shortcut,
        [{"press": ["c"]}, {"press": ["Control+Enter"]}, {"press": ["Escape"]}],
        "document.title.replace('^Control', '')",
        "a pagec^EnterEscape",
    ),
    "a double click and a right click": Case(
        "<button id=twice ondblclick=\"document.title += '2'\">Twice</button>"
        "<button id=right oncontextmenu=\"document.title += 'r'; return false\">Right</button>",
        modifiers,
        [
            {"click": {"role": "button", "name": "Twice", "click_type": "double"}},
            {"click": {"role": "button", "name": "Right", "button": "right"}},
        ],
        TITLE,
        "a page2r",
    ),
    "an editor": Case(
        "<div contenteditable aria-label=Body>old</div>",
        replace_text,
        [{"fill": {"field": "Body", "text": "new words"}}],
        "document.querySelector('[contenteditable]').innerText.trim()",
        "new words",
    ),
    "a slider": Case(
        "<label>Volume <input type=range min=0 max=10 value=5></label>",
        slide,
        [{"fill": {"field": "Volume", "role": "slider", "text": "7"}}],
        VALUES,
        "7",
    ),
    "a date": Case(
        "<label>Name <input id=a></label><label>Due <input type=date></label>",
        pick_date,
        [{"click": "field Name"}, {"fill": {"field": "Due", "text": "2026-12-24"}}],
        VALUES,
        "|2026-12-24",
    ),
    "an element in a shadow root": Case(
        "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML ="
        " '<button onclick=\"document.title = 1\">Inside</button>'</script>",
        lambda page: click(page, "#host button"),
        [{"click": "button Inside"}],
        TITLE,
        "1",
    ),
    "an element in a frame": Case(
        "<iframe srcdoc=\"<button onclick='top.document.title = 2'>Framed</button>\"></iframe>",
        lambda page: page.mouse.click(45, 25),
        [{"click": "button Framed"}],
        TITLE,
        "2",
    ),
    "what a script does is not a person's": Case(
        "<label>Name <input id=a></label><button id=b onclick=\"document.title += 'b'\">Save</button>",
        script_acts,
        [{"click": "button Save"}],
        "document.title.slice(-1)",
        "b",
    ),
    "a click on nothing": Case(
        "<p id=plain>Only words</p>",
        lambda page: click(page, "#plain"),
        [],
        TITLE,
        "a page",
        ["A click on <p> was left out: it is in no line of the element list."],
    ),
}
