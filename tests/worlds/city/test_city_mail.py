"""The city's mail: letters that agree with the other sites, and exactly the rows that a user's actions change."""

from __future__ import annotations

import re

import pytest

from tests.worlds.city.visitor import Visitor, changes, outside_links

MAIL = "mail.test"
PAGES = ("/inbox/", "/inbox/m/", "/sent/", "/archives/", "/trash/", "/write/", "/write/bruno/", "/people/")


def visit(server, username: str, key: str | None = None) -> Visitor:
    visitor = Visitor(server, key or server.reset())
    visitor.log_in(MAIL, username)
    return visitor


def write(visitor: Visitor, recipients: str, subject: str = "Lunch", body: str = "At noon?") -> int:
    return visitor.post(MAIL, "/write/", "/write/", recipients=recipients, subject=subject, body=body)


def letter_id(visitor: Visitor, subject: str, recipient: str) -> int:
    rows = visitor.server.query(
        visitor.key,
        "SELECT m.id FROM postman_message m JOIN auth_user u ON u.id = m.recipient_id "
        f"WHERE m.subject = '{subject}' AND u.username = '{recipient}'",
    )
    assert len(rows) == 1, rows
    return rows[0]["id"]


def test_folders_show_what_they_are_seeded_with(server):
    visitor = visit(server, "piet")
    assert "Crane on Thursday the 19th" in visitor.get(MAIL, "/inbox/")
    assert "The knocking" in visitor.get(MAIL, "/sent/")
    assert "Your order 100" in visit(server, "dana").get(MAIL, "/archives/")
    assert "Coffee at dawn" in visit(server, "jonas").get(MAIL, "/trash/")
    letter = letter_id(visitor, "Re: Crane on Thursday the 19th", "greta")
    assert "Bring your own slings" in visitor.get(MAIL, f"/view/{letter}/")


def test_letters_name_orders_and_tickets_that_their_people_have(server):
    key = server.reset()
    letters = server.query(
        key,
        "SELECT m.subject || ' ' || m.body AS text, s.username AS sender, r.username AS recipient "
        "FROM postman_message m JOIN auth_user s ON s.id = m.sender_id JOIN auth_user r ON r.id = m.recipient_id",
    )
    orders = {
        row["number"]: row["username"]
        for row in server.query(
            key, "SELECT o.number, u.username FROM order_order o JOIN auth_user u ON u.id = o.user_id"
        )
    }
    tickets = {
        f"{row['slug']}-{row['id']}": row["email"].partition("@")[0]
        for row in server.query(
            key,
            "SELECT t.id, q.slug, t.submitter_email AS email FROM helpdesk_ticket t "
            "JOIN helpdesk_queue q ON q.id = t.queue_id",
        )
    }
    named = [(name, letter) for letter in letters for name in re.findall(r"\b1001\d\d\b", letter["text"])]
    cited = [(name, letter) for letter in letters for name in re.findall(r"\b[a-z]+-\d+\b", letter["text"])]
    assert len(named) >= 10
    assert len(cited) >= 12
    strangers = [name for name, letter in named if orders.get(name) not in (letter["sender"], letter["recipient"])]
    strangers += [name for name, letter in cited if tickets.get(name) not in (letter["sender"], letter["recipient"])]
    assert strangers == []
    assert not any("{" in letter["text"] for letter in letters)


def test_letters_are_younger_than_the_tickets_that_they_name(server):
    rows = server.query(
        server.reset(),
        "SELECT m.subject, m.sent_at > t.created AS younger FROM postman_message m JOIN helpdesk_ticket t "
        "JOIN helpdesk_queue q ON q.id = t.queue_id WHERE m.body GLOB '*' || q.slug || '-' || t.id || '[^0-9]*'",
    )
    assert len(rows) >= 12
    assert [row["subject"] for row in rows if not row["younger"]] == []
    (tickets,) = server.query(
        server.reset(), "SELECT count(DISTINCT date(created)) AS days, max(created) AS last FROM helpdesk_ticket"
    )
    assert tickets["days"] > 8
    assert tickets["last"] < "2026-03-16 09:00:00", "the beginning of the episode"


