"""`write` in every kind of field: lists, dates, colours, sliders, and lines of text."""

from __future__ import annotations

import pytest

from components.browser import check_call

PLACE = "position:absolute;left:300px;top:250px;width:200px;height:100px"
CLICK = ("click", {"x": 500, "y": 500})
LOG = (
    "<script>window.log = []; for (const type of ['input', 'change', 'submit'])"
    " addEventListener(type, (event) => { log.push(`${type}:${event.target.value}`); event.preventDefault(); })"
    "</script>"
)


@pytest.fixture
def fill(pages, visit):
    """Runs calls on a body of HTML; returns the lines of feedback and the value of an expression on the page."""

    def run(body, *calls, value="field.value", path="/field"):
        async def steps(session, _):
            result = await session.step([check_call(name, arguments) for name, arguments in calls])
            return result.feedback, await session.page.evaluate(value)

        return visit(pages.add(path, LOG + body), steps)

    return run


def write(text, **arguments):
    """A call of `write`."""
    return ("write", {"text": text, **arguments})


OPTIONS = "<option>Small<option disabled>Medium<option value=l>Large"
SIZES = f"<select id=field aria-label=Size style='{PLACE}'>{OPTIONS}</select>"


def test_a_click_on_a_select_names_its_options_and_how_to_choose(fill):
    (line,), _ = fill(SIZES, CLICK)
    assert line.endswith('Options: "Small", "Large"; the list is not drawn; `write` chooses one.')


def test_a_long_list_of_options_is_cut_with_the_number_left_out(fill):
    options = "".join(f"<option>option number {index}" for index in range(100))
    (line,), _ = fill(f"<select id=field style='{PLACE}'>{options}</select>", CLICK)
    assert '"option number 0", "option number 1"' in line
    shown = line.count('"option number')
    assert f" and {100 - shown} more; the list is not drawn" in line
    assert len(line) < 400


@pytest.mark.parametrize("text", ["Large", " large ", "l"])
def test_an_option_is_chosen_by_label_or_value_as_a_user_would(fill, text):
    lines, (value, log) = fill(SIZES, CLICK, write(text), value="[field.value, log]")
    assert value == "l"
    assert log == ["input:l", "change:l"]
    assert lines[1].startswith(f'Succeed: `write` typed "{text}" into <select> "Size".')


@pytest.mark.parametrize("text", ["Huge", "Medium", "Small\nLarge"])
def test_an_unknown_or_disabled_option_fails_with_the_options_named(fill, text):
    lines, (value, log) = fill(SIZES, CLICK, write(text), value="[field.value, log]")
    assert (value, log) == ("Small", [])
    assert lines[1].startswith('Failed: `write` execution failed: <select> "Size" has no option')
    assert lines[1].endswith('its options are "Small", "Large".')


def test_keys_reach_the_page_after_a_list_was_open(fill):
    _, (value, focused) = fill(
        SIZES + "<input>", CLICK, write("Large"), ("press_keys", {"keys": ["Tab"]}),
        value="[field.value, document.activeElement.tagName]",
    )  # fmt: skip
    assert (value, focused) == ("l", "INPUT")


SEVERAL = f"<select id=field multiple style='{PLACE}'><option>red<option selected>green<option>blue</select>"
CHOSEN = "[...field.selectedOptions].map((option) => option.label)"


def test_several_options_are_chosen_one_per_line(fill):
    lines, chosen = fill(SEVERAL, ("press_keys", {"keys": ["Tab"]}), write("red\nBLUE\n"), value=CHOSEN)
    assert chosen == ["red", "blue"]
    assert lines[1].startswith("Succeed")


def test_options_are_added_without_clearing_the_choice(fill):
    assert fill(SEVERAL, ("press_keys", {"keys": ["Tab"]}), write("red", clear=False), value=CHOSEN)[1] == [
        "red",
        "green",
    ]


