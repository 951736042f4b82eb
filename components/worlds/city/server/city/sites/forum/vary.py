"""The forum's topics of a seed: which exist, who wrote them, when, how many answers they have, which are closed."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from city import rows
from city.sites.forum import questions
from city.sites.forum.questions import TOPICS
from city.sites.forum.topics import Topic
from city.sites.shop.orders import CUSTOMERS

ABSENT, STICKY, LOCKED = 0.25, 0.07, 0.1
"""The shares of topics that do not exist in a seed, that stay on top, and that take no more answers."""
TOPIC_POST, TOPIC_STICKY = 0, 1
TOPIC_UNLOCKED, TOPIC_LOCKED = 0, 1


@dataclass(frozen=True)
class Thread:
    """A topic with the dates of its posts."""

    topic: Topic
    dates: tuple[dt.datetime, ...]
    sticky: bool = False
    locked: bool = False
    views: int = 0


def vary(rng: random.Random) -> None:
    """Change the bound copy's topics."""
    write([_varied(topic, rng) if _is_kept(topic) or rng.random() >= ABSENT else None for topic in TOPICS])
    questions.vote(rng)


def _is_kept(topic: Topic) -> bool:
    return topic.fixed or topic.whole


def date(topic: Topic, rng: random.Random) -> Thread:
    """Give the posts of a topic their dates. Those of a fixed topic are the same in every seed."""
    rng = random.Random(topic.subject) if topic.fixed else rng
    now = timezone.now().replace(hour=9, minute=0, second=0, microsecond=0)
    days = rng.randint(5, 14 if topic.fixed else 50)
    moment, dates = now - dt.timedelta(days=days) + dt.timedelta(minutes=rng.randint(0, 720)), []
    for _ in topic.posts:
        dates.append(moment)
        moment += dt.timedelta(minutes=rng.randint(20, 1500))
    return Thread(topic, tuple(dates), views=rng.randint(5, 240))


def _varied(topic: Topic, rng: random.Random) -> Thread:
    if topic.fixed:
        return date(topic, rng)
    topic = questions.fill(topic, rng)
    names = [person.username for person in CUSTOMERS]
    others = dict(zip(names, rng.sample(names, len(names)), strict=True)) | {"dana": "dana", "piet": "piet"}
    length = len(topic.posts) if topic.whole else rng.randint(1, len(topic.posts))
    posts = tuple((others[name], text) for name, text in topic.posts[:length])
    thread = date(replace(topic, posts=posts), rng)
    locked = rng.random() < LOCKED and not topic.whole
    return replace(thread, sticky=rng.random() < STICKY, locked=locked)


def write(threads: Sequence[Thread | None]) -> None:
    """Make these the topics of the bound copy, which has all posts of each of `TOPICS`; None removes a topic."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    keys: dict[int, list[int]] = {}
    for row in rows.select("SELECT id, topic_id FROM forum_conversation_post ORDER BY id"):
        keys.setdefault(row["topic_id"], []).append(row["id"])
    posts, topics, removed = [], [], []
    for number, thread in enumerate(threads, start=1):
        length = len(thread.dates) if thread else 0
        removed += keys[number][length:]
        if thread is None:
            continue
        for key, (username, text), moment in zip(keys[number], thread.topic.posts, thread.dates, strict=False):
            subject = thread.topic.subject if key == keys[number][0] else f"Re: {thread.topic.subject}"
            post = {"id": key, "poster_id": users[username], "created": moment, "updated": moment}
            posts.append(post | questions.text_columns(subject, text))
        topics.append(
            {
                "id": number,
                "subject": thread.topic.subject,
                "slug": questions.slug(thread.topic.subject),
                "poster_id": users[thread.topic.posts[0][0]],
                "type": TOPIC_STICKY if thread.sticky else TOPIC_POST,
                "status": TOPIC_LOCKED if thread.locked else TOPIC_UNLOCKED,
                "posts_count": length,
                "views_count": thread.views,
                "last_post_id": keys[number][length - 1],
                "last_post_on": thread.dates[-1],
                "created": thread.dates[0],
                "updated": thread.dates[-1],
            }
        )
    rows.update("forum_conversation_topic", topics)
    rows.update("forum_conversation_post", posts)
    _count(posts)
    for number, thread in enumerate(threads, start=1):
        if thread is None:
            rows.execute("DELETE FROM forum_conversation_topic WHERE id = %s", [number])
    for key in removed:
        rows.execute("DELETE FROM forum_conversation_post WHERE id = %s", [key])
    _count_forums()


def _count(posts: Sequence[rows.Row]) -> None:
    """Count each member's posts."""
    counts = Counter(post["poster_id"] for post in posts)
    profiles = rows.select("SELECT id, user_id FROM forum_member_forumprofile")
    rows.update(
        "forum_member_forumprofile",
        ({"id": profile["id"], "posts_count": counts[profile["user_id"]]} for profile in profiles),
    )


def _count_forums() -> None:
    """Count each forum's topics and posts, and find its last post."""
    forums = rows.select(
        """SELECT f.id, count(t.id) AS direct_topics_count, coalesce(sum(t.posts_count), 0) AS direct_posts_count
        FROM forum_forum f LEFT JOIN forum_conversation_topic t ON t.forum_id = f.id WHERE f.type = 0 GROUP BY f.id"""
    )
    for forum in forums:
        query = """SELECT last_post_id, last_post_on FROM forum_conversation_topic WHERE forum_id = %s
            ORDER BY last_post_on DESC LIMIT 1"""
        last = rows.select(query, [forum["id"]])
        forum.update(last[0] if last else {"last_post_id": None, "last_post_on": None})
    rows.update("forum_forum", forums)
