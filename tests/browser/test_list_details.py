"""Details of the element list: options, kinds of fields, and how far the page continues. Viewport 800 × 600."""

from __future__ import annotations

import itertools

import pytest

from components.browser import element_list, parse_elements

_COUNT = itertools.count()


@pytest.fixture
def lines(pages, visit):
    """`lines(body, scroll)`: the lines of a page that is scrolled by some pixels."""

    def of(body: str, scroll: int = 0) -> list[str]:
        async def look(session, _):
            await session.page.evaluate("(down) => scrollTo(0, down)", scroll)
            return (await session.step([])).observation.text.splitlines()

        return visit(pages.add(f"/details{next(_COUNT)}", body), look)

    return of


def test_a_select_lists_its_options(lines):
    (line,) = lines("<select aria-label=Size><option>S<option selected>M<option disabled>L<option>X|L</select>")
    assert line.startswith('- select "Size" value "M" options "S | M | X/L" ')
    assert parse_elements(line)[0].options == ("S", "M", "X/L")


def test_a_select_lists_the_groups_of_options_with_one_label(lines):
    groups = "<optgroup label=Tents><option>Dome<option>Other</optgroup><optgroup label=Boots><option>Other</optgroup>"
    (line,) = lines(f"<select aria-label=Kind>{groups}</select>")
    assert 'options "Dome | Tents: Other | Boots: Other"' in line


def test_a_long_select_says_how_many_options_are_left(lines):
    (line,) = lines(f"<select>{''.join(f'<option>o{i}' for i in range(50))}</select>")
    assert parse_elements(line)[0].options[-2:] == ("o19", "30 more")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("type=date value=2024-05-06", 'value "2024-05-06" date'),
        ("type=time value=10:30", 'value "10:30" time'),
        ("type=datetime-local", "datetime"),
        ("type=color value=#ff0000", 'value "#ff0000" colour'),
        ("type=file", "file"),
        ("type=number value=3", 'value "3" number'),
    ],
)
def test_a_field_says_what_kind_it_is(lines, attributes, words):
    (line,) = lines(f"<input aria-label=In {attributes}>")
    assert line.startswith(f'- field "In" {words} ')


def test_a_slider_has_its_value(lines):
    (line,) = lines("<input type=range aria-label=In min=0 max=10 value=4>")
    assert line.startswith('- slider "In" value "4" ')


@pytest.mark.parametrize(
    ("scroll", "first", "last"),
    [
        (0, '- button "a"', "(more below: 2.0 screens)"),
        (600, "(more above: 1.0 screens)", "(more below: 1.0 screens)"),
        (1200, "(more above: 2.0 screens)", "(more above: 2.0 screens)"),
    ],
)
def test_the_list_says_how_far_the_page_continues(lines, scroll, first, last):
    listed = lines("<div style='height:1800px'><button>a</button></div>", scroll)
    assert listed[0].startswith(first)
    assert listed[-1] == last


def test_a_page_that_fits_has_no_line_about_scrolling(lines):
    assert lines("<p>short</p>") == []


def test_a_page_that_may_not_be_scrolled_has_no_line_about_it(lines):
    assert lines("<style>html { overflow: hidden }</style><div style='height:1800px'></div>") == []


@pytest.mark.parametrize(
    "area",
    ['<div style="overflow:auto;{place}">{tall}</div>', '<iframe style="border:0;{place}" srcdoc="{tall}"></iframe>'],
)
def test_an_area_that_scrolls_has_a_line(lines, area):
    tall = "<body style='margin:0'><div style='height:900px'>text</div>"
    place = "position:absolute;left:200px;top:150px;width:400px;height:300px"
    assert lines(area.format(place=place, tall=tall)) == ["(in the area at 500 500, more below: 2.0 screens)"]


def test_a_cut_list_says_how_much_is_in_view(lines):
    listed = lines("".join(f"<button style='width:30px;height:20px'>{i}</button>" for i in range(300)))
    assert len(listed) == 201
    assert listed[-1] == "(the first 200 of about 300 elements in view are listed)"


def test_a_list_without_details_has_none(pages, visit):
    body = "<div style='height:900px'><input type=date><select><option>a</select></div>"

    async def look(session, _):
        return await element_list(session.page)

    listed = visit(pages.add("/plain", body), look).splitlines()
    assert [line.rsplit(" ", 2)[0] for line in listed] == ["- field", '- select value "a"']


PAD = "display:block;padding:8px"
OVER, COVER = "position:relative;width:80px;cursor:pointer", "position:absolute;inset:0;opacity:0"


@pytest.mark.parametrize(
    ("body", "listed"),
    [
        (f"<div role=tab style='{PAD}'>Report <button aria-label=Close>x</button></div>", ["Close", "Report x"]),
        (f"<div role=option style='{PAD}'>Apple <input type=checkbox aria-label=Pick></div>", ["Apple", "Pick"]),
        (f"<a href=/x style='{PAD}'>Lamp <button aria-label=Save>s</button></a>", ["Lamp s", "Save"]),
        (f"<div role=button style='{PAD}'>Card <a href=/x>Details</a></div>", ["Card Details", "Details"]),
        (f"<div role=menuitem style='{PAD}'><button>Cut</button></div>", ["Cut"]),
        (f"<a href=/x style='{PAD}'><button>Buy</button></a>", ["Buy"]),
        (f"<div role=switch style='{PAD}'><input type=checkbox aria-label=Wifi></div>", ["Wifi"]),
        (f"<div role=combobox style='{PAD}'><input aria-label=City></div>", ["City"]),
        (f"<a role=button tabindex=0 style='{PAD};{OVER}'>add<input type=file style='{COVER}'></a>", ["add"]),
    ],
)
def test_a_control_in_another_one_is_listed_unless_it_is_the_same(lines, body, listed):
    elements = parse_elements("\n".join(lines(body)))
    assert sorted(element.name for element in elements) == listed
    assert len({(element.x, element.y) for element in elements}) == len(listed)


def test_a_select_that_its_label_draws_has_one_line_with_its_value(lines):
    hidden = "width:1px;height:1px;opacity:0;border:0;padding:0"
    body = (
        f"<label><div style='cursor:pointer;{PAD}'><div>Place</div><span>Dock</span><input role=combobox readonly "
        f"aria-label=Place value=Dock style='{hidden}'><i aria-hidden=true>arrow_drop_down</i></div></label>"
        "<label>Due <input><i style='cursor:pointer'>today</i></label>"
    )
    texts = [line.rsplit(" ", 2)[0] for line in lines(body)]
    assert texts == ['- select "Place" value "Dock"', '- field "Due today"', '- button "today"']