def test_one_unknown_option_of_several_changes_nothing(fill):
    lines, chosen = fill(SEVERAL, ("press_keys", {"keys": ["Tab"]}), write("red\npink"), value=CHOSEN)
    assert chosen == ["green"]
    assert 'has no option "pink"' in lines[1]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2024-02-03", "2024-02-03"),
        ("date", "02/03/2024", "2024-02-03"),
        ("date", "Feb 3rd, 2024", "2024-02-03"),
        ("time", "9:05 pm", "21:05"),
        ("month", "February 2024", "2024-02"),
        ("week", "week 5, 2024", "2024-W05"),
        ("datetime-local", "2024-02-03 21:05", "2024-02-03T21:05"),
        ("color", "teal", "#008080"),
        ("range", "70", "70"),
    ],
)
def test_a_picked_value_is_set_with_the_events_of_a_user(fill, kind, text, value):
    body = f"<input id=field type={kind} style='{PLACE}'>"
    lines, (actual, log) = fill(body, ("press_keys", {"keys": ["Tab"]}), write(text), value="[field.value, log]")
    assert actual == value
    assert log == [f"input:{value}", f"change:{value}"]
    assert lines[1].startswith(f'Succeed: `write` typed "{text}" into <input>')


@pytest.mark.parametrize(
    ("kind", "form"),
    [("date", "yyyy-mm-dd"), ("time", "hh:mm"), ("color", "#rrggbb"), ("range", "a number"), ("week", "yyyy-Www")],
)
def test_a_value_that_cannot_be_read_names_the_form(fill, kind, form):
    lines, log = fill(
        f"<input type={kind}>", ("press_keys", {"keys": ["Tab"]}), write("whenever"), value="log"
    )  # fmt: skip
    assert log == []
    assert lines[1] == (
        f'Failed: `write` execution failed: "whenever" is no value of a field of type {kind}; write it as {form}.'
    )


def test_a_slider_says_which_value_it_took(fill):
    lines, value = fill(
        "<input type=range id=field min=0 max=10 step=5>", ("press_keys", {"keys": ["Tab"]}), write("7")
    )
    assert value == "5"
    assert 'actual value is "5", which differs' in lines[1]


def test_empty_text_empties_a_date(fill):
    body = "<input type=date id=field value=2024-02-03>"
    assert fill(body, ("press_keys", {"keys": ["Tab"]}), write(""))[1] == ""


@pytest.mark.parametrize("length", [1, 300])
def test_a_line_break_in_a_text_area_is_a_line_even_where_enter_sends(fill, length):
    text = f"{'a' * length}\nsecond\n"
    body = (
        f"<form><textarea id=field style='{PLACE}' maxlength=9000></textarea></form>"
        "<script>field.onkeydown = ({key}) => { if (key === 'Enter') { log.push('sent'); field.value = ''; } }</script>"
    )
    lines, (value, log) = fill(body, CLICK, write(text), value="[field.value, log]")
    assert value == text
    assert "sent" not in log
    assert "differs" not in lines[1]


def test_a_line_break_in_a_line_submits_nothing_and_feedback_says_so(fill):
    body = f"<form><input id=field style='{PLACE}'></form>"
    lines, (value, log) = fill(body, CLICK, write("red\ntent\n"), value="[field.value, log]")
    assert value == "red tent"
    assert not any(event.startswith("submit") for event in log)
    assert lines[1].endswith("Note: the field takes one line, so line breaks were left out; press enter to submit it.")


def test_a_long_text_ends_with_a_key_for_pages_that_count_keys(fill):
    body = f"<input id=field style='{PLACE}'><script>field.onkeyup = () => log.push('keyup')</script>"
    _, (length, log) = fill(body, CLICK, write("x" * 500), value="[field.value.length, log]")
    assert length == 500
    assert "keyup" in log


@pytest.mark.parametrize("tag", ["<input id=field value='one two'", "<textarea id=field"])
def test_text_is_added_at_the_end_without_clearing(fill, tag):
    body = f"{tag} style='{PLACE}'>" + ("one two</textarea>" if "area" in tag else "")
    lines, value = fill(body, CLICK, ("press_keys", {"keys": ["Home"]}), write(" three", clear=False))
    assert value == "one two three"
    assert "differs" not in lines[2]


@pytest.mark.parametrize("keys", [["é"], ["ß"], ["👍🏽"], ["x", "é"]])
def test_keys_that_the_keyboard_lacks_are_inserted(fill, keys):
    assert fill(f"<input id=field style='{PLACE}'>", CLICK, ("press_keys", {"keys": keys}))[1] == "".join(keys)


