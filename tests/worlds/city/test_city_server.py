"""The city's server: real Django sites, with one isolated copy of their data per episode."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
from concurrent.futures import ThreadPoolExecutor

import psutil

from components.worlds.city.image import ensure
from tests.worlds.city.visitor import DESK, FORUM, SHOP, Server, Visitor


def test_sites_show_what_they_are_seeded_with(server):
    visitor = Visitor(server, server.reset())
    assert "Whistling kettle, 1.5 l" in visitor.get(SHOP, "/search/?q=kettle")
    assert "Wool watch cap" in visitor.get(SHOP, "/catalogue/?sort_by=title-asc&page=4")
    assert "Which anchor for mud?" in visitor.get(FORUM, "/forum/boats-and-gear-3/")
    visitor.log_in(DESK, "dana")
    assert "The eye of my mooring rope is torn" in visitor.get(DESK, "/tickets/1/")


def test_the_shop_loads_nothing_from_elsewhere(server):
    visitor = Visitor(server, server.reset())
    for path in ("/catalogue/", "/basket/", "/accounts/login/"):
        page = visitor.get(SHOP, path)
        assert "jquery.min.js" in page
        assert not re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//(?!\w+\.test/)[^"]*', page
        )


def test_the_cart_page_has_what_middleware_adds_to_templates(server):
    """django-oscar's middleware gives templates the cart in `process_template_response`; else the page is an error."""
    visitor = Visitor(server, server.reset())
    visitor.add_to_basket(5)
    page = visitor.get(SHOP, "/basket/")
    totals = re.sub(r"<[^>]+>|\s+", " ", page[page.index('id="basket_totals"') :])
    assert re.search(r"Cart total +\$9\.80 .*Order total +\$9\.80", totals), totals


def test_search_finds_what_the_episode_has_written(server):
    visitor = Visitor(server, server.reset())
    visitor.log_in(FORUM, "alice")
    page = "/forum/boats-and-gear-3/topic/which-anchor-for-mud-4/post/create/"
    assert visitor.post(FORUM, page, page, subject="Re: anchors", content="Mine is a mushroom anchor.") == 302
    assert "mushroom" in visitor.get(FORUM, "/search/?q=mushroom")
    assert "mushroom" not in Visitor(server, server.reset()).get(FORUM, "/search/?q=mushroom")


def test_a_difference_is_what_was_done_and_nothing_else(server):
    key = server.reset()
    before = server.control("snapshot", key=key)[1]["key"]
    visitor = Visitor(server, key)
    visitor.get(SHOP, "/catalogue/x_5/")
    assert server.diff(before, key) == {}, "looking changes nothing"
    visitor.add_to_basket(5)
    rows = server.diff(before, key)
    assert {table: len(found) for table, found in rows.items()} == {"basket_line": 1}
    line = rows["basket_line"][0]
    assert line["before"] is None
    assert (line["after"]["product_id"], line["after"]["quantity"]) == ("5", "1")


def test_a_change_and_a_removal_are_told_apart(server):
    key = server.reset()
    visitor = Visitor(server, key)
    visitor.add_to_basket(5)
    before = server.control("snapshot", key=key)[1]["key"]
    prefix = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-MIN_NUM_FORMS": "0", "form-MAX_NUM_FORMS": "9"}
    line = str(server.query(key, "SELECT max(id) AS id FROM basket_line")[0]["id"])
    form = {**prefix, "form-0-id": line, "form-0-quantity": "3"}
    assert visitor.post(SHOP, "/basket/", "/basket/", **form) == 302
    (changed,) = server.diff(before, key)["basket_line"]
    assert (changed["before"]["quantity"], changed["after"]["quantity"]) == ("1", "3")
    assert visitor.post(SHOP, "/basket/", "/basket/", **{**form, "form-0-quantity": "0"}) == 302
    (removed,) = server.diff(before, key)["basket_line"]
    assert removed["after"] is None


def test_copies_do_not_see_one_another(server):
    visitors = [Visitor(server, server.reset()) for _ in range(8)]

    def shop(number: int) -> None:
        for product in range(1 + number, 4 + number):
            visitors[number].add_to_basket(product)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(shop, range(8)))
    for number, visitor in enumerate(visitors):
        rows = server.query(
            visitor.key, "SELECT product_id FROM basket_line WHERE basket_id = (SELECT max(id) FROM basket_basket)"
        )
        assert {row["product_id"] for row in rows} == set(range(1 + number, 4 + number))


def test_a_session_of_one_copy_opens_nothing_in_another(server):
    first = Visitor(server, server.reset())
    first.log_in(DESK, "dana")
    assert "Log Out" in first.get(DESK, "/dashboard/") or "logout" in first.get(DESK, "/dashboard/").lower()
    status, _, headers = Visitor(server, server.reset(), first.cookies).request(DESK, "/dashboard/")
    assert status == 302
    assert "login" in headers["Location"]


