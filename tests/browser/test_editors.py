"""Editors: click, write, clear and append in small imitations of those that applications use."""

from __future__ import annotations

import pytest

from components.browser import check_call

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

# As in CodeMirror 5 (EasyMDE) and Ace: a textarea that nobody sees takes the keys, and the page draws the text.
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
    "hidden textarea": (HIDDEN, "text"),
    "frame with an editable body": (BODY, IN_FRAME),
    "frame in design mode": (DESIGN, IN_FRAME),
}


@pytest.fixture(params=EDITORS)
def edit(request, pages, visit):
    """Clicks an editor and runs calls; returns the lines of feedback and the lines of its text that are not empty."""
    body, content = EDITORS[request.param]

    def run(*calls):
        async def steps(session, _):
            result = await session.step([check_call(name, arguments) for name, arguments in [CLICK, *calls]])
            text = await session.page.evaluate(content)
            return result.feedback[1:], [line for line in text.splitlines() if line.strip()]

        return visit(pages.add("/editor", body), steps)

    return run


def test_writing_replaces_the_text_of_an_editor(edit):
    (line,), text = edit(("write", {"text": "new words"}))
    assert text == ["new words"]
    assert line.startswith('Succeed: `write` typed "new words" into <')
    assert "differs" not in line


@pytest.mark.parametrize("length", [1, 250])
def test_line_breaks_become_lines_of_an_editor(edit, length):
    first = "a" * length
    (line,), text = edit(("write", {"text": f"{first}\nb\nlast"}))
    assert text == [first, "b", "last"]
    assert "differs" not in line


def test_writing_twice_leaves_the_second_text(edit):
    assert edit(("write", {"text": "first"}), ("write", {"text": "second"}))[1] == ["second"]


def test_text_is_added_at_the_end_of_an_editor(edit):
    (line,), text = edit(("write", {"text": " and more", "clear": False}))
    assert "".join(text).startswith("old text")
    assert text[-1].endswith(" and more")
    assert "differs" not in line


def test_empty_text_clears_an_editor(edit):
    assert edit(("write", {"text": ""}))[1] == []


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