@pytest.mark.parametrize(
    ("modifiers", "held"), [(["ctrl"], "c"), ("shift", "s"), ("ctrl+shift", "cs"), (["alt"], "a"), ([], "")]
)
def test_a_click_holds_its_modifiers_and_releases_them(fill, modifiers, held):
    body = (
        "<script>onclick = ({ctrlKey, shiftKey, altKey}) =>"
        " log.push((ctrlKey ? 'c' : '') + (shiftKey ? 's' : '') + (altKey ? 'a' : ''))</script>"
    )
    _, log = fill(body, ("click", {"x": 500, "y": 500, "modifiers": modifiers}), CLICK, value="log")
    assert log == [held, ""]


def test_an_unknown_key_names_the_valid_ones(fill):
    (line,), _ = fill("", ("press_keys", {"keys": ["ctrl", "nokey"]}), value="1")
    assert line.startswith(
        'Failed: `press_keys` execution failed: unknown key "nokey"; valid keys are single characters'
    )
    assert line.endswith("as in ctrl+a.")


CODE = f"""<input id=field maxlength=1 style='{PLACE}' aria-label=First oninput='second.focus()'>
<input id=second maxlength=1 aria-label=Second oninput='third.focus()'><input id=third maxlength=1 aria-label=Third>"""


@pytest.mark.parametrize(
    ("text", "note"),
    [("1", ""), ("123", ' Note: the field\'s actual value is "1", which differs from the typed text.')],
)
def test_a_field_is_read_again_though_the_focus_moved_on(fill, text, note):
    lines, values = fill(CODE, CLICK, write(text), value="[field, second, third].map(({ value }) => value).join('')")
    assert values == text
    assert lines[1].removesuffix(" The page changed.") == f'Succeed: `write` typed "{text}" into <input> "First".{note}'


def test_an_option_that_the_page_rejects_is_reported(fill):
    body = f"<select id=field aria-label=Size style='{PLACE}' onchange='value = `S`'><option>S<option>L</select>"
    lines, value = fill(body, CLICK, write("L"))
    assert value == "S"
    assert 'Note: the field\'s actual value is "S", which differs from the typed text.' in lines[1]


CODES = [f"Land {index:03} (+{index})" for index in range(250)]
CODES[180], CODES[181] = "Norway (+47)", "Côte d'Ivoire (+225)"
DIALLING = f"<select id=field style='{PLACE}'>{''.join(f'<option value={i}>{c}' for i, c in enumerate(CODES))}</select>"
DIALLING = DIALLING.replace("ô", "&ocirc;")


@pytest.mark.parametrize(
    ("text", "wanted", "number"),
    [
        ("Norway", "Norway (+47)", 1),
        ("norway 47", "Norway (+47)", 1),
        ("Norwey", "Norway (+47)", 10),
        ("Cote d’Ivoire", "Côte d'Ivoire (+225)", 1),
    ],
)
def test_a_text_that_is_no_option_lists_those_near_to_it(fill, text, wanted, number):
    lines, value = fill(DIALLING, CLICK, write(text), write(wanted))
    listed = lines[1].partition(f'no option "{text}"; its 250 options include ')[2].rstrip(".").split(", ")
    assert listed[0] == f'"{wanted}"'
    assert len(listed) == number
    assert value == str(CODES.index(wanted))


GROUPS = (
    f"<select id=field aria-label=Kind style='{PLACE}'><optgroup label=Tents><option value=a>Dome<option value=b>Other"
    "</optgroup><optgroup label=Boots><option value=c>Hiking<option value=d>Other</optgroup></select>"
)


def test_options_of_one_label_in_two_groups_are_told_apart(fill):
    lines, value = fill(GROUPS, CLICK, write("Other"), write("boots: other"))
    assert 'Options: "Dome", "Tents: Other", "Hiking", "Boots: Other"; the list is not drawn' in lines[0]
    assert lines[1].endswith('<select> "Kind" has several options "Other": "Tents: Other", "Boots: Other".')
    assert lines[2].startswith('Succeed: `write` typed "boots: other"')
    assert value == "d"