def test_a_fork_goes_its_own_way(server):
    original = Visitor(server, server.reset())
    original.add_to_basket(1)
    fork = Visitor(
        server, server.control("fork", key=original.key)[1]["key"], {k: {**v} for k, v in original.cookies.items()}
    )
    assert fork.get(SHOP, "/basket/") == original.get(SHOP, "/basket/")
    fork.add_to_basket(2)
    assert "Mooring rope, 14 mm" in fork.get(SHOP, "/basket/")
    assert "Mooring rope, 14 mm" not in original.get(SHOP, "/basket/")


def test_the_same_episode_twice_has_equal_bytes(server):
    def episode(seed: int) -> tuple[list[str], str]:
        visitor = Visitor(server, server.reset(seed))
        pages = [visitor.get(SHOP, "/catalogue/"), visitor.get(SHOP, "/catalogue/x_7/")]
        visitor.add_to_basket(7)
        visitor.log_in(FORUM, "bruno")
        page = "/forum/passages-4/topic/create/"
        visitor.post(FORUM, page, page, subject="Home again", content="Dry, too.", topic_type="0")
        pages += [visitor.get(SHOP, "/basket/"), visitor.get(FORUM, "/forum/passages-4/")]
        return pages, server.control("database", key=visitor.key)[1]["database"]

    assert episode(5) == episode(5)
    assert episode(5) != episode(6), "tokens depend on the seed"


def test_without_its_key_no_copy_is_reached(server):
    assert Visitor(server, "0" * 32).request(SHOP, "/catalogue/")[0] == 403
    assert server.control("reset", token="guess", seed=1)[0] == 403
    key = server.reset()
    assert Visitor(server, key).request("elsewhere.test", "/")[0] == 404
    server.control("drop", key=key)
    assert Visitor(server, key).request(SHOP, "/catalogue/")[0] == 403
    assert server.control("fork", key=key)[0] == 404


def test_a_query_may_only_read(server):
    key = server.reset()
    status, answer = server.control("query", key=key, sql="DELETE FROM catalogue_product")
    assert status == 400
    assert "readonly" in answer["error"]
    assert server.query(key, "SELECT count(*) AS n FROM catalogue_product") == [{"n": 80}]


def test_dropped_copies_leave_nothing(server):
    before = server.control("count")[1]
    keys = [server.reset() for _ in range(50)]
    snapshots = [server.control("snapshot", key=key)[1]["key"] for key in keys[:20]]
    expected = {"copies": before["copies"] + 50, "snapshots": before["snapshots"] + 20}
    assert server.control("count")[1] == expected
    for key in (*keys, *snapshots):
        server.control("drop", key=key)
    assert server.control("count")[1] == before


def test_a_snapshot_takes_the_memory_of_what_changed(server):
    visitor = Visitor(server, server.reset(3))
    visitor.add_to_basket(5)
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    snapshots = [server.control("snapshot", key=visitor.key)[1]["key"] for _ in range(100)]
    grown = process.memory_info().rss - before
    for key in snapshots:
        server.control("drop", key=key)
    assert grown / len(snapshots) < 2**20, "the whole database has four MiB"


def test_a_snapshot_keeps_its_data_when_its_copy_changes_and_ends(server):
    copy = server.reset(3)
    Visitor(server, copy).add_to_basket(5)
    snapshot, expected = (server.control(name, key=copy)[1] for name in ("snapshot", "database"))
    Visitor(server, copy).add_to_basket(6)
    server.control("drop", key=copy)
    fork = server.control("fork", key=snapshot["key"])[1]["key"]
    Visitor(server, fork).add_to_basket(7)
    again = server.control("snapshot", key=fork)[1]["key"]
    assert server.control("database", key=snapshot["key"])[1] == expected
    assert {*server.diff(snapshot["key"], again)} == {"basket_line"}
    server.control("drop", key=snapshot["key"])
    assert server.diff(fork, again) == {}


def test_idle_connections_of_browsers_keep_no_page_waiting(image):
    """Sixteen contexts that have opened six sites keep up to 576, more than a shell lets a process open by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        server = Server(image)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    visitor = Visitor(server, server.reset())
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        for _ in range(600):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        assert "Harbour Forum" in visitor.get(FORUM, "/")


def test_the_server_ends_with_its_parent(image):
    started = Server(image)
    started.stop()
    assert started.process.returncode == 0


def test_an_episode_may_begin_logged_in(server):
    status, ready = server.control("reset", seed=0, logins={DESK: "dana", SHOP: "alice"})
    assert status == 200
    visitor = Visitor(server, ready["key"], ready["cookies"])
    assert "The eye of my mooring rope is torn" in visitor.get(DESK, "/tickets/1/")
    assert "alice@harbour.test" in visitor.get(SHOP, "/accounts/profile/")
    assert server.diff(server.reset(), visitor.key) == {}, "a session is no effect"
    before = server.control("count")
    status, answer = server.control("reset", seed=1, logins={SHOP: "zoe"})
    assert (status, answer["error"]) == (400, "ValueError: the city has no user zoe")
    assert server.control("count") == before, "no copy is left of an episode that did not begin"


def test_the_image_is_built_once(image):
    assert ensure() == image
    assert (image / "city.sqlite3").stat().st_size > 1_000_000
