"""Editors: write, clear and append in small imitations of those that applications use, by a point and by an id.

`tests/applications/test_editors.py` does the same in the real ones.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from components.browser import ALL_TOOLS, BrowserPool, check_call
from tests.browser.conftest import PARAMS, task

PLACE = "position:absolute;left:200px;top:200px;width:400px;height:200px;border:1px solid"
CLICK = ("click", {"x": 500, "y": 400})

EDITABLE = f"<div id=box contenteditable role=textbox style='{PLACE}'><p>old <b>text</b></p><p>more</p></div>"

# As in Draftail and ProseMirror: the page cancels the browser's editing and keeps a text of its own.
CONTROLLED = (
    f"<div id=box contenteditable role=textbox style='{PLACE};white-space:pre-wrap'></div>"
    """<script>
let text = 'old text', whole = false;
const draw = () => { box.textContent = text; const end = document.createRange(); end.selectNodeContents(box);
  end.collapse(false); getSelection().removeAllRanges(); getSelection().addRange(end); };
draw();
box.onkeydown = (event) => {
  const chord = event.ctrlKey && event.key === 'a';
  if (chord) whole = true;
  else if (event.key === 'Delete' && whole) [text, whole] = ['', false];
  else if (event.key === 'Enter') text += '\\n';
  else { if (event.key.length === 1) whole = false; return; }
  event.preventDefault();
  draw();
};
box.addEventListener('beforeinput', (event) => { event.preventDefault(); text += event.data || ''; draw(); });
</script>"""
)

# As where a framework draws in a later task.
LATE = CONTROLLED.replace("draw(); });", "setTimeout(draw, 80); });")
assert LATE != CONTROLLED

# As in CodeMirror 5 (EasyMDE) and Ace: an invisible textarea takes the keys, and the page draws the text.
HIDDEN = (
    f"<div id=box style='{PLACE};cursor:text'><div style='overflow:hidden;position:relative;width:3px;height:0'>"
    "<textarea id=keys style='position:absolute;bottom:-1em;width:1000px;height:1em'></textarea></div>"
    "<pre id=drawn></pre></div>"
    """<script>
let text = 'old text', whole = false;
const draw = () => { drawn.textContent = text; };
draw();
box.onmousedown = (event) => { event.preventDefault(); keys.focus(); };
keys.onkeydown = (event) => {
  if (event.ctrlKey && event.key === 'a') whole = true;
  else if (event.key === 'Delete' && whole) [text, whole] = ['', false];
  else if (event.key === 'Enter') text += '\\n' + (text.split('\\n').at(-1).match(/^ */)[0]); // it indents
  else return;
  event.preventDefault();
  draw();
};
keys.oninput = () => { if (whole) text = ''; whole = false; text += keys.value; keys.value = ''; draw(); };
</script>"""
)

# As in Monaco: each character that comes from the keys, or all at once from an input method, may bring others with it.
COMPLETING = (
    f"<form><label for=kept>Notes:</label><textarea id=kept style='display:none'></textarea>"
    f"<div id=box style='{PLACE};cursor:text'>"
    "<div style='overflow:hidden;position:relative;width:3px;height:0'>"
    "<textarea id=keys style='position:absolute;bottom:-1em;width:1000px;height:1em'></textarea></div>"
    "<pre id=drawn style='white-space:pre-wrap;margin:0;height:100%'></pre></div></form>"
    """<script>
