"""`elements_with_owners`: lines that read the same say what their controls belong to."""

import asyncio
import itertools

import pytest

from components.browser import BrowserPool, element_list, parse_elements
from tests.browser.conftest import PARAMS, task

_COUNT = itertools.count()


@pytest.fixture
def owners(pages, visit):
    """The names of the lines of a body of HTML, each with its owner."""

    def of(body: str) -> list[tuple[str, str]]:
        async def look(session, _):
            return await element_list(session.page, owners=True)

        text = visit(pages.add(f"/owners{next(_COUNT)}", body), look)
        return [(line.name, line.owner) for line in parse_elements(text)]

    return of


def row(name: str) -> str:
    return f"<div><h3><a href=/x>{name}</a></h3><p>In stock</p><button>Update</button> <a href=#>Remove</a></div>"


def test_controls_with_one_name_have_the_title_of_their_row(owners):
    assert owners(row("Deck boots") + row("Kettle")) == [
        *[("Deck boots", ""), ("Update", "Deck boots"), ("Remove", "Deck boots")],
        *[("Kettle", ""), ("Update", "Kettle"), ("Remove", "Kettle")],
    ]


def test_a_control_whose_name_is_its_own_has_no_owner(owners):
    assert owners(row("Deck boots")) == [("Deck boots", ""), ("Update", ""), ("Remove", "")]


def test_a_twin_that_is_out_of_view_counts(owners):
    assert ("Remove", "Deck boots") in owners(row("Deck boots") + "<p style='height:3000px'>" + row("Kettle"))


def test_a_twin_that_is_not_shown_does_not_count(owners):
    assert ("Remove", "") in owners(row("Deck boots") + f"<div hidden>{row('Kettle')}</div>")


def test_boxes_without_a_name_have_the_link_of_their_row(owners):
    letters = "".join(
        f"<tr><td><input type=checkbox></td><td><a href=/x>{name}</a></td></tr>" for name in ("Tea", "Oil")
    )
    assert owners(f"<table>{letters}</table>") == [("", "Tea"), ("Tea", ""), ("", "Oil"), ("Oil", "")]


def test_an_item_without_a_title_has_its_first_text(owners):
    items = "".join(f"<li><span>{name}</span>, 3 pieces <button>Buy</button></li>" for name in ("Tea", "Oil"))
    assert owners(f"<ul>{items}</ul>") == [("Buy", "Tea"), ("Buy", "Oil")]


def test_controls_that_nothing_tells_apart_have_no_owner(owners):
    assert owners("<button>Buy</button><button>Buy</button>") == [("Buy", ""), ("Buy", "")]


def test_pictures_are_told_apart_by_their_own_words(owners):
    pictures = "".join(f"<p><a href=/x><img alt={name}></a> <a href=/x>{name}</a></p>" for name in ("Tea", "Oil"))
    assert {owner for _, owner in owners(pictures)} == {""}


def test_quotes_in_an_owner_cannot_break_the_line(owners):
    assert owners(row('a "b" c') + row("Kettle"))[1] == ("Update", "a 'b' c")


def test_observations_and_the_teachers_list_have_owners_in_all_frames(pages):
    frame = f'<iframe sandbox style="width:700px;height:300px" srcdoc="{row("Tea") + row("Oil")}"></iframe>'
    url = pages.add("/owned", row("Deck boots") + row("Kettle") + frame)

    async def episode():
        pool = BrowserPool(PARAMS, text="elements_with_owners")
        async with pool, pool.session() as session:
            observation = await session.start(task(url))
            return observation.text, await session.oracle()

    for text in asyncio.run(episode()):
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        removed = [line.owner for line in parse_elements("\n".join(lines)) if line.name == "Remove"]
        assert removed == ["Deck boots", "Kettle", "Tea", "Oil"]
