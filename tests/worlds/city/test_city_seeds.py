"""The data of a copy differ by seed, and agree with themselves within and across sites."""

from __future__ import annotations

import base64
import re
from decimal import Decimal

import pytest

from tests.worlds.city.visitor import DESK, FORUM, SHOP, Server, Visitor

SEEDS = range(1, 11)
ORDERS = """SELECT o.id, o.number, o.status, o.total_incl_tax AS total, o.date_placed AS placed, u.username
    FROM order_order o JOIN auth_user u ON u.id = o.user_id ORDER BY o.id"""
LINES = "SELECT order_id, partner_sku AS code, quantity FROM order_line ORDER BY order_id, id"
STOCK = """SELECT p.id, p.upc AS code, p.title, s.price, s.num_in_stock AS stock, s.num_allocated AS allocated
    FROM partner_stockrecord s JOIN catalogue_product p ON p.id = s.product_id ORDER BY p.id"""
TICKETS = """SELECT t.id, t.title, t.description, t.submitter_email AS author, t.priority, t.status, t.queue_id,
    t.assigned_to_id AS assigned, t.created FROM helpdesk_ticket t ORDER BY t.id"""
TOPICS = """SELECT t.id, t.slug, t.subject, t.type, t.status, t.poster_id, t.posts_count, t.created, t.last_post_on,
    t.first_post_id, t.last_post_id, f.slug AS forum_slug, f.id AS forum
    FROM forum_conversation_topic t JOIN forum_forum f ON f.id = t.forum_id ORDER BY t.id"""


@pytest.fixture(scope="module")
def keys(server):
    found = {seed: server.reset(seed) for seed in (0, *SEEDS)}
    yield found
    for key in found.values():
        server.control("drop", key=key)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT id, price FROM partner_stockrecord", id="prices"),
        pytest.param("SELECT id, num_in_stock - num_allocated FROM partner_stockrecord", id="stock"),
        pytest.param("SELECT number, user_id FROM order_order", id="owners"),
        pytest.param("SELECT number, status FROM order_order", id="statuses of orders"),
        pytest.param("SELECT number, total_incl_tax FROM order_order", id="totals"),
        pytest.param("SELECT number, date_placed FROM order_order", id="dates"),
        pytest.param(LINES, id="lines"),
        pytest.param("SELECT upc, rating FROM catalogue_product", id="ratings"),
        pytest.param("SELECT title FROM helpdesk_ticket", id="which tickets"),
        pytest.param("SELECT title, submitter_email FROM helpdesk_ticket", id="authors"),
        pytest.param("SELECT title, priority FROM helpdesk_ticket", id="priorities"),
        pytest.param("SELECT title, queue_id FROM helpdesk_ticket", id="queues"),
        pytest.param("SELECT title, assigned_to_id FROM helpdesk_ticket", id="assignees"),
        pytest.param("SELECT title, status FROM helpdesk_ticket", id="statuses of tickets"),
        pytest.param("SELECT subject FROM forum_conversation_topic", id="which topics"),
        pytest.param("SELECT subject, posts_count FROM forum_conversation_topic", id="answers"),
        pytest.param("SELECT subject, poster_id FROM forum_conversation_topic", id="who opened topics"),
        pytest.param("SELECT subject, status FROM forum_conversation_topic", id="locked topics"),
        pytest.param("SELECT user_id, posts_count FROM forum_member_forumprofile", id="posts of members"),
    ],
)
def test_seeds_differ(server, keys, sql):
    answers = {str(server.query(key, sql)) for key in keys.values()}
    assert len(answers) == 11


def test_a_seed_has_equal_bytes_in_every_process(server, image):
    def database(started: Server, seed: int) -> str:
        return started.control("database", key=started.reset(seed))[1]["database"]

    other = Server(image)
    try:
        assert database(other, 3) == database(server, 3)
    finally:
        other.stop()
    assert database(server, 3) != database(server, 4)


def test_seed_zero_is_the_image(server, image):
    database = server.control("database", key=server.reset(0))[1]["database"]
    assert base64.b64decode(database) == (image / "city.sqlite3").read_bytes()


