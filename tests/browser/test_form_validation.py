"""A form that the browser does not send, because a field is invalid: the feedback says which field, and why."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, task

AT = "position:absolute;left:360px;top:285px;width:80px;height:30px"
SEND = f"<button style='{AT}'>Send</button>"
CLICK = ("click", {"x": 500, "y": 500})
TAB = ("press_keys", {"keys": ["Tab"]})
ENTER = ("press_keys", {"keys": ["Enter"]})
NOT_SENT = "The form was not sent: "
REQUIRED = f'{NOT_SENT}"Mail": Please fill out this field.'
FIELDS = {
    "required": ("required", "", REQUIRED),
    "email": ("type=email value=x", "x", f"""{NOT_SENT}"Mail": Please include an '@' in the email address."""),
    "pattern": ("pattern=[0-9]+ value=x", "x", f'{NOT_SENT}"Mail": Please match the requested format.'),
    "number": ("type=number max=5 value=7", "7", f'{NOT_SENT}"Mail": Value must be less than or equal to 5.'),
}
FIELD = "<input aria-label=Mail {}>"
WRONG = FIELD.format("required")


def form(fields, attributes="", send=SEND):
    """A form that stays on its page when it is sent."""
    return f"<form onsubmit='event.preventDefault();document.title=`sent`' {attributes}>{fields}{send}</form>"


@pytest.fixture
def tell(pages, visit):
    """The feedback of the last of some calls, one per turn, on a body of HTML."""

    def run(body, *calls):
        async def steps(session, _):
            return [(await session.step([check_call(*call)])).feedback[0] for call in calls][-1]

        return visit(pages.add("/form", body), steps)

    return run


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("calls", [(CLICK,), (TAB, ENTER)], ids=["click", "Enter"])
def test_a_form_with_an_invalid_field_is_said_not_to_be_sent(tell, kind, calls):
    attributes, _, said = FIELDS[kind]
    line = tell(form(FIELD.format(attributes)), *calls)
    assert line.partition(" executed. ")[2].startswith(said)
    assert "focused" not in line


def test_a_text_that_is_submitted_with_its_field_is_said_not_to_be_sent(pages):
    names = {kind: f"field of {kind}" for kind in FIELDS}
    body = "".join(
        form(f"<input aria-label='{names[kind]}' {attributes}>", send="<button>Send</button>")
        for kind, (attributes, _, _) in FIELDS.items()
    )

    async def episode():
        lines = {}
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            tree = (await session.start(task(pages.add("/forms", body)))).text
            for kind, (_, text, _) in FIELDS.items():
                shown = next(line for line in tree.splitlines() if f'"{names[kind]}"' in line).split("]")[0].strip(" [")
                call = check_call("write_element", {"element": shown, "text": text, "submit": True}, ALL_TOOLS)
                lines[kind] = (await session.step([call])).feedback[0]
        return lines

    lines = asyncio.run(episode())
    for kind, (_, _, said) in FIELDS.items():
        assert said.replace("Mail", names[kind]) in lines[kind]


@pytest.mark.parametrize(
    ("body", "calls", "said"),
    [
        (f"<iframe srcdoc=\"{form(WRONG, send='<button>Send</button>')}\"></iframe>", (TAB, ENTER), REQUIRED),
        (
            "<x-y></x-y><script>document.querySelector('x-y').attachShadow({mode:'open'}).innerHTML="
            f'"{form(WRONG)}"</script>', (CLICK,), REQUIRED,
        ),
        (form(WRONG, "id=f", f"<div style='{AT}' onclick='f.requestSubmit()'>Send</div>"), (CLICK,), REQUIRED),
        (form("<input required>"), (CLICK,), f"{NOT_SENT}Please fill out this field."),
        (
            form("<input aria-label=Code id=c>") + "<script>c.setCustomValidity('Code is\\ntaken')</script>", (CLICK,),
            f'{NOT_SENT}"Code": Code is taken.',
        ),
    ],
    ids=["frame", "shadow root", "script that submits", "without a name", "message of the page"],
)  # fmt: skip
def test_a_form_is_said_not_to_be_sent_wherever_it_is(tell, body, calls, said):
    assert tell(body, *calls).partition(" executed. ")[2] == said


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("body", "calls"),
    [
        (form(WRONG, "novalidate"), (CLICK,)),
        (form(FIELD.format("required value=x")), (CLICK,)),
        (WRONG + f"<button style='{AT}' onclick='previousSibling.checkValidity()'>Check</button>", (CLICK,)),
        (form(FIELD.format("type=email oninput='checkValidity()'")), (TAB, ("press_keys", {"keys": ["a"]}))),
        (form(FIELD.format("type=email onkeyup='checkValidity()'")), (TAB, ("write", {"text": "a"}))),
        (form(FIELD.format(f"required onclick='checkValidity()' style='{AT}'"), send=""), (CLICK,)),
        (form(FIELD.format("required oninvalid='event.preventDefault();document.title=1'")), (CLICK,)),
        (form(WRONG), (CLICK, ("scroll", {"direction": "down", "amount": 1}))),
    ],
    ids=["novalidate", "valid", "check by script", "check while typing", "check after keys", "check of the clicked",
         "handled by the page", "later call"],
)  # fmt: skip
def test_a_check_of_a_field_is_no_form_that_was_not_sent(tell, body, calls):
    assert NOT_SENT not in tell(body, *calls)
