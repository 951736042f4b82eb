"""What tasks about topics and posts share: queries, the way to a topic, what a new post changes besides."""

from __future__ import annotations

import random
import re
from typing import Any

from components.worlds.city.tasks.template import Data, Facts, pick
from components.worlds.effects import Added, Effect, Incidental, words
from components.worlds.oracle import Step, click, fill, press

TOPICS = """SELECT t.id AS topic, t.subject, t.status, t.type, t.posts_count, t.forum_id, f.name AS forum,
    t.poster_id, u.username AS opener
    FROM forum_conversation_topic t JOIN forum_forum f ON f.id = t.forum_id JOIN auth_user u ON u.id = t.poster_id
    WHERE t.approved = 1"""
POSTS = """SELECT p.id AS post, p.content, p.subject AS post_subject, p.topic_id AS topic, p.poster_id AS user_id,
    u.username AS user, t.subject, t.forum_id, t.status, t.type, f.name AS forum, t.posts_count,
    p.id = t.first_post_id AS is_first, p.id = t.last_post_id AS is_last, p.poster_id = t.poster_id AS is_openers
    FROM forum_conversation_post p JOIN forum_conversation_topic t ON t.id = p.topic_id
    JOIN forum_forum f ON f.id = t.forum_id JOIN auth_user u ON u.id = p.poster_id WHERE p.approved = 1"""
OPEN = " AND t.status = 0"
"""Of topics that take answers."""
MEMBERS = "SELECT id, username FROM auth_user WHERE is_staff = 0 AND is_superuser = 0 ORDER BY username"


def member(data: Data, rng: random.Random, *without: str) -> dict[str, Any]:
    """A customer who is logged in: `user` and `user_id`."""
    row = pick([row for row in data.rows(MEMBERS) if row["username"] not in without], rng)
    return {"user": row["username"], "user_id": row["id"]}


def open_topic(facts: Facts) -> list[Step]:
    """From any page of the forum to the topic with the subject, by search."""
    return [fill("Search", facts["subject"]), press("Enter"), click("link", re.escape(facts["subject"]))]


def write_text(text: str) -> Step:
    """Write into the editor of a post."""
    return fill("Message", text)


def reply_with(facts: Facts, text: str) -> list[Step]:
    """From any page of the forum to a new post in the topic."""
    return [*open_topic(facts), click("link", "Post reply"), write_text(text), click("button", "Submit")]


def reply(facts: Facts, text: str) -> list[Effect]:
    """The effect of a new post in the topic with this text."""
    values = {"topic_id": facts["topic"], "poster_id": facts["user_id"], "approved": True}
    return [Added("forum_conversation_post", values | {"content": words(text)})]


def counts(facts: Facts) -> list[Incidental]:
    """The counters that follow from a new post: those of its forum, its topic and its author."""
    return [Incidental("forum_forum", {"id": facts["forum_id"]}), topic_counts(facts), author_counts(facts)]


def topic_counts(facts: Facts) -> Incidental:
    """The counters of a topic that is otherwise as it was."""
    same = {name: facts[name] for name in ("subject", "forum_id", "status", "type")}
    return Incidental("forum_conversation_topic", {"id": facts["topic"], **same})


def author_counts(facts: Facts) -> Incidental:
    """The number of a member's posts; the rest of the profile is as it was."""
    return Incidental("forum_member_forumprofile", {"user_id": facts["user_id"], "signature": lambda text: not text})
