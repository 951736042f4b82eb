"""Questions whose answers are in the forum."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer, numbers_in
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.forum.posting import MEMBERS, POSTS, TOPICS, open_topic
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, click, fill, press
from components.worlds.plain_text import plain

EVERYBODY = "SELECT username FROM auth_user ORDER BY username"


def _usernames(data: Data, without: str = "") -> list[str]:
    return [row["username"] for row in data.rows(EVERYBODY) if row["username"] not in (without, "admin")]


class LastPoster(Template):
    """Say who wrote the last post of a topic."""

    name = "forum_last_poster"
    sites = ("forum",)
    length = "short"
    phrasings = (
        'Who wrote the last post in the topic "{subject}"? Give the user name.',
        'Find the forum topic "{subject}" and tell me the user name of the person who posted last there.',
        'Which member has had the last word in "{subject}" so far? I need the user name.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        post = pick(data.rows(POSTS + " AND p.id = t.last_post_id AND t.posts_count > 1"), rng)
        return {"subject": post["subject"], "person": post["user"], "people": _usernames(data)}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["person"]], facts["people"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_topic(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['person']} and names no other member."]


class CountReplies(Template):
    """Say how many answers a topic has."""

    name = "forum_count_replies"
    sites = ("forum",)
    length = "short"
    phrasings = (
        'How many replies does the topic "{subject}" have, without its first post?',
        'Count the answers in the forum topic "{subject}". The opening post is none of them.',
        'The topic "{subject}": how many posts follow the first one?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = pick(data.rows(TOPICS), rng)
        return {"subject": topic["subject"], "replies": topic["posts_count"] - 1}

    def answer(self, facts: Facts) -> Answer:
        # "none" alone stands in a phrasing, which an answer may repeat
        nothing = ("there are none", "it has none", "no replies", "no reply", "no answers", "no posts")
        unanswered = [f"{who} has {did}" for who in ("nobody", "no one") for did in ("replied", "answered")]
        return number(facts["replies"], given=numbers_in(facts["subject"]), nothing=[*nothing, *unanswered])

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"]), addresses.TOPIC_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_topic(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['replies']}."]


class WhichForum(Template):
    """Say in which forum a topic is."""

    name = "forum_which_forum"
    sites = ("forum",)
    length = "short"
    phrasings = (
        'In which section of the forum is the topic "{subject}"?',
        'Find the topic "{subject}" and tell me the name of the forum that it is in.',
        'Where was "{subject}" posted: in which of the forums?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = pick(data.rows(TOPICS), rng)
        names = [row["name"] for row in data.rows("SELECT name FROM forum_forum WHERE type = 0 ORDER BY name")]
        subject = plain(topic["subject"])  # an answer may repeat it, and then names the forums that it names
        forums = [name for name in names if name == topic["forum"] or plain(name) not in subject]
        return {"subject": topic["subject"], "forum": topic["forum"], "forums": forums}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["forum"]], facts["forums"], self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"]), addresses.TOPIC_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_topic(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["forum"]}" and no other forum.']


class WhoWrote(Template):
    """Say who wrote a sentence."""

    name = "forum_who_wrote"
    sites = ("forum",)
    length = "short"
    phrasings = (
        'Who wrote "{sentence}" in the forum? Give the user name.',
        'I remember a post in the forum that begins with "{sentence}" What is the user name of its author?',
        'Search the forum for "{sentence}" and tell me the user name of the member who wrote this.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        posts = [
            {"sentence": sentence, "person": post["user"]}
            for post in data.rows(POSTS)
            if 3 <= len((sentence := _first_sentence(post["content"])).split()) <= 12 and '"' not in sentence
        ]
        post = pick([post for post in posts if sum(post["sentence"] == other["sentence"] for other in posts) == 1], rng)
        return post | {"people": _usernames(data)}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["person"]], facts["people"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [fill("Search", facts["sentence"]), press("Enter")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['person']} and names no other member."]


def _first_sentence(text: str) -> str:
    ends = [at for mark in ".?!" if (at := text.find(f"{mark} ")) > 0] or [len(text) - 1]
    return text[: min(ends) + 1]


class CountPosts(Template):
    """Say how many posts a member has written."""

    name = "forum_count_posts"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        "How many posts has {person} written in the forum, as the profile says?",
        "What is the number of posts on {person}'s profile in the forum?",
        "Look up {person}'s forum profile and tell me the number of posts there.",
        "{person} claims to write a lot in the forum. How many posts does the profile count?",
        "I would like to know how many posts {person} has in the forum. It is on the profile.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        query = """SELECT u.username, p.posts_count, (SELECT min(t.subject) FROM forum_conversation_topic t
            WHERE t.poster_id = u.id) AS subject, (SELECT count(*) FROM forum_conversation_topic t
            WHERE t.poster_id = u.id) AS topics
            FROM forum_member_forumprofile p JOIN auth_user u ON u.id = p.user_id"""
        rows = data.rows(query)
        row = pick([row for row in rows if row["subject"] and row["topics"] != row["posts_count"]], rng)
        reader = pick([other for other in data.rows(MEMBERS) if other["username"] != row["username"]], rng)
        near = sorted({row["topics"], *(other["posts_count"] for other in rows)} - {row["posts_count"]})
        return {
            "person": row["username"],
            "user": reader["username"],
            "subject": row["subject"],
            "posts": row["posts_count"],
            "near": near,
        }

    def answer(self, facts: Facts) -> Answer:
        return number(facts["posts"], near=facts["near"], named=self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"forum\.test/(member|forum)/.+"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", facts["person"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['posts']}."]
