"""Fills the forum: forums, permissions of guests, topics."""

from __future__ import annotations

import random

from django.contrib.auth import get_user_model
from machina.core.db.models import get_model

from city.sites.forum import SETTINGS, questions, vary
from city.sites.forum.questions import TOPICS
from city.sites.forum.topics import FORUMS

GUESTS_MAY = ("can_see_forum", "can_read_forum")
MODERATORS = ("dana", "piet")
MODERATORS_MAY = (
    *SETTINGS[
        "MACHINA_DEFAULT_AUTHENTICATED_USER_FORUM_PERMISSIONS"
    ],  # a member with rights of their own has no others
    "can_lock_topics",
    "can_move_topics",
    "can_edit_posts",
    "can_delete_posts",
    "can_post_stickies",
    "can_post_announcements",
    "can_reply_to_locked_topics",
)


def seed() -> None:
    """Fill the empty forum."""
    forum_model, permission_model = get_model("forum", "Forum"), get_model("forum_permission", "ForumPermission")
    for permission in permission_model.objects.filter(codename__in=GUESTS_MAY):
        get_model("forum_permission", "UserForumPermission").objects.create(
            permission=permission, anonymous_user=True, has_perm=True
        )
    users = {user.username: user for user in get_user_model().objects.all()}
    for permission in permission_model.objects.filter(codename__in=MODERATORS_MAY):
        for username in MODERATORS:
            get_model("forum_permission", "UserForumPermission").objects.create(
                permission=permission, user=users[username], has_perm=True
            )
    harbour = forum_model.objects.create(name="Harbour life", type=forum_model.FORUM_CAT)
    forums = {
        name: forum_model.objects.create(
            name=name, description=description, type=forum_model.FORUM_POST, parent=harbour
        )
        for name, description in FORUMS
    }
    topic_model, post_model = get_model("forum_conversation", "Topic"), get_model("forum_conversation", "Post")
    for item in TOPICS:
        topic = topic_model.objects.create(
            forum=forums[item.forum], poster=users[item.posts[0][0]], subject=item.subject,
            type=topic_model.TOPIC_POST, status=topic_model.TOPIC_UNLOCKED,
        )  # fmt: skip
        for number, (username, text) in enumerate(item.posts):
            post_model.objects.create(
                topic=topic, poster=users[username], content=text,
                subject=item.subject if number == 0 else f"Re: {item.subject}",
            )  # fmt: skip
        questions.poll(item, topic)
    rng = random.Random("forum")
    vary.write([vary.date(questions.fill(item, rng), rng) for item in TOPICS])
    questions.vote(rng)