def test_prices_are_plausible(server, keys):
    usual = {row["code"]: Decimal(str(row["price"])) for row in server.query(keys[0], STOCK)}
    assert len(usual) >= 80
    for seed in SEEDS:
        for row in server.query(keys[seed], STOCK):
            price = Decimal(str(row["price"]))
            assert usual[row["code"]] * 3 / 4 <= price <= usual[row["code"]] * 5 / 4, row
            assert price % 1 in {Decimal("0"), Decimal("0.5"), Decimal("0.9"), Decimal("0.95")}, row


def test_orders_add_up(server, keys):
    for key in keys.values():
        prices = {row["code"]: Decimal(str(row["price"])) for row in server.query(key, STOCK)}
        orders = server.query(key, ORDERS)
        assert len(orders) >= 60
        sums = dict.fromkeys((order["id"] for order in orders), Decimal(0))
        for line in server.query(key, LINES):
            sums[line["order_id"]] += prices[line["code"]] * line["quantity"]
        assert {order["id"]: Decimal(str(order["total"])) for order in orders} == sums
        assert [order["placed"] for order in orders] == sorted(order["placed"] for order in orders)


def test_lines_are_priced_as_their_goods(server, keys):
    sql = """SELECT l.id FROM order_line l JOIN partner_stockrecord s ON s.id = l.stockrecord_id
        JOIN catalogue_product p ON p.id = l.product_id JOIN order_lineprice q ON q.line_id = l.id
        JOIN order_order o ON o.id = l.order_id
        WHERE l.unit_price_incl_tax != s.price OR l.line_price_incl_tax != round(s.price * l.quantity, 2)
        OR q.price_incl_tax != s.price OR q.quantity != l.quantity OR q.order_id != l.order_id
        OR l.title != p.title OR p.upc != l.partner_sku OR s.product_id != p.id OR l.status != o.status"""
    for key in keys.values():
        assert server.query(key, sql) == []
        counts = "SELECT (SELECT count(*) FROM order_line) - (SELECT count(*) FROM order_lineprice) AS n"
        assert server.query(key, counts) == [{"n": 0}]


def test_open_orders_allocate_the_stock(server, keys):
    sql = """SELECT partner_sku AS code, sum(quantity) AS n FROM order_line
        WHERE status IN ('Pending', 'Being processed') GROUP BY partner_sku"""
    for key in keys.values():
        waiting = {row["code"]: row["n"] for row in server.query(key, sql)}
        for row in server.query(key, STOCK):
            assert row["allocated"] == waiting.get(row["code"], 0)
            assert row["stock"] >= row["allocated"]
    free = [row["stock"] - row["allocated"] for row in server.query(keys[1], STOCK)]
    assert 0 in free
    assert any(0 < count <= 3 for count in free)


def test_parcels_go_to_who_ordered_them(server, keys):
    sql = """SELECT o.number FROM order_order o JOIN auth_user u ON u.id = o.user_id
        JOIN order_shippingaddress a ON a.id = o.shipping_address_id
        JOIN address_useraddress h ON h.user_id = u.id
        WHERE a.first_name != u.first_name OR a.line1 != h.line1 OR a.search_text != h.search_text"""
    for key in keys.values():
        assert server.query(key, sql) == []


def test_each_good_and_each_customer_has_orders(server, keys):
    for key in keys.values():
        assert len({line["code"] for line in server.query(key, LINES)}) >= 80
        assert len({order["username"] for order in server.query(key, ORDERS)}) == 10
        assert len({order["status"] for order in server.query(key, ORDERS)}) == 4


def test_ratings_are_the_means_of_the_reviews(server, keys):
    sql = """SELECT p.rating, avg(r.score) AS mean, count(DISTINCT r.user_id) AS people, count(r.id) AS n
        FROM catalogue_product p LEFT JOIN reviews_productreview r ON r.product_id = p.id GROUP BY p.id"""
    for key in keys.values():
        for row in server.query(key, sql):
            assert row["rating"] == row["mean"]
            assert row["people"] == row["n"], "nobody reviews a good twice"


