from components.browser import feedback
from components.browser.feedback import Effect, Element

SEARCH = Element("button", name="Search")


def test_a_click_that_navigates_reads_as_in_the_paper():
    line = feedback.click(SEARCH, (512, 86), Effect(navigated_to="http://a.b/c"), "", clamped=False)
    assert line == 'Succeed: `click` on <button> "Search" at (512, 86) executed. Page navigated to http://a.b/c.'


def test_a_click_without_effect_reads_as_in_the_paper():
    line = feedback.click(Element("div"), (211, 335), Effect(), "", clamped=False)
    assert line == "Succeed: `click` on <div> at (211, 335) executed. Note: no visible navigation or new tab detected."


def test_a_click_on_a_checkbox_ends_with_its_state():
    line = feedback.click(Element("input", name="abc"), (1, 2), Effect(), "unchecked", clamped=False)
    assert line == 'Succeed: `click` on <input> "abc" at (1, 2) executed. Unchecked.'


def test_effects_of_a_click_come_before_other_changes():
    changed = Effect(changed=True)
    for state, effect, said in (
        ("", changed, "The page changed."),
        ("checked", changed, "Checked."),
        (feedback.FOCUSED, changed, "The field is focused."),
        ("checked", Effect(navigated_to="http://a/", changed=True), "Page navigated to http://a/."),
        ("", Effect(notices=("A dialog.",), changed=True), "A dialog."),
    ):
        line = feedback.click(SEARCH, (1, 2), effect, state, clamped=False)
        assert line == f'Succeed: `click` on <button> "Search" at (1, 2) executed. {said}'


def test_writing_reads_as_in_the_paper():
    box = Element("input", "combobox", "Search")
    assert feedback.write(box, "Alpine Ridge", "Alpine Ridge", Effect()) == (
        'Succeed: `write` typed "Alpine Ridge" into <input> role=combobox "Search".'
    )
    assert feedback.write(box, "NY", "New York, NY", Effect()).endswith(
        'Note: the field\'s actual value is "New York, NY", which differs from the typed text.'
    )


def test_a_scroll_at_the_boundary_reads_as_in_the_paper():
    assert feedback.scroll("down", 0.5, moved=False, clamped=False) == (
        "Succeed: `scroll` down by 50% executed. Note: page scroll position did not change and may be at a boundary."
    )


def test_keys_and_the_end_read_as_in_the_paper():
    assert feedback.press_keys(["Enter"], Effect(navigated_to="http://a/")) == (
        "Succeed: `press_keys` ['Enter'] executed. Page navigated to http://a/."
    )
    assert feedback.done("42") == "Succeed: task marked as done. Response: 42"


def test_a_failure_keeps_the_first_line_of_the_browsers_reason():
    line = feedback.failed("goto_url", "Page.goto: net::ERR_HTTP2_PROTOCOL_ERROR at http://a/\nCall log:\n  - x")
    assert line == "Failed: `goto_url` execution failed: Page.goto: net::ERR_HTTP2_PROTOCOL_ERROR at http://a/."