let text = 'old text', after = '', whole = false;
const draw = () => { drawn.textContent = text + after || '\\u200b'; };
draw();
const type = (character) => {
  if (whole) text = after = '';
  whole = false;
  const pair = { '[': ']', '(': ')', '{': '}', '"': '"' }[character];
  if (after[0] === character) after = after.slice(1);
  else if (pair) after = pair + after;
  text += character;
  if (character === '\\n') text += text.split('\\n').at(-2).match(/^[ -]*/)[0].replace('-', ' ');
  draw();
};
box.onmousedown = (event) => { event.preventDefault(); keys.focus(); };
keys.onkeydown = (event) => {
  if (event.ctrlKey && event.key === 'a') whole = true;
  else if (event.ctrlKey && event.key === 'End') [text, after] = [text + after, ''];
  else if (event.key === 'Delete' && whole) [text, after, whole] = ['', '', false];
  else if (event.key === 'Enter') type('\\n');
  else return;
  event.preventDefault();
  draw();
};
keys.oninput = () => { [...keys.value].forEach(type); keys.value = ''; };
keys.onpaste = (event) => {
  event.preventDefault();
  text += event.clipboardData.getData('text/plain');
  draw();
};
</script>"""
)
# As in CodeMirror 6, whose text is source code, here without a handler of pastes.
CODE_LINES = f"<div id=box contenteditable spellcheck=false role=textbox style='{PLACE};white-space:pre'>old text</div>"
CODE = 'a: [1, 2]\nb:\n  - c\n  - "d'

# As in TinyMCE and the older editors: a frame whose document is edited.
FRAME = (
    f"<iframe id=box style='{PLACE}' srcdoc='<body style=\"margin:0;height:190px\" {{attribute}}>old text</body>'>"
    "</iframe>"
    "<script>box.onload = () => {{ {mode} }}</script>"
)
BODY = FRAME.format(attribute="contenteditable", mode="")
DESIGN = FRAME.format(attribute="", mode="box.contentDocument.designMode = 'on'")

IN_FRAME = "box.contentDocument.body.innerText"
EDITORS = {
    "contenteditable": (EDITABLE, "box.innerText"),
    "controlled": (CONTROLLED, "text"),
    "controlled, drawn late": (LATE, "text"),
    "hidden textarea": (HIDDEN, "text"),
    "completing": (COMPLETING, "text + after"),
    "code": (CODE_LINES, "box.innerText"),
    "frame with an editable body": (BODY, IN_FRAME),
    "frame in design mode": (DESIGN, IN_FRAME),
}


@pytest.fixture(params=EDITORS)
def editor(request):
    return EDITORS[request.param]


@pytest.fixture(params=["point", "id"])
def edit(request, editor, pages, visit):
    """Runs calls of `write` on an editor, which is clicked or named by its id; returns the lines of feedback and the
    lines of its text that are not empty."""
    body, content = editor
    url = pages.add("/editor", body)

    async def steps(session, calls):
        feedback = (await session.step(calls)).feedback
        text = await session.page.evaluate(content)
        return feedback, [line for line in text.splitlines() if line.strip()]

    def run_by_point(*calls):
        async def episode(session, _):
            await session.step([check_call(*CLICK)])
            return await steps(session, [check_call(name, arguments) for name, arguments in calls])

        return visit(url, episode)

    def run_by_id(*calls):
        async def episode():
            async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
                element = re.search(r"\[(\d+)\] (textbox|iframe)", (await session.start(task(url))).text)[1]
                return await steps(
                    session,
                    [
                        check_call(f"{name}_element", {"element": element, **arguments}, ALL_TOOLS)
                        for name, arguments in calls
                    ],
                )

        return asyncio.run(episode())

    return run_by_point if request.param == "point" else run_by_id


def test_writing_replaces_the_text_of_an_editor(edit):
    (line,), text = edit(("write", {"text": "new words"}))
    assert text == ["new words"]
    assert re.match('Succeed: `write(_element)?` typed "new words" into <', line)
    assert "differs" not in line


@pytest.mark.every(5)
@pytest.mark.parametrize("length", [1, 250])
def test_line_breaks_become_lines_of_an_editor(edit, length):
    first = "a" * length
    (line,), text = edit(("write", {"text": f"{first}\nb\nlast"}))
    assert text == [first, "b", "last"]
    assert "differs" not in line


@pytest.mark.every(5)
def test_writing_twice_leaves_the_second_text(edit):
    assert edit(("write", {"text": "first"}), ("write", {"text": "second"}))[1] == ["second"]


@pytest.mark.every(5)
def test_text_is_added_at_the_end_of_an_editor(edit):
    (line,), text = edit(("write", {"text": " and more", "clear": False}))
    assert "".join(text).startswith("old text")
    assert text[-1].endswith(" and more")
    assert "differs" not in line


@pytest.mark.every(5)
def test_empty_text_clears_an_editor(edit):
    (line,), text = edit(("write", {"text": ""}))
    assert text == []
    assert "differs" not in line


def test_an_indented_text_keeps_its_indentation_in_a_code_editor(pages, visit):
    async def steps(session, _):
        code = "def f():\n    if x:\n        return 1\n    return 2"
        await session.step([check_call(*CLICK), check_call("write", {"text": code})])
        return await session.page.evaluate("text"), code

    drawn, code = visit(pages.add("/code", HIDDEN), steps)
    assert drawn == code


def test_enter_is_not_pressed_where_the_page_says_that_it_sends(pages, visit):
    body = (
        f"<div id=box contenteditable enterkeyhint=send style='{PLACE}'></div><script>let sent = 0; box.onkeydown ="
        " (event) => { if (event.key === 'Enter' && !event.shiftKey) { sent += 1; event.preventDefault(); } }</script>"
    )

    async def steps(session, _):
        await session.step([check_call(*CLICK), check_call("write", {"text": "dear\nall"})])
        return await session.page.evaluate("[sent, box.innerText.trim()]")

    assert visit(pages.add("/chat", body), steps) == [0, "dear\nall"]


@pytest.fixture
def completing(pages, visit):
    """Runs `await steps(session, lists)` on the editor that completes what is typed, after a click into it."""
    url = pages.add("/completing", COMPLETING)

    def run(steps):
        async def episode(session, observation):
            await session.step([check_call(*CLICK)])
            return await steps(session, observation)

        return visit(url, episode)

    return run


def write(text, **more):
    return check_call("write", {"text": text, **more})


def test_an_editor_that_closes_brackets_and_indents_gets_the_exact_text(completing):
    async def steps(session, _):
        await session.step([write(CODE), write("\n(e", clear=False)])
        return await session.page.evaluate("text + after")

    assert completing(steps) == CODE + "\n(e"


def test_a_terminal_that_takes_a_paste_without_cancelling_it_gets_it_once(completing):
    async def steps(session, _):
        await session.page.evaluate(
            "void (keys.onpaste = (e) => { e.stopPropagation(); text += e.clipboardData.getData('text'); draw(); })"
        )
        await session.step([write("ls (a)\nls b")])
        return await session.page.evaluate("text + after")

    assert completing(steps) == "ls (a)\nls b"


def test_an_editor_in_place_of_a_hidden_field_has_that_fields_label(completing):
    async def steps(session, _):
        return (await session.step([write("")])).observation.text

    assert '- field "Notes:" multiline focused' in completing(steps)


def test_a_field_above_the_window_has_no_line_for_the_editor_below_it(pages, visit):
    subject = "<form><p><label>Subject <input value='Torn sail'></label></p>"
    url = pages.add("/form", subject + COMPLETING.removeprefix("<form>") + "<div style='height:2000px'></div>")

    async def episode(session, observation):
        assert '- field "Subject" value "Torn sail"' in observation.text
        scrolled = await session.step([check_call("scroll", {"direction": "down", "amount": 0.1})])
        return scrolled.observation.text

    assert re.findall("- field .*?(?= \\d)", visit(url, episode)) == ['- field "Notes:" value "old text" multiline']


def test_feedback_of_an_id_names_the_editor_and_not_a_part_of_its_text(pages):
    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            text = (await session.start(task(pages.add("/named", COMPLETING)))).text
            element = re.search(r"\[(\d+)\] textbox", text)[1]
            return (
                await session.step([check_call("write_element", {"element": element, "text": "b"}, ALL_TOOLS)])
            ).feedback

    assert 'into <textarea> "Notes:"' in asyncio.run(episode())[0]