def test_a_ticket_names_an_order_of_its_author(server, keys):
    goods = {"rope": "RL-1", "glove": "CL-205", "chart": "NV-303", "kettle": "GL-501", "stove": "GL-502"}
    for key in keys.values():
        orders = {order["number"]: order for order in server.query(key, ORDERS)}
        contents: dict[int, list[str]] = {}
        for line in server.query(key, LINES):
            contents.setdefault(line["order_id"], []).append(line["code"])
        tickets = server.query(key, TICKETS)
        assert len(tickets) >= 30
        named = [(ticket, number) for ticket in tickets for number in re.findall(r"\b1\d{5}\b", ticket["description"])]
        assert len(named) >= 8
        for ticket, number in named:
            assert ticket["author"] == f"{orders[number]['username']}@harbour.test", ticket
            assert ticket["created"] >= orders[number]["placed"], ticket
            for word, code in goods.items():
                if word in ticket["title"] or f"{word} of order" in ticket["description"]:
                    assert any(line.startswith(code) for line in contents[orders[number]["id"]]), ticket
        assert not [ticket for ticket in tickets if "{" in ticket["title"] + ticket["description"]]


def test_letters_name_orders_and_tickets_of_their_people(server, keys):
    sql = """SELECT m.subject || ' ' || m.body AS text, m.sent_at AS sent, s.username AS sender, r.username AS recipient
        FROM postman_message m JOIN auth_user s ON s.id = m.sender_id JOIN auth_user r ON r.id = m.recipient_id"""
    for key in keys.values():
        known = {order["number"]: (order["username"], order["placed"]) for order in server.query(key, ORDERS)}
        slugs = {row["id"]: row["slug"] for row in server.query(key, "SELECT id, slug FROM helpdesk_queue")}
        for ticket in server.query(key, TICKETS):
            name = f"{slugs[ticket['queue_id']]}-{ticket['id']}"
            known[name] = ticket["author"].partition("@")[0], ticket["created"]
        letters = server.query(key, sql)
        named = [(name, row) for row in letters for name in re.findall(r"\b(?:1\d{5}|[a-z]+-\d+)\b", row["text"])]
        assert len(named) >= 25
        for name, letter in named:
            assert known[name][0] in (letter["sender"], letter["recipient"]), (name, letter)
            assert known[name][1] < letter["sent"], (name, letter)


def test_answers_come_after_their_ticket_and_from_its_author(server, keys):
    sql = """SELECT f.ticket_id, f.date, f.user_id, u.email, u.is_staff, t.created, t.submitter_email AS author
        FROM helpdesk_followup f JOIN auth_user u ON u.id = f.user_id
        LEFT JOIN helpdesk_ticket t ON t.id = f.ticket_id"""
    for key in keys.values():
        for row in server.query(key, sql):
            assert row["created"] < row["date"] < "2026-03-16 09:00:00"
            assert row["is_staff"] or row["email"] == row["author"]


def test_the_forum_counts_its_posts(server, keys):
    for key in keys.values():
        posts = server.query(
            key, "SELECT id, topic_id, poster_id, created FROM forum_conversation_post ORDER BY created"
        )
        topics = server.query(key, TOPICS)
        assert len(topics) >= 30
        assert {post["topic_id"] for post in posts} == {topic["id"] for topic in topics}
        for topic in topics:
            own = [post for post in posts if post["topic_id"] == topic["id"]]
            assert (topic["posts_count"], topic["first_post_id"], topic["last_post_id"]) == (
                len(own),
                own[0]["id"],
                own[-1]["id"],
            )
            assert topic["poster_id"] == own[0]["poster_id"]
            assert (topic["created"], topic["last_post_on"]) == (own[0]["created"], own[-1]["created"])
        for forum in server.query(key, "SELECT * FROM forum_forum WHERE type = 0"):
            own = [topic for topic in topics if topic["forum"] == forum["id"]]
            newest = max(own, key=lambda topic: topic["last_post_on"])
            assert forum["direct_topics_count"] == len(own)
            assert forum["direct_posts_count"] == sum(topic["posts_count"] for topic in own)
            assert (forum["last_post_id"], forum["last_post_on"]) == (newest["last_post_id"], newest["last_post_on"])
        counts = server.query(key, "SELECT user_id, posts_count FROM forum_member_forumprofile")
        for row in counts:
            assert row["posts_count"] == sum(post["poster_id"] == row["user_id"] for post in posts)


