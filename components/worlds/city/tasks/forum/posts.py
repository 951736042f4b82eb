"""Tasks in which something is written, changed or taken back."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.forum import posting
from components.worlds.city.tasks.forum.posting import OPEN, POSTS, TOPICS, member, open_topic, write_text
from components.worlds.city.tasks.forum.texts import CORRECTIONS, NEW_TOPICS, POLLS, REPLIES
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Added, Changed, Effect, Incidental, KeyOf, Removed, Value, words
from components.worlds.oracle import Step, click, fill

FORUM = "SELECT id FROM forum_forum WHERE name = ?"


class OpenTopic(Template):
    """Open a topic in a forum."""

    name = "forum_open_topic"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Open a new topic in the forum "{forum}" with the subject "{subject}" and this text: "{text}"',
        'In "{forum}", please start the topic "{subject}". The message is: "{text}"',
        'Post this as a new topic, subject "{subject}", in the forum section "{forum}": "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        forum, subject, text = rng.choice(NEW_TOPICS)
        row = pick(data.rows(FORUM, forum), rng)
        return member(data, rng) | {"forum": forum, "forum_id": row["id"], "subject": subject, "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        topic = {"forum_id": facts["forum_id"], "subject": words(facts["subject"]), "poster_id": facts["user_id"]}
        post = {"content": words(facts["text"]), "subject": words(facts["subject"]), "poster_id": facts["user_id"]}
        opened = Added("forum_conversation_topic", topic | {"type": 0, "status": 0})
        return [opened, Added("forum_conversation_post", post | {"topic_id": KeyOf(opened)})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("forum_forum", {"id": facts["forum_id"]}), posting.author_counts(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", re.escape(facts["forum"])),
            click("link", "New topic"),
            fill("Subject", facts["subject"]),
            write_text(facts["text"]),
            click("button", "Submit"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The forum "{facts["forum"]}" has a new topic "{facts["subject"]}".',
            f'Its text is "{facts["text"]}".',
            "Nothing else was posted or changed.",
        ]


class Reply(Template):
    """Answer in a topic with a given text."""

    name = "forum_reply"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Reply to the topic "{subject}" with: "{text}"',
        'Find the topic "{subject}" in the forum and post this answer: "{text}"',
        'Please write "{text}" as a reply in the topic "{subject}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS + OPEN), rng) | member(data, rng) | {"text": rng.choice(REPLIES)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return posting.reply(facts, facts["text"])

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return posting.reply_with(facts, facts["text"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The topic "{facts["subject"]}" has a new post "{facts["text"]}".', "Nothing else was posted."]


OWN_ONCE = """ AND t.status = 0 AND u.is_staff = 0 AND 1 = (SELECT count(*) FROM forum_conversation_post q
    WHERE q.topic_id = p.topic_id AND q.poster_id = p.poster_id)"""
"""Of posts whose author has written one post in their topic, which takes answers."""


class EditOwnPost(Template):
    """Replace the text of one's own post."""

    name = "forum_edit_own_post"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Change the text of my post in the topic "{subject}" to: "{text}"',
        'I wrote one post in the topic "{subject}". Replace its whole text by "{text}"',
        'Edit my contribution to "{subject}" in the forum so that it only says: "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        post = pick(data.rows(POSTS + OWN_ONCE + " AND p.id != t.first_post_id"), rng)
        return post | {"text": rng.choice(CORRECTIONS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        computed = ("_content_rendered", "update*")
        to = {"content": words(facts["text"])}
        return [Changed("forum_conversation_post", {"id": facts["post"]}, to, also=computed)]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_topic(facts),
            click("link", "Edit"),
            write_text(facts["text"]),
            click("button", "Submit"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The post of {facts["user"]} in "{facts["subject"]}" says "{facts["text"]}" and nothing else.',
            "No other post was changed or added.",
        ]


class DeleteOwnPost(Template):
    """Delete one's own post."""

    name = "forum_delete_own_post"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Delete my post in the topic "{subject}".',
        'Please take back what I wrote in "{subject}": delete my post there.',
        'Remove my own answer from the forum topic "{subject}" and leave the other posts.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(POSTS + OWN_ONCE + " AND p.id != t.first_post_id"), rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("forum_conversation_post", {"id": facts["post"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", "Delete"), click("button", "Yes, I'm sure")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The post of {facts["user"]} in "{facts["subject"]}" is gone.', "All other posts are there."]


class OpenPoll(Template):
    """Open a topic with a poll of two options."""

    name = "forum_open_poll"
    sites = ("forum",)
    length = "long"
    logins = {"forum": "{user}"}
    phrasings = (
        'Start a topic "{subject}" in "{forum}" with the text "{text}" and a poll: the question is "{subject}", the '
        'options are "{first}" and "{second}".',
        'In the forum section "{forum}", ask "{subject}" by a new topic of that subject with a poll of the same '
        "question. "
        'Options: "{first}", "{second}". Text of the post: "{text}"',
        'I want people to vote between "{first}" and "{second}". Open the topic "{subject}" in "{forum}", write '
        '"{text}" '
        "and give it a poll whose question is the subject.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        subject, text, (first, second) = rng.choice(POLLS)
        forum = rng.choice(("The quay", "Passages", "Boats and gear"))
        row = pick(data.rows(FORUM, forum), rng)
        poll = {"subject": subject, "text": text, "first": first, "second": second}
        return member(data, rng) | poll | {"forum": forum, "forum_id": row["id"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        topic = {"forum_id": facts["forum_id"], "subject": words(facts["subject"]), "poster_id": facts["user_id"]}
        opened = Added("forum_conversation_topic", topic | {"type": 0, "status": 0})
        post: dict[str, Value] = {
            "topic_id": KeyOf(opened),
            "content": words(facts["text"]),
            "poster_id": facts["user_id"],
        }
        question: dict[str, Value] = {"topic_id": KeyOf(opened), "question": words(facts["subject"]), "max_options": 1}
        poll = Added("forum_polls_topicpoll", question)
        texts = [words(facts[name]) for name in ("first", "second")]
        return [
            opened,
            Added("forum_conversation_post", post | {"topic_id": KeyOf(opened)}),
            poll,
            *(Added("forum_polls_topicpolloption", {"poll_id": KeyOf(poll), "text": text}) for text in texts),
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("forum_forum", {"id": facts["forum_id"]}), posting.author_counts(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", re.escape(facts["forum"])),
            click("link", "New topic"),
            fill("Subject", facts["subject"]),
            write_text(facts["text"]),
            click("link", "Poll"),
            fill("Poll question.*", facts["subject"]),
            fill("Enter a poll option", facts["first"]),
            fill("Enter a poll option", facts["second"], number=1),
            click("button", "Submit"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["forum"]}" has a new topic "{facts["subject"]}" with the text "{facts["text"]}".',
            f'It has a poll with the question "{facts["subject"]}".',
            f'The poll\'s options are "{facts["first"]}" and "{facts["second"]}".',
        ]
