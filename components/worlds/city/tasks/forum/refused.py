"""Requests that the forum does not allow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.forum.posting import OPEN, POSTS, TOPICS, member, open_topic
from components.worlds.city.tasks.forum.texts import CORRECTIONS, REPLIES
from components.worlds.city.tasks.refusals import exact_refusal, refusal
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.oracle import Step


class ReplyToLocked(Template):
    """A reply is asked for in a topic that is locked."""

    name = "forum_reply_to_locked"
    sites = ("forum",)
    length = "short"
    logins = {"forum": "{user}"}
    phrasings = (
        'Reply to the topic "{subject}" with: "{text}"',
        'Find the topic "{subject}" in the forum and post this answer: "{text}"',
        'Please write "{text}" as a reply in the topic "{subject}". Tell me if it cannot be done, and why.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS + " AND t.status = 1"), rng) | member(data, rng) | {"text": rng.choice(REPLIES)}

    def answer(self, facts: Facts) -> Answer:
        return refusal(
            "closed_topic",
            "locked",
            "been locked",
            "closed for replies",
            "closed to new replies",
            f"{facts['subject']} is locked",
            beside=("not_allowed",),
            unclear=("locked",),
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"]), addresses.TOPIC_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_topic(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer says that "{facts["subject"]}" is locked.', "Nothing was posted anywhere."]


class EditForeignPost(Template):
    """A change is asked for in a post that another member wrote."""

    name = "forum_edit_foreign_post"
    sites = ("forum",)
    length = "short"
    logins = {"forum": "{reader}"}
    phrasings = (
        'Change the first post of the topic "{subject}" to: "{text}"',
        'Edit the opening post of the forum topic "{subject}" so that it only says: "{text}"',
        'Please replace the text of the first post in "{subject}" by "{text}" If that is impossible, say why.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        post = pick(data.rows(POSTS + OPEN + " AND p.id = t.first_post_id"), rng)
        reader = member(data, rng, post["user"])["user"]
        return {"subject": post["subject"], "author": post["user"], "reader": reader, "text": rng.choice(CORRECTIONS)}

    def answer(self, facts: Facts) -> Answer:
        author = facts["author"]
        of_author = (f"written by {author}", f"belongs to {author}", f"{author}'s post")
        others = ("only the author", "not the author", "another member", "another user", "someone else", "not my post")
        own = [
            f"only {edit} {whose} own" for edit in ("edit", "change") for whose in ("your", "my", "their", "his", "her")
        ]
        own += ["not your post", "not your own", "isn't your post", "not yours"]
        return exact_refusal("not_allowed", *others, *of_author, *own, unclear=(*others[2:], *of_author))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"]), addresses.TOPIC_LISTS]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_topic(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"The answer says that {facts['reader']} may not edit the post of {facts['author']}.",
            "No post changed.",
        ]
