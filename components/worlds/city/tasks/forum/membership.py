"""Tasks about what a member sees and shows: subscriptions and the signature."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.forum.posting import TOPICS, member, open_topic
from components.worlds.city.tasks.forum.texts import SIGNATURES
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Added, Changed, Effect, words
from components.worlds.oracle import Step, click, fill


class Subscribe(Template):
    """Subscribe to a topic."""

    name = "forum_subscribe"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Subscribe to the topic "{subject}".',
        'I would like to follow the forum topic "{subject}". Please subscribe me to it.',
        'Add "{subject}" to my subscriptions in the forum.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS), rng) | member(data, rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        row = {"topic_id": facts["topic"], "user_id": facts["user_id"]}
        return [Added("forum_conversation_topic_subscribers", row)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", "Subscribe"), click("button", "Yes, I'm sure")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'{facts["user"]} subscribes to "{facts["subject"]}".', "Nothing else was changed."]


class Signature(Template):
    """Set one's signature."""

    name = "forum_signature"
    sites = ("forum",)
    length = "medium"
    start = "/forum/{slug}-{forum}/topic/{topic_slug}-{topic}/"
    logins = {"forum": "{user}"}
    phrasings = (
        'Set my signature in the forum to "{text}"',
        'Edit my forum profile: the signature should be "{text}"',
        'From now on, "{text}" should stand below my posts in the forum. Make it my signature.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        query = """SELECT u.id AS user_id, u.username AS user, t.id AS topic, t.slug AS topic_slug,
            f.id AS forum, f.slug FROM forum_conversation_topic t JOIN auth_user u ON u.id = t.poster_id
            JOIN forum_forum f ON f.id = t.forum_id WHERE u.is_staff = 0 AND u.username != 'admin'"""
        return pick(data.rows(query), rng) | {"text": rng.choice(SIGNATURES)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"signature": words(facts["text"])}
        where = {"user_id": facts["user_id"]}
        return [Changed("forum_member_forumprofile", where, to, also=("_signature_rendered",))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", facts["user"]),
            click("link", "Edit profile"),
            fill("Signature.*", facts["text"]),
            click("button", "Submit"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The signature of {facts["user"]} is "{facts["text"]}".', "Nothing was posted."]
