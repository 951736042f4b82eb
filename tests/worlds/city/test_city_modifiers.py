"""Modifiers of the city: the same sites on another day."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from components.worlds.city import City, image
from components.worlds.city.image import SERVER
from components.worlds.city.params import CityParams
from components.worlds.city.wording import wordings
from tests.worlds.city.visitor import DESK, FORUM, PASSWORD, SHOP, Visitor, visitor_with

LOOKS = ("theme", "layout", "labels", "language", "cookie_banner", "popup")
ALL_BUT_SLOW = (*LOOKS, "declined_payment", "error_once", "expired_session", "out_of_stock")
PAGES = ((SHOP, "/catalogue/"), (SHOP, "/catalogue/x_7/"), (FORUM, "/forum/boats-and-gear-3/"), (DESK, "/kb/"))
STYLE = re.compile(r"<style>\n.*?\n</style>\n", re.DOTALL)


def test_episodes_depend_on_the_modifiers_and_the_image_does_not(monkeypatch, tmp_path):
    monkeypatch.setattr(image, "SERVER", tmp_path)
    (tmp_path / "modifiers").mkdir()
    for name in ("copies.py", "modifiers/slow.py"):
        (tmp_path / name).write_text("one")
    settings, folder = City(CityParams()).episode_settings(), image.digest()
    (tmp_path / "modifiers/slow.py").write_text("two")
    assert City(CityParams()).episode_settings() != settings
    assert image.digest() == folder
    (tmp_path / "copies.py").write_text("two")
    assert (changed := image.digest()) != folder
    (tmp_path / "sites").mkdir()
    (tmp_path / "copies.py").rename(tmp_path / "sites/copies.py")
    assert image.digest() != changed, "a module that moves is another module"


def test_an_unknown_modifier_is_refused_with_the_list(server):
    status, answer = server.control("reset", seed=1, modifiers=["theme", "gravity"])
    assert status == 400
    assert "there is no modifier gravity; there are cookie_banner, " in answer["error"]
    assert all(name in answer["error"] for name in (*ALL_BUT_SLOW, "slow"))


def test_the_same_seed_and_modifiers_give_equal_bytes(server):
    def episode(seed: int, modifiers: tuple[str, ...]) -> tuple[list[tuple[int, str]], str]:
        visitor = visitor_with(server, *modifiers, seed=seed)
        answers = [visitor.request(host, path)[:2] for host, path in PAGES * 2]
        return answers, server.control("database", key=visitor.key)[1]["database"]

    assert episode(3, ALL_BUT_SLOW) == episode(3, ALL_BUT_SLOW[::-1])
    assert episode(3, ("theme",)) != episode(4, ("theme",)), "the scheme depends on the seed"


@pytest.mark.parametrize("modifier", ALL_BUT_SLOW)
def test_looking_changes_no_row(server, modifier):
    visitor = visitor_with(server, modifier, **{DESK: "dana", FORUM: "bruno", SHOP: "alice"})
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    for host, path in (*PAGES, (SHOP, "/basket/"), (SHOP, "/accounts/profile/"), (DESK, "/tickets/1/"), (FORUM, "/")):
        visitor.request(host, path)
    assert server.diff(before, visitor.key) == {}


@pytest.mark.parametrize("modifier", ["theme", "layout"])
def test_styles_are_all_that_a_look_adds(server, modifier):
    logins = {DESK: "admin", "mail.test": "dana", "calendar.test": "dana"}
    plain, dressed = visitor_with(server, **logins), visitor_with(server, modifier, **logins)
    staff = ((DESK, "/admin/auth/user/"), (DESK, "/tickets/1/"), ("mail.test", "/inbox/"), ("calendar.test", "/"))
    for host, path in (*PAGES, *staff):
        page = dressed.get(host, path)
        assert len(STYLE.findall(page)) == 1, (host, path)
        assert STYLE.sub("", page) == STYLE.sub("", plain.get(host, path))


def test_the_text_cursor_of_every_page_is_steady(server):
    plain = visitor_with(server)
    for host, path in PAGES:
        assert STYLE.findall(plain.get(host, path)) == ["<style>\n:root { caret-animation: manual; }\n</style>\n"]


def test_labels_are_renamed_and_data_are_not(server):
    visitor = visitor_with(server, "labels")
    page = visitor.get(SHOP, "/catalogue/x_7/")
    assert ">Add to cart<" not in page
    assert re.search(r'<button type="submit"[^>]*>\s*(Put in basket|Buy this|Take one)\s*<', page)
    assert re.search(r'placeholder="(Find|Look up)"', page)
    visitor.add_to_basket(7)
    visitor.log_in(FORUM, "alice")
    path = "/forum/boats-and-gear-3/topic/which-anchor-for-mud-4/"
    assert visitor.post(FORUM, f"{path}post/create/", f"{path}post/create/", subject="Re", content="Delete") == 302
    page = visitor.get(FORUM, path)
    assert "<p>Delete</p>" in page
    assert "Which anchor for mud?" in page
    assert not re.search(r"<a [^>]*>(<i[^>]*>&nbsp;</i>)?\s*Post reply", page)


def test_no_label_is_the_name_of_data(server):
    """A text that people wrote is not renamed, even where it is the whole text of a link."""
    key = server.reset()
    columns = server.query(
        key,
        "SELECT tables.name AS 'table', columns.name AS 'column' FROM sqlite_master tables, "
        "pragma_table_info(tables.name) columns WHERE tables.type = 'table' AND tables.name GLOB '[chpsw]*_*' "
        "AND columns.name IN ('title', 'name', 'subject', 'question') AND tables.name NOT LIKE 'payment_%'",
    )
    data = {
        str(row["text"])
        for pair in columns
        for row in server.query(key, f'SELECT "{pair["column"]}" AS text FROM "{pair["table"]}"')
    }
    assert {"Whistling kettle, 1.5 l", "Ropes and lines", "Workshop"} <= data
    labels = set()
    for name in ("modifiers/labels.py", "translations.py"):
        found = re.findall(r'^    "([^"]+)": \(', (SERVER / "city" / name).read_text(), re.MULTILINE)
        assert len(found) > 50
        labels |= set(found)
    assert data & labels == set()


def test_the_interface_speaks_another_language(server):
    pages = {visitor_with(server, "language", seed=seed).get(SHOP, "/catalogue/x_7/") for seed in range(1, 9)}
    for page in pages:
        assert "Whistling kettle" in page or "<h1>" in page
        assert "Add to cart" not in page
    assert any("In Warenkorb legen" in page for page in pages)
    assert any("Añadir al carrito" in page for page in pages)
    visitor = visitor_with(server, "language", seed=2)
    assert "Neues Thema" in visitor.get(FORUM, "/forum/boats-and-gear-3/") or "Suchen" in visitor.get(FORUM, "/")
    assert "Which anchor for mud?" in visitor.get(FORUM, "/forum/boats-and-gear-3/")
    visitor.log_in(DESK, "dana")
    assert "Alle Tickets" in visitor.get(DESK, "/tickets/1/")
    assert "The eye of my mooring rope is torn" in visitor.get(DESK, "/tickets/1/")
    mail = visitor_with(server, "language", seed=2, **{"mail.test": "dana"}).get("mail.test", "/inbox/")
    assert "Posteingang" in mail
    assert "Als gelesen markieren" in mail
    assert "Log in" in visitor_with(server).get(DESK, "/accounts/login/"), "other copies stay English"


def test_slow_pages_do_not_hold_up_other_copies(server):
    visitors = [visitor_with(server, "slow", seed=seed) for seed in range(12)]

    def end(visitor: Visitor) -> float:
        visitor.get(DESK, "/accounts/login/")
        return time.monotonic()

    began = time.monotonic()
    with ThreadPoolExecutor(12) as threads:
        ends = sorted(threads.map(end, visitors))
    assert ends[0] - began >= 0.5
    assert ends[-1] - ends[0] > 0.3, "the seed decides how long"
    assert min(later - earlier for earlier, later in pairwise(ends)) < 0.4, "in turn they would be 0.5 s apart or more"


def test_a_request_that_waits_while_its_copy_is_dropped_changes_no_other(server):
    visitor = visitor_with(server, "slow", seed=47)  # with this seed the request below waits for 2.4 s
    visitor.cookies[SHOP] = {"csrftoken": "a" * 32}
    form = {"csrfmiddlewaretoken": "a" * 32, "quantity": "1"}
    with ThreadPoolExecutor(1) as thread:
        late = thread.submit(visitor.request, SHOP, "/basket/add/5/", form)
        time.sleep(0.4)
        server.control("drop", key=visitor.key)
        following = server.reset()
        before = server.control("snapshot", key=following)[1]["key"]
        assert late.result()[0] == 403
    assert server.diff(before, following) == {}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_page_fails_once_and_no_form_does(server, seed):
    visitor = visitor_with(server, "error_once", seed=seed)
    statuses = [visitor.request(SHOP, "/catalogue/")[0] for _ in range(7)]
    (failed,) = [number for number, status in enumerate(statuses) if status != 200]
    assert statuses[failed] in (500, 503)
    assert failed > 0, "the start page never fails"
    visitor = visitor_with(server, "error_once", seed=seed)
    for _ in range(failed):
        page = visitor.get(SHOP, "/catalogue/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    form = {"csrfmiddlewaretoken": token[1], "quantity": "1"}
    assert visitor.request(SHOP, "/basket/add/7/", form)[0] == 302
    fork = Visitor(server, server.control("fork", key=visitor.key)[1]["key"], {SHOP: {**visitor.cookies[SHOP]}})
    for guest in (visitor, fork):
        status, page, _ = guest.request(SHOP, "/basket/")
        assert status == statuses[failed]
        assert "Try again" in page
        assert len(re.findall('class="basket-items"', guest.get(SHOP, "/basket/"))) == 1, "the article is in the basket"


def test_a_session_ends_once_and_logging_in_again_works(server):
    visitor = visitor_with(server, "expired_session", **{DESK: "dana"})
    answers = [visitor.request(DESK, "/tickets/1/") for _ in range(8)]
    first = [status for status, _, _ in answers].index(302)
    assert 2 <= first <= 5
    assert "/accounts/login/" in answers[first][2]["Location"] or "/login/" in answers[first][2]["Location"]
    page = "/accounts/login/"
    assert visitor.post(DESK, page, page, username="dana", password=PASSWORD, next="/") == 302
    assert [visitor.request(DESK, "/tickets/1/")[0] for _ in range(10)] == [200] * 10


@pytest.mark.parametrize(
    ("modifier", "element", "cookie"),
    [("cookie_banner", "city-cookies", "cookie_choice"), ("popup", "city-popup", "newsletter")],
)
def test_what_covers_the_page_stays_until_it_is_answered(server, modifier, element, cookie):
    visitor = visitor_with(server, modifier)
    pages = [visitor.get(FORUM, "/") for _ in range(3)]
    assert (f'id="{element}"' in pages[0]) == (modifier == "cookie_banner"), "a dialog comes later"
    assert f'id="{element}"' in pages[2]
    assert f'id="{element}"' in visitor.get(FORUM, "/forum/the-quay-6/")
    visitor.cookies[FORUM][cookie] = "closed"
    assert f'id="{element}"' not in visitor.get(FORUM, "/")


def test_a_third_of_the_goods_is_sold_out(server):
    free = "SELECT product_id AS id FROM partner_stockrecord WHERE num_in_stock <= coalesce(num_allocated, 0)"
    sold_out = {}
    for seed in (1, 2):
        visitor = visitor_with(server, "out_of_stock", seed=seed)
        sold_out[seed] = {row["id"] for row in server.query(visitor.key, free)}
        count = server.query(visitor.key, "SELECT count(*) AS n FROM partner_stockrecord")[0]["n"]
        assert len(sold_out[seed]) >= count // 3
    assert sold_out[1] != sold_out[2]
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    product = min(sold_out[2])
    assert "Unavailable" in visitor.get(SHOP, f"/catalogue/x_{product}/")
    visitor.post(SHOP, "/catalogue/", f"/basket/add/{product}/", quantity="1")
    assert "basket_line" not in server.diff(before, visitor.key)


def check_out(visitor: Visitor, method: str) -> None:
    """Buy a kettle, up to the preview of the order."""
    visitor.add_to_basket(7)
    page = visitor.get(SHOP, "/checkout/shipping-address/")
    address = re.search(r'name="address_id" value="(\d+)"', page)
    path = "/checkout/shipping-address/"
    assert visitor.post(SHOP, path, path, action="ship_to", address_id=address[1]) == 302
    visitor.get(SHOP, "/checkout/shipping-method/")
    assert visitor.post(SHOP, "/checkout/payment-details/", "/checkout/preview/", payment_method=method) == 302


def place_order(visitor: Visitor) -> tuple[int, str]:
    """Press the button of the preview."""
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', visitor.get(SHOP, "/checkout/preview/"))
    form = {"csrfmiddlewaretoken": token[1], "action": "place_order"}
    return visitor.request(SHOP, "/checkout/preview/", form)[:2]


def test_an_order_records_how_it_is_paid(server):
    visitor = visitor_with(server, **{SHOP: "alice"})
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    check_out(visitor, "transfer")
    assert "Bank transfer" in visitor.get(SHOP, "/checkout/preview/")
    assert place_order(visitor)[0] == 302
    rows = server.diff(before, visitor.key)
    (source,), (order,) = rows["payment_source"], rows["order_order"]
    assert source["after"]["order_id"] == order["key"]
    assert source["after"]["amount_allocated"] == order["after"]["total_incl_tax"]
    kinds = server.query(visitor.key, "SELECT id, code FROM payment_sourcetype ORDER BY code")
    assert [row["code"] for row in kinds] == ["counter", "invoice", "transfer"]
    assert source["after"]["source_type_id"] == str(kinds[2]["id"])


def test_without_a_choice_of_payment_there_is_no_order(server):
    visitor = visitor_with(server, **{SHOP: "alice"})
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    with pytest.raises(AssertionError):
        check_out(visitor, "card")
    status, _, headers = visitor.request(SHOP, "/checkout/preview/")
    assert (status, headers["Location"]) == (302, "/checkout/payment-details/")
    assert "order_order" not in server.diff(before, visitor.key)


def test_the_first_payment_is_declined_and_the_second_works(server):
    visitor = visitor_with(server, "declined_payment", **{SHOP: "alice"})
    before = server.control("snapshot", key=visitor.key)[1]["key"]
    check_out(visitor, "invoice")
    status, page = place_order(visitor)
    assert status == 200
    assert re.search(r"payment (was declined|could not be accepted)", page)
    rows = server.diff(before, visitor.key)
    assert set(rows) == {"basket_line"}, "the basket stays and no order is placed"
    assert place_order(visitor)[0] == 302
    assert len(server.diff(before, visitor.key)["order_order"]) == 1


def test_modifiers_combine(server):
    page = visitor_with(server, "cookie_banner", "theme", "language", "labels", "layout", seed=2).get(
        SHOP, "/catalogue/"
    )
    assert "In Warenkorb legen" in page
    assert 'id="city-cookies"' in page
    (style,) = STYLE.findall(page)
    assert "font-family" in style
    assert "line-height" in style
    assert page.rstrip().endswith("</html>")


def test_what_is_no_page_stays_as_it_is(server):
    plain, modified = visitor_with(server), visitor_with(server, "theme", "labels", "cookie_banner", "popup")
    page = modified.get(SHOP, "/catalogue/x_7/")
    picture = re.search(r'src="(/media/[^"]+)"', page)
    for host, path in ((FORUM, "/feeds/forum/boats-and-gear-3/topics/all/"), (SHOP, picture[1])):
        assert modified.request(host, path)[:2] == plain.request(host, path)[:2]


def test_the_oracles_words_of_a_language_are_those_of_its_pages(server):
    """Also where the usual text is a translation ("Add to cart"), and where several applications translate it."""
    words = wordings(range(1, 2), ("language",))[1]
    visitor = visitor_with(server, "language", seed=1, **{SHOP: "alice"})
    plain = visitor_with(server, seed=1, **{SHOP: "alice"})
    for path, label in (
        ("/catalogue/x_7/", "Add to cart"),
        ("/catalogue/x_7/reviews/add/", "Body"),
        ("/accounts/addresses/", "Add a new address"),
    ):
        assert label in plain.get(SHOP, path)
        page = visitor.get(SHOP, path)
        assert label not in page
        assert words.labels[label] in page


def test_the_words_of_a_dismissal_name_what_is_there_with_it(server):
    popup, again = (wordings(range(1, 2), (name,))[1].dismissals[0] for name in ("popup", "error_once"))
    assert (popup.role, popup.name, popup.beside) == ("button", "Close", ("field", "E-mail for the newsletter"))
    assert (again.role, again.name, again.words) == ("link", "Try again", "load the page again")