def test_every_seeded_letter_is_older_than_the_episode(server):
    (row,) = server.query(
        server.reset(), "SELECT count(*) AS n, max(sent_at) AS last, max(read_at) AS seen FROM postman_message"
    )
    assert row["n"] >= 60
    assert max(row["last"], row["seen"]) < "2026-03-16 09:00"


def test_a_letter_arrives_in_that_copy_and_nowhere_else(server):
    alice = visit(server, "alice")
    other = server.reset()
    assert write(alice, "bruno") == 302
    assert "At noon?" in visit(server, "bruno", alice.key).get(MAIL, "/inbox/")
    assert "At noon?" not in visit(server, "bruno", other).get(MAIL, "/inbox/")
    assert "At noon?" not in visit(server, "chiara", alice.key).get(MAIL, "/inbox/")


def test_a_letter_is_one_row_for_each_recipient(server):
    alice = visit(server, "alice")
    before = server.control("snapshot", key=alice.key)[1]["key"]
    assert write(alice, "Bruno@harbour.test, chiara, bruno") == 302
    rows = server.diff(before, alice.key)
    assert {*rows} == {"postman_message"}
    users = {str(row["id"]): row["username"] for row in server.query(alice.key, "SELECT id, username FROM auth_user")}
    letters = [row["after"] for row in rows["postman_message"]]
    assert [row["before"] for row in rows["postman_message"]] == [None, None]
    assert [users[letter["recipient_id"]] for letter in letters] == ["bruno", "chiara"]
    assert [
        (users[letter["sender_id"]], letter["subject"], letter["body"], letter["parent_id"]) for letter in letters
    ] == [("alice", "Lunch", "At noon?", None)] * 2