def test_rows_belong_to_rows_that_exist(server, keys):
    for key in keys.values():
        assert server.query(key, "PRAGMA foreign_key_check") == []


def test_the_shop_shows_the_seeds_data(server, keys):
    for seed in (1, 2):
        visitor = Visitor(server, keys[seed])
        goods = server.query(keys[seed], STOCK)
        page = visitor.get(SHOP, f"/catalogue/x_{goods[0]['id']}/")
        assert f"${goods[0]['price']:.2f}" in page
        sold_out = next(good for good in goods if good["stock"] == good["allocated"])
        assert "Unavailable" in visitor.get(SHOP, f"/catalogue/x_{sold_out['id']}/")
        order = next(order for order in server.query(keys[seed], ORDERS) if order["status"] == "Complete")
        buyer = Visitor(server, *_logged_in(server, seed, SHOP, order["username"]))
        page = buyer.get(SHOP, f"/accounts/orders/{order['number']}/")
        assert f"${order['total']:.2f}" in page
        assert "Complete" in page


def test_desk_and_forum_show_the_seeds_data(server, keys):
    for seed in (1, 2):
        clerk = Visitor(server, *_logged_in(server, seed, DESK, "dana"))
        ticket = server.query(keys[seed], TICKETS)[0]
        page = clerk.get(DESK, f"/tickets/{ticket['id']}/")
        assert ticket["author"] in page
        assert re.search(r"\b1\d{5}\b", ticket["description"])[0] in page
        topics = server.query(keys[seed], TOPICS)
        reader = Visitor(server, keys[seed])
        page = reader.get(FORUM, f"/forum/{topics[0]['forum_slug']}-{topics[0]['forum']}/")
        for topic in topics:
            if topic["forum"] == topics[0]["forum"]:
                assert topic["slug"] in page


def test_an_order_may_be_placed_in_a_seed(server):
    key, cookies = _logged_in(server, 5, SHOP, "alice")
    buyer = Visitor(server, key, cookies)
    before = server.query(key, ORDERS)
    good = next(good for good in server.query(key, STOCK) if good["stock"] - good["allocated"] > 3)
    buyer.add_to_basket(good["id"])
    page = "/checkout/shipping-address/"
    (home,) = server.query(key, "SELECT a.id FROM address_useraddress a JOIN auth_user u ON u.id = a.user_id "
                                "WHERE u.username = 'alice'")  # fmt: skip
    assert buyer.post(SHOP, page, page, action="ship_to", address_id=str(home["id"])) == 302
    buyer.get(SHOP, "/checkout/shipping-method/")
    assert buyer.post(SHOP, "/checkout/payment-details/", "/checkout/preview/", payment_method="invoice") == 302
    assert buyer.post(SHOP, "/checkout/preview/", "/checkout/preview/", action="place_order") == 302
    after = server.query(key, ORDERS)
    assert [order["username"] for order in after[len(before) :]] == ["alice"]
    seeded, placed = server.query(key, "SELECT * FROM order_order ORDER BY id DESC LIMIT 2")[::-1]
    dealt = {"id", "number", "status", "date_placed", "basket_id", "shipping_address_id", "user_id"}
    dealt |= {"total_incl_tax", "total_excl_tax"}
    assert {name: seeded[name] for name in seeded if name not in dealt} == {
        name: placed[name] for name in placed if name not in dealt
    }, "a seed's orders have the columns that the checkout writes"
    old, new = server.query(key, "SELECT * FROM order_line ORDER BY id DESC LIMIT 2")[::-1]
    assert {name for name in old if old[name] is None} == {name for name in new if new[name] is None}
    assert new["num_allocated"] == new["quantity"]


def _logged_in(server: Server, seed: int, host: str, username: str) -> tuple[str, dict[str, dict[str, str]]]:
    status, ready = server.control("reset", seed=seed, logins={host: username})
    assert status == 200, ready
    return ready["key"], ready["cookies"]
