"""Tasks of the moderators, who are the people of the harbour office."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.forum.posting import OPEN, POSTS, TOPICS, counts, open_topic
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Changed, Effect, Incidental, Removed
from components.worlds.oracle import Step, choose, click

ALSO = ("updated",)
MOVED = 2
"""The status of a topic that was moved and is not locked."""
CONFIRM = click("button", "Yes, I'm sure")
MENU = click("button", "", after="Subscribe|Unsubscribe")
"""The moderators' menu, a button with a picture only."""


class LockTopic(Template):
    """Lock a topic."""

    name = "forum_lock_topic"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{moderator}"}
    phrasings = (
        'Lock the topic "{subject}".',
        'The topic "{subject}" has been discussed enough. Please lock it.',
        'As a moderator, lock the forum topic "{subject}", so that it takes no more answers.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS + OPEN), rng) | {"moderator": rng.choice(("dana", "piet"))}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("forum_conversation_topic", {"id": facts["topic"]}, {"status": 1}, also=ALSO)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), MENU, click("link", "Lock topic"), CONFIRM]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The topic "{facts["subject"]}" is locked.', "No other topic was changed."]


class UnlockTopic(Template):
    """Unlock a topic."""

    name = "forum_unlock_topic"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{moderator}"}
    phrasings = (
        'Unlock the topic "{subject}".',
        'People want to go on in the topic "{subject}", which is locked. Please unlock it.',
        'As a moderator, open the locked forum topic "{subject}" for answers again.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS + " AND t.status = 1"), rng) | {"moderator": rng.choice(("dana", "piet"))}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("forum_conversation_topic", {"id": facts["topic"]}, {"status": 0}, also=ALSO)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), MENU, click("link", "Unlock topic"), CONFIRM]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The topic "{facts["subject"]}" is not locked any more.', "No other topic was changed."]


class PinTopic(Template):
    """Make a topic stay on top of its forum."""

    name = "forum_pin_topic"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{moderator}"}
    phrasings = (
        'Make "{subject}" a sticky topic.',
        'Please change the topic "{subject}" to a sticky one, so that it stays on top.',
        'Pin the forum topic "{subject}": change its type to sticky.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TOPICS + OPEN + " AND t.type = 0"), rng) | {"moderator": rng.choice(("dana", "piet"))}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("forum_conversation_topic", {"id": facts["topic"]}, {"type": 1}, also=ALSO)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), MENU, click("link", "Change to sticky topic"), CONFIRM]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The topic "{facts["subject"]}" is sticky.', "No other topic was changed."]


class MoveTopic(Template):
    """Move a topic to another forum."""

    name = "forum_move_topic"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{moderator}"}
    phrasings = (
        'Move the topic "{subject}" to the forum "{target}".',
        '"{subject}" is in the wrong place. Move it to "{target}" and do not lock it.',
        'As a moderator, please put the topic "{subject}" into the section "{target}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = pick(data.rows(TOPICS + OPEN + " AND t.type = 0"), rng)
        target = pick(data.rows("SELECT id, name FROM forum_forum WHERE type = 0 AND id != ?", topic["forum_id"]), rng)
        moderator = rng.choice(("dana", "piet"))
        return topic | {"target": target["name"], "target_id": target["id"], "moderator": moderator}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"forum_id": facts["target_id"], "status": MOVED}
        return [Changed("forum_conversation_topic", {"id": facts["topic"]}, to, also=ALSO)]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("forum_forum", {"id": facts[name]}) for name in ("forum_id", "target_id")]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_topic(facts),
            MENU,
            click("link", "Move topic"),
            choose("Select a destination forum", f"-- {facts['target']}"),
            CONFIRM,
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The topic "{facts["subject"]}" is in the forum "{facts["target"]}".',
            "It is not locked, and no other topic was moved.",
        ]


class DeletePost(Template):
    """Delete another member's post."""

    name = "forum_delete_post"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{moderator}"}
    phrasings = (
        'Delete the last post in the topic "{subject}", which {user} wrote.',
        '{user} regrets the last post in "{subject}". Please delete it for them.',
        'As a moderator, remove the newest post of the topic "{subject}" (by {user}).',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        last = " AND p.id = t.last_post_id AND t.posts_count = 2 AND u.is_staff = 0"
        return pick(data.rows(POSTS + OPEN + last), rng) | {"moderator": rng.choice(("dana", "piet"))}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("forum_conversation_post", {"id": facts["post"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", "Delete", number=1), CONFIRM]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The last post of "{facts["subject"]}" is gone.', "All other posts are there."]
