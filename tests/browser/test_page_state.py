"""What the probe answers is read as typed records, whatever element has the focus and whatever the page replaces."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from components.browser import check_call
from components.browser.axtree_element import Content
from components.browser.blocked import PageEvidence
from components.browser.page_state import Focused, PageState

FOCUS = "<script>document.querySelector('#f').focus()</script>"
EDITABLE = '<div id=f contenteditable style="position:absolute;left:300px;top:285px;width:200px;height:30px">{}</div>'


@pytest.mark.parametrize(
    "element",
    [
        "<div id=f contenteditable>old</div>",
        "<div id=f contenteditable=plaintext-only>old</div>",
        "<input id=f>",
        "<input id=f type=range>",
        "<input id=f type=file>",
        "<textarea id=f readonly></textarea>",
        "<select id=f><option>S</select>",
        "<button id=f>Go</button>",
        "<div id=f tabindex=0>box</div>",
        "<iframe id=f srcdoc=x></iframe>",
        "<svg id=f tabindex=0 width=9 height=9></svg>",
    ],
)
def test_every_field_of_the_focus_of_any_element_has_a_value(pages, visit, element):
    async def body(session, _):
        answer = await session.tabs.active.ask(Focused, op="focus")
        return answer.focus.model_dump()

    focus = visit(pages.add("/focus", element + FOCUS), body)
    flags = [focus[name] for name in ("editable", "frozen", "select", "file", "editor", "secret")]
    assert focus["tag"] == element[1:].split()[0]
    assert all(isinstance(flag, bool) for flag in flags), focus


def test_writing_into_an_editable_element_replaces_its_text(pages, visit):
    async def body(session, _):
        calls = [check_call("click", {"x": 500, "y": 500}), check_call("write", {"text": "new"})]
        lines = (await session.step(calls)).feedback
        return lines, await session.page.inner_text("#f")

    lines, text = visit(pages.add("/editable", EDITABLE.format("old")), body)
    assert lines[1].startswith('Succeed: `write` typed "new" into <div>')
    assert text == "new"


def test_what_javascript_leaves_out_has_a_default():
    state = PageState.model_validate({"url": "http://a/", "focus": {"tag": "div", "frozen": None}, "title": None})
    assert (state.title, state.elements, state.changed) == ("", None, False)
    assert state.focus is not None
    assert (state.focus.frozen, state.focus.value) == (False, None)


def test_an_answer_without_its_counts_is_refused_by_their_names(pages, visit):
    async def body(session, _):
        tab = session.tabs.active
        await tab.evaluate("globalThis.waymark = async () => ({ url: 'http://a/' }); null")
        with pytest.raises(ValidationError) as refusal:
            await tab.look(0)
        await session.page.reload()
        return str(refusal.value)

    refusal = visit(pages.add("/answer", "<p>text"), body)
    assert "suspects" in refusal
    assert "drawn" in refusal


@pytest.mark.parametrize(
    ("parse", "missing"),
    [
        (Content.model_validate, ["value"]),
        (lambda answer: PageEvidence.parse(answer, "", None), ["text", "links", "fields", "passwords", "marks"]),
    ],
    ids=["the content of a field", "the evidence of a block page"],
)
def test_an_answer_that_lacks_fields_is_refused_by_their_names(parse, missing):
    with pytest.raises(ValidationError) as refusal:
        parse({})
    for field in missing:
        assert f"\n{field}\n" in str(refusal.value)
