"""The oracle: it finds its targets in element lists, scrolls for them, and errs when it is told to."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.browser import Listed
from components.worlds.oracle import (
    Detour,
    Interruption,
    Oracle,
    Step,
    anywhere,
    choose,
    click,
    close_tab,
    fill,
    goto,
    new_tab,
    press,
    quoted,
    scroll,
    switch_tab,
)
from components.worlds.rewording import reworded
from components.worlds.target import Target


def line(role: str, name: str, x: int = 10, y: int = 20, value: str = "") -> Listed:
    return Listed(role, name, value, frozenset(), x, y)


def oracle(*steps, answer: str = "42", noise: float = 0.0, seed: int = 0) -> Oracle:
    return Oracle(steps, answer, random.Random(seed), noise)


def calls(turn) -> list[tuple[str, dict]]:
    return [(call.name, call.arguments) for call in turn.calls]


def test_a_target_may_be_the_one_after_another_line():
    page = [line("link", "Rope"), line("button", "Add", 1, 1), line("link", "Kettle"), line("button", "Add", 2, 2)]
    assert calls(oracle(click("button", "Add", after="Kettle")).next(page)) == [("click", {"x": 2, "y": 2})]
    assert calls(oracle(click("button", "Add", number=1)).next(page)) == [("click", {"x": 2, "y": 2})]


@pytest.mark.parametrize(
    ("step", "thought"),
    [
        (goto("http://a.test/?q={1}&r={"), "open http://a.test/?q={1}&r={"),
        (press("{"), "press {"),
        (click("button", "Save"), 'click button "Save" 10 20'),
    ],
)
def test_braces_in_addresses_and_keys_stay_as_they_are(step, thought):
    assert oracle(step).next([line("button", "Save")]).thought == thought


def test_the_thought_quotes_the_owner_and_repeats_it():
    page = [replace(line("link", "Remove", 5, 6), owner="Deck boots, green")]
    teacher = Oracle([click("link", "Remove")], "", random.Random(0), 0.0, intent='Take "Deck boots, green" out.')
    assert teacher.next(page).thought == ('for "Deck boots, green": click link "Remove" of "Deck boots, green" 5 6')


def test_a_field_is_clicked_and_written_in_one_turn():
    teacher = oracle(fill("Search", "kettle"), choose("Sort by", "Price"), press("Enter"))
    page = [line("field", "search", 5, 5), line("select", "sort by", 6, 6)]
    assert calls(teacher.next(page)) == [("click", {"x": 5, "y": 5}), ("write", {"text": "kettle"})]
    assert calls(teacher.next(page)) == [("click", {"x": 6, "y": 6}), ("write", {"text": "Price"})]
    assert calls(teacher.next(page)) == [("press_keys", {"keys": ["Enter"]})]
    assert calls(teacher.next(page)) == [("done", {"answer": "42"})]


def test_a_target_out_of_sight_is_scrolled_for():
    teacher = oracle(click("button", "Save"))
    assert teacher.next([line("link", "a")]).calls[0].name == "scroll"
    assert teacher.next([line("link", "b")]).calls[0].arguments["direction"] == "down"
    assert calls(teacher.next([line("button", "Save")])) == [("click", {"x": 10, "y": 20})]


def test_a_view_without_elements_is_scrolled_on():
    teacher = oracle(click("button", "Save"))
    assert calls(teacher.next([])) == [("scroll", {"direction": "down", "amount": 0.6})]
    assert calls(teacher.next([line("button", "Save")])) == [("click", {"x": 10, "y": 20})]


def test_areas_tabs_and_further_kinds_of_clicks_are_steps():
    page = [line("button", "Row", 1, 2)]
    teacher = oracle(
        scroll("down", 0.5, Target("button", "Row")),
        scroll("up", 2),
        click("button", "Row", options={"click_type": "double", "button": "right"}),
        new_tab(),
        switch_tab(0),
        close_tab(),
    )
    assert [calls(teacher.next(page)) for _ in range(6)] == [
        [("scroll", {"direction": "down", "amount": 0.5, "x": 1, "y": 2})],
        [("scroll", {"direction": "up", "amount": 2})],
        [("click", {"x": 1, "y": 2, "click_type": "double", "button": "right"})],
        [("new_tab", {})],
        [("switch_tab", {"index": 0})],
        [("close_tab", {})],
    ]


def test_a_target_that_is_nowhere_ends_the_episode():
    teacher, page = oracle(click("button", "Save")), [line("link", "a")]
    names = [teacher.next(page).calls[0] for _ in range(8)]
    assert [call.name for call in names] == ["scroll", "scroll", "scroll", "wait", "scroll", "scroll", "scroll", "done"]
    assert names[-1].arguments == {"answer": "N/A"}


def test_noise_is_one_mistake_by_seed():
    page = [line("button", "Save", 1, 1), line("button", "Delete", 2, 2), line("field", "Title", 3, 3)]

    def episode(seed: int, noise: float) -> list:
        teacher, turns = oracle(fill("Title", "Rope"), click("button", "Save"), noise=noise, seed=seed), []
        while not turns or turns[-1][-1][0] != "done":
            turns.append(calls(teacher.next(page)))
        return turns

    right = episode(0, 0.0)
    noisy = [episode(seed, 1.0) for seed in range(30)]
    assert noisy == [episode(seed, 1.0) for seed in range(30)]
    assert all(turns != right for turns in noisy if len(turns) == 3 and turns[0][1][1] != {"text": "Rope"})
    assert any(turns[0][1][1] == {"text": "Rop"} for turns in noisy)
    assert any(len(turns) == 2 for turns in noisy)
    assert any(len(turns) == 3 and turns[1] == [("click", {"x": 2, "y": 2})] for turns in noisy)


def test_what_covers_the_page_is_closed_before_the_next_step():
    cover = Interruption(Target("button", "Close"))
    teacher = Oracle([click("button", "Save")], "42", random.Random(0), interruptions=[cover])
    covered = [line("button", "Close", 1, 2), line("button", "Save")]
    assert calls(teacher.next(covered)) == [("click", {"x": 1, "y": 2})]
    assert calls(teacher.next(covered)) == [("click", {"x": 1, "y": 2})], "as long as it is there"
    assert calls(teacher.next([line("button", "Save")])) == [("click", {"x": 10, "y": 20})]


def test_a_button_with_the_name_of_a_covers_button_is_left_alone():
    cover = Interruption(Target("button", "Close"), Target("field", "E-mail"), "leave")
    teacher = Oracle([click("button", "Save")], "42", random.Random(0), interruptions=[cover])
    page = [line("button", "Close", 1, 2), line("button", "Save")]
    turn = teacher.next([line("field", "E-mail"), *page])
    assert (turn.thought.partition(":")[0], calls(turn)) == ("leave", [("click", {"x": 1, "y": 2})])
    assert calls(teacher.next(page)) == [("click", {"x": 10, "y": 20})]


def test_a_detour_is_taken_once_where_the_page_asks_for_it():
    pay, order = click("radio", "Invoice"), click("button", "Order")
    again = Detour([pay, order], [Target("radio", "Invoice")], at_end=True)
    teacher = Oracle([order], "42", random.Random(0), detours=[again])
    assert calls(teacher.next([line("button", "Order")])) == [("click", {"x": 10, "y": 20})]
    declined = [line("radio", "Invoice", 5, 6), line("button", "Order")]
    assert calls(teacher.next(declined)) == [("click", {"x": 5, "y": 6})]
    assert calls(teacher.next(declined)) == [("click", {"x": 10, "y": 20})]
    assert calls(teacher.next(declined)) == [("done", {"answer": "42"})], "the second time it gives up"


def test_a_detour_before_the_end_is_not_taken_after_it():
    login = Detour([click("button", "Log in")], [Target("button", "Log in")])
    teacher = Oracle([], "42", random.Random(0), detours=[login])
    assert calls(teacher.next([line("button", "Log in")])) == [("done", {"answer": "42"})]


@pytest.mark.parametrize(
    ("pattern", "shown", "is_found"),
    [
        ("Search", "Find", True),
        ("Search", "Search", True),
        ("Search", "Find:", True),
        ("Search", "Find everything", False),
        ("Search.*", "Find everything", True),
        ("Search:?", "Find", True),
        ("Search .*", "Find everything", True),
        ("Send|Post", "Dispatch (now)", True),
        ("Cancel", "Find", False),
        (".*", "Anything", True),
    ],
)
def test_a_step_finds_its_target_under_another_name(pattern, shown, is_found):
    words = {"Search": "Find", "Send": "Dispatch (now)"}
    (step,) = reworded([click("button", pattern)], words, {})
    assert step.target is not None
    assert (step.target.among([line("button", shown)]) is not None) == is_found


def test_an_option_is_chosen_in_the_language_of_the_page():
    steps = [choose("Sort by", "Price", after="Goods"), fill("Name", "Price")]
    choice, field = reworded(steps, {"Sort by": "Sortieren", "Goods": "Waren", "Name": "Name"}, {"Price": "Preis"})
    page = [line("link", "Waren"), line("select", "Sortieren", 6, 6), line("field", "Name", 7, 7)]
    teacher = oracle(choice, field)
    assert calls(teacher.next(page)) == [("click", {"x": 6, "y": 6}), ("write", {"text": "Preis"})]
    assert calls(teacher.next(page))[1] == ("write", {"text": "Price"}), "what is written into fields stays"
    (named,) = reworded([choose("Sort by", "Price", is_data=True)], {}, {"Price": "Preis"})
    assert calls(oracle(named).next([line("select", "Sort by")]))[1] == ("write", {"text": "Price"}), "people named it"


def test_a_long_shown_name_is_found_also_where_the_list_cuts_it():
    long = "Producto Número de referencia o Código universal de producto"
    (step,) = reworded([click("field", "Products.*")], {"Products": long}, {})
    assert step.target is not None
    for name in (long, f"{long}:", f"{long[:57]}..."):
        assert step.target.among([line("field", "Producto Número"), line("field", name, 3)]) == line("field", name, 3)


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_row_is_found_in_any_order_of_the_columns(is_mirrored):
    """The title and the button of a row stand at almost one height; the button of another row is no match."""
    rows = [[line("link", title, 9, y), line("button", "Again", 5, y - 8)] for title, y in (("Mug", 510), ("Can", 720))]
    page = [shown for row in rows for shown in (row[::-1] if is_mirrored else row)]
    step = click("button", "Again", level_with="Mug")
    assert step.target is not None
    assert step.target.among(page) == rows[0][1]
    assert step.target.among([*rows[1], rows[0][0]]) is None, "its button is out of sight"
    assert step.target.among(rows[1]) is None, "the row is out of sight"


GUEST = [line("link", "Log in", 9, 9)]


def shopper() -> Oracle:
    """Searches, opens what it finds and buys it; logs in where the site takes it for a guest."""
    steps = [anywhere(fill("Search", "rope")), press("Enter"), click("link", "Rope"), click("button", "Buy")]
    login = [click("link", "Log in"), fill("Name", "greta")]
    asked = Detour(login[1:], [Target("field", "Name")], interrupts=True)
    return Oracle(
        steps,
        "42",
        random.Random(0),
        detours=[asked, Detour(login, [Target("link", "Log in")], interrupts=True, leads_away=True)],
    )


def test_a_guest_logs_in_and_goes_on_from_a_step_that_leads_anywhere():
    search, rope, buy = line("field", "Search", 1, 1), line("link", "Rope", 2, 2), line("button", "Buy", 3, 3)
    asked, teacher = [line("field", "Name", 4, 4)], shopper()
    pages = [[search], [search], [*GUEST, search, rope], asked, [search, buy], [search], [search, rope], [search, buy]]
    clicks = [calls(teacher.next(page))[0] for page in pages]
    points = [arguments.get("x", "Enter") for _, arguments in clicks]
    assert points == [1, "Enter", 9, 4, 1, "Enter", 2, 3], "the button of the page after the login is another article's"


def test_a_page_that_asks_who_one_is_needs_no_link_to_the_login():
    page = [*GUEST, line("field", "Name", 4, 4)]
    teacher = shopper()
    assert calls(teacher.next([line("field", "Search", 1, 1)]))[0] == ("click", {"x": 1, "y": 1})
    assert calls(teacher.next([]))[0][0] == "press_keys"
    assert calls(teacher.next(page))[0] == ("click", {"x": 4, "y": 4})


def login_detour(steps: list[Step]) -> Detour:
    """Logging in, where the page has all fields of the steps."""
    return Detour(steps, [step.target for step in steps if step.target is not None and step.target.role == "field"])


def test_the_oracle_logs_in_again_once_and_then_goes_on():
    login = [fill("User name", "greta"), click("button", "Log in")]
    teacher = Oracle(
        [click("link", "Inbox"), click("link", "Crane")], "42", random.Random(0), detours=[login_detour(login)]
    )
    page, asked = [line("link", "Inbox", 1, 1)], [line("field", "User name", 5, 5), line("button", "Log in", 6, 6)]
    assert calls(teacher.next(page)) == [("click", {"x": 1, "y": 1})]
    assert calls(teacher.next(asked)) == [("click", {"x": 5, "y": 5}), ("write", {"text": "greta"})]
    assert calls(teacher.next(asked)) == [("click", {"x": 6, "y": 6})]
    assert calls(teacher.next([line("link", "Crane", 2, 2)])) == [("click", {"x": 2, "y": 2})]


def test_the_oracle_logs_in_only_if_its_target_is_not_there_and_once():
    login = [fill("User name", "greta")]
    both = [line("link", "Inbox", 1, 1), line("field", "User name", 5, 5)]
    first = Oracle([click("link", "Inbox")], "42", random.Random(0), detours=[login_detour(login)])
    assert calls(first.next(both)) == [("click", {"x": 1, "y": 1})]
    second = Oracle([click("link", "Inbox")], "42", random.Random(0), detours=[login_detour(login)])
    assert second.next(both[1:]).calls[1].name == "write"
    assert second.next(both[1:]).calls[0].name == "scroll", "the login did not work"


def test_a_form_with_one_field_of_the_login_is_no_login():
    login = [fill("Email address", "greta"), fill("Password", "x"), click("button", "Log in")]

    def teacher() -> Oracle:
        return Oracle([click("button", "Save")], "done", random.Random(0), detours=[login_detour(login)])

    profile = [line("field", "Email address", 6, 9)]
    assert teacher().next(profile).calls[0].name == "scroll", "the button is further down"
    assert calls(teacher().next([*profile, line("field", "Password", 6, 10)]))[1] == ("write", {"text": "greta"})


@pytest.mark.parametrize(
    ("intent", "name", "words"),
    [
        ('Lock the topic "Wet charts".', "Lock topic", "Lock"),
        ('The topic "Wet charts" is old. Please lock it.', "Lock topic", "lock"),
        ('Make "Wet charts" a sticky topic.', "Change to sticky topic", "sticky topic"),
        ('Archive "Wet charts: which ones?"', "Select “Re: Wet charts: which ones?”", "Wet charts: which ones"),
        ("Put it on the shelf of the shop", "the Shop", "the shop"),
        ("Put it on the shelf", "the list", ""),
        ("Lock the topic", "", ""),
    ],
)
def test_a_thought_quotes_what_the_intent_shares_with_the_target(intent, name, words):
    assert quoted(intent, name) == words


@given(st.text("ab of. “", max_size=30), st.text("ab of. “", max_size=30))
def test_a_quotation_is_in_the_intent_and_its_words_in_the_name(intent, name):
    words = quoted(intent, name)
    assert words in intent
    assert " ".join(re.findall(r"\w+", words)) in " ".join(re.findall(r"\w+", name))


def test_the_thought_begins_with_the_quotation():
    steps = [click("link", "Lock topic"), click("button", "Yes"), press("Enter")]
    teacher = Oracle(steps, "done", random.Random(0), intent="Please lock it")
    page = [line("link", "Lock topic"), line("button", "Yes")]
    assert [teacher.next(page).thought for _ in range(3)] == [
        'for "lock": click link "Lock topic" 10 20',
        'click button "Yes" 10 20',
        "press Enter",
    ]
