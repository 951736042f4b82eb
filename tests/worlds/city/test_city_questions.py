"""The forum's questions, polls and moderators, in every seed."""

from __future__ import annotations

import html
import re

import pytest

from components.worlds.city.tasks.registry import find
from tests.worlds.city.visitor import FORUM, Server, Visitor

SEEDS = range(6)
QUESTION = re.compile(r"What does the (.+) cost\?|Price of the (.+), please|For sale: (.+), never used")
POSTS = """SELECT p.content, p._content_rendered AS shown, p.subject AS post_subject, t.subject, t.slug, t.status
    FROM forum_conversation_post p JOIN forum_conversation_topic t ON t.id = p.topic_id"""
LOCK = "/moderation/topic/{slug}-{id}/lock/"


@pytest.fixture(scope="module")
def keys(server: Server):
    found = {seed: server.reset(seed) for seed in SEEDS}
    yield found
    for key in found.values():
        server.control("drop", key=key)


def test_texts_have_no_place_left_to_fill(server, keys):
    for key in keys.values():
        for post in server.query(key, POSTS):
            assert not re.search("[{}]", post["content"] + post["subject"] + post["slug"])
            assert post["post_subject"] in (post["subject"], f"Re: {post['subject']}")


def test_a_page_shows_the_text_of_the_seed(server, keys):
    for key in keys.values():
        for post in server.query(key, POSTS):
            shown = html.unescape(re.sub("<[^>]+>", "", post["shown"]))
            assert shown == post["content"]


def test_questions_name_articles_of_the_shop(server, keys):
    asked = set()
    for key in keys.values():
        titles = {row["title"] for row in server.query(key, "SELECT title FROM catalogue_product")}
        topics = [post for post in server.query(key, POSTS) if QUESTION.fullmatch(post["subject"])]
        names = {next(filter(None, QUESTION.fullmatch(post["subject"]).groups())) for post in topics}
        assert len(names) >= 2
        assert names <= titles
        assert {post["status"] for post in topics} == {0}
        asked.add(frozenset(names))
    assert len(asked) == len(SEEDS)


def test_a_member_votes_once_in_a_poll(server, keys):
    sql = """SELECT o.poll_id, count(*) AS votes, count(DISTINCT v.voter_id) AS voters FROM forum_polls_topicpollvote v
        JOIN forum_polls_topicpolloption o ON o.id = v.poll_option_id GROUP BY o.poll_id"""
    for key in keys.values():
        polls = server.query(key, sql)
        assert len(polls) == 10
        assert all(4 <= poll["votes"] == poll["voters"] <= 7 for poll in polls)


def test_only_moderators_may_lock_topics(server):
    for username, status, locked in (("hugo", 403, 0), ("dana", 302, 1)):
        key = server.reset(1)
        topic = server.query(key, "SELECT id, slug FROM forum_conversation_topic WHERE status = 0 ORDER BY id")[0]
        visitor, path = Visitor(server, key), LOCK.format(**topic)
        visitor.log_in(FORUM, username)
        if username == "dana":
            assert visitor.post(FORUM, path, path, post="yes") == status
        else:
            assert visitor.request(FORUM, path)[0] == status
        row = server.query(key, f"SELECT status FROM forum_conversation_topic WHERE id = {topic['id']}")
        assert row == [{"status": locked}]
        server.control("drop", key=key)


@pytest.mark.parametrize(
    ("template", "facts", "right", "wrong"),
    [
        (
            "calendar_count_day",
            {"count": 2, "day": "Thursday, 19 March 2026", "near": [0, 1, 3]},
            "There are 2 bookings on Thursday, 19 March 2026.",
            "There are 3 bookings on Thursday, 19 March 2026.",
        ),
        (
            "forum_count_replies",
            {"replies": 1, "subject": "Wanted: trailer for a boat of 5 m"},
            'The topic "Wanted: trailer for a boat of 5 m" has 1 reply.',
            'The topic "Wanted: trailer for a boat of 5 m" has 5 replies.',
        ),
        (
            "desk_count_in_queue",
            {"count": 0, "rivals": [1], "queue": "Berths", "status": "closed"},
            "None of the tickets in the queue Berths are closed.",
            "One of the tickets in the queue Berths is closed.",
        ),
        (
            "desk_count_in_queue",
            {"count": 0, "rivals": [1], "queue": "Berths", "status": "closed"},
            "There are no closed tickets in Berths.",
            "There are no resolved tickets in Berths.",
        ),
        (
            "desk_count_of_owner",
            {"count": 0, "rivals": [1], "owner": "Dana", "username": "dana", "priority": "High"},
            "Dana has no tickets with this priority.",
            "Dana has 1 ticket with this priority.",
        ),
        (
            "forum_count_replies",
            {"replies": 0, "subject": "Wanted: trailer for a boat of 5 m"},
            "Nobody has replied.",
            "Nobody has read it.",
        ),
    ],
)
def test_a_count_may_stand_in_a_sentence_that_repeats_the_question(template, facts, right, wrong):
    expected = find(template).answer(facts)
    assert expected is not None
    assert expected.accepts(right)
    assert not expected.accepts(wrong)


@pytest.mark.parametrize(
    ("name", "facts", "right", "wrong"),
    [
        (
            "dashboard_latest_total",
            {"total": "45.00", "number": "100162", "others": ["12.50"]},
            "The total of the latest order, 100162, is $45.00.",
            "$45.00 or $12.50",
        ),
        (
            "dashboard_latest_total",
            {"total": "45.90", "number": "100162", "others": ["12.50"]},
            "The total was $45.90 for 3 items.",
            "The total was $45.90 or $3 for 3 items.",
        ),
        (
            "dashboard_latest_total",
            {"total": "45.90", "number": "100162", "others": ["12.50"]},
            "3 articles for 45.90 dollars",
            "3 articles for 45.90",
        ),
        (
            "dashboard_extreme_order",
            {"total": "512.30", "number": "100131", "others": ["100129"]},
            "Order 100131, with a total of $512.30.",
            "Order 100131 or 100129",
        ),
    ],
)
def test_an_answer_may_name_the_order_and_its_total(name, facts, right, wrong):
    expected = find(name).answer(facts)
    assert expected is not None
    assert expected.accepts(right)
    assert not expected.accepts(wrong)