def test_a_letter_to_an_unknown_name_is_not_sent(server):
    alice = visit(server, "alice")
    before = server.control("snapshot", key=alice.key)[1]["key"]
    assert write(alice, "bruno, zoe, yann") == 200
    assert server.diff(before, alice.key) == {}
    page = alice.get(MAIL, "/write/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    form = {"csrfmiddlewaretoken": token, "recipients": "zoe, yann", "subject": "Lunch", "body": ""}
    assert "no user name or address zoe, yann" in alice.request(MAIL, "/write/", form)[1]


def test_a_reply_is_one_row_that_names_its_letter(server):
    bruno = visit(server, "bruno")
    letter = letter_id(bruno, "Re: Rigging from 1984", "bruno")
    before = server.control("snapshot", key=bruno.key)[1]["key"]
    assert bruno.post(MAIL, f"/view/{letter}/", f"/reply/{letter}/", body="I will be there.") == 302
    (row,) = server.diff(before, bruno.key)["postman_message"]
    assert row["before"] is None
    assert (row["after"]["parent_id"], row["after"]["subject"]) == (str(letter), "Re: Rigging from 1984")
    jonas = visit(server, "jonas", bruno.key)
    assert "I will be there." in jonas.get(MAIL, f"/view/t/{letter_id(jonas, 'Rigging from 1984', 'bruno')}/")


def test_looking_changes_nothing_although_letters_are_marked_as_read(server):
    dana = visit(server, "dana")
    before = server.control("snapshot", key=dana.key)[1]["key"]
    for page in (*PAGES, "/search/?q=berth"):
        dana.get(MAIL, page)
    (letter,) = dana.server.query(
        dana.key,
        "SELECT max(m.id) AS id FROM postman_message m JOIN auth_user u ON u.id = m.recipient_id "
        "WHERE u.username = 'piet' AND m.read_at IS NULL",
    )
    visit(server, "piet", dana.key).get(MAIL, f"/view/{letter['id']}/")
    assert server.diff(before, dana.key) == {}
    read = server.query(dana.key, f"SELECT read_at FROM postman_message WHERE id = {letter['id']}")
    assert read[0]["read_at"].startswith("2026-03-16 09:")


def test_delete_archive_and_put_back_change_one_column(server):
    ines = visit(server, "ines")
    letter = str(letter_id(ines, "Re: Harbour clean-up on the 28th", "ines"))
    before = server.control("snapshot", key=ines.key)[1]["key"]
    assert ines.post(MAIL, "/inbox/", "/delete/", pks=letter) == 302
    (row,) = server.diff(before, ines.key)["postman_message"]
    assert row["key"] == letter
    assert [(column, old) for column, (old, _) in changes(row).items()] == [("recipient_deleted_at", None)]
    assert "Harbour clean-up" in ines.get(MAIL, "/trash/")
    assert ines.post(MAIL, "/trash/", "/undelete/", pks=letter) == 302
    assert server.diff(before, ines.key) == {}
    assert ines.post(MAIL, "/inbox/", "/archive/", pks=letter) == 302
    (row,) = server.diff(before, ines.key)["postman_message"]
    assert changes(row) == {"recipient_archived": ("0", "1")}


@pytest.mark.parametrize(
    ("do", "undo", "column"),
    [("/delete/", "/undelete/", "recipient_deleted_at"), ("/mark-read/", "/mark-unread/", "read_at")],
)
def test_times_are_those_of_the_request_and_not_of_the_first_one(server, do, undo, column):
    """Postman's own views read the clock once, when the first request of the process imports them."""
    bruno = visit(server, "bruno")
    letter = letter_id(bruno, "Re: Rigging from 1984", "bruno")
    times = []
    for path in (do, undo, do):
        assert bruno.post(MAIL, "/inbox/", path, pks=str(letter)) == 302
        (row,) = server.query(bruno.key, f"SELECT {column} AS at FROM postman_message WHERE id = {letter}")
        times.append(row["at"])
    assert times[1] is None
    assert "2026-03-16 09:" < times[0] < times[2] < "2026-03-16 10:"


def test_search_finds_words_in_own_letters_only(server):
    jonas = visit(server, "jonas")
    found = jonas.get(MAIL, "/search/?q=shock+cord+vermeer")
    assert "1 letter with" in found
    assert "The brushes are here, the shock cord is not." in found
    assert "0 letters with" in visit(server, "esther", jonas.key).get(MAIL, "/search/?q=shock+cord")


def test_log_in_takes_a_name_or_an_address_and_refuses_the_rest(server):
    visitor = Visitor(server, server.reset())
    status, _, headers = visitor.request(MAIL, "/inbox/")
    assert (status, headers["Location"]) == (302, "/accounts/login/?next=/inbox/")
    page = "/accounts/login/"
    assert visitor.post(MAIL, page, page, username="greta", password="storm", next="/") == 200
    assert visitor.post(MAIL, page, page, username="greta@harbour.test", password="sea-breeze", next="/") == 302
    assert "Greta Silva" in visitor.get(MAIL, "/inbox/")


def test_the_same_seed_twice_gives_equal_bytes(server):
    def episode() -> tuple[list[str], str]:
        visitor = visit(server, "alice", server.reset(seed=8))
        write(visitor, "dana, piet")
        visitor.post(MAIL, "/inbox/", "/delete/", pks=str(letter_id(visitor, "Second film night", "alice")))
        return [visitor.get(MAIL, page) for page in PAGES], server.control("database", key=visitor.key)[1]["database"]

    assert episode() == episode()


@pytest.mark.parametrize("username", ["alice", "dana"])
def test_no_page_names_a_host_outside_of_the_city(server, username):
    visitor = visit(server, username)
    letters = re.findall(r"/view/(?:t/)?\d+/", visitor.get(MAIL, "/inbox/") + visitor.get(MAIL, "/sent/"))
    assert len(letters) >= 8
    assert [found for page in (*PAGES, *letters) for found in outside_links(visitor.get(MAIL, page))] == []


def test_outside_links_are_told_from_those_of_the_city():
    page = '<a href="/x/"><a href="http://mail.test/x"><script src="//cdn.org/a.js"><img src=http://a.test.org/>'
    assert outside_links(page) == ["//cdn.org/a.js", "http://a.test.org/"]
