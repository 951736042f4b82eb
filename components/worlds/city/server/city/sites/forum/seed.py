"""Fills the forum: forums, permissions of guests, topics."""

from __future__ import annotations

import random

from django.contrib.auth import get_user_model
from machina.core.db.models import get_model

from city.sites.forum import vary
from city.sites.forum.topics import FORUMS, TOPICS

GUESTS_MAY = ("can_see_forum", "can_read_forum")


def seed() -> None:
    """Fill the empty forum."""
    forum_model, permission_model = get_model("forum", "Forum"), get_model("forum_permission", "ForumPermission")
    for permission in permission_model.objects.filter(codename__in=GUESTS_MAY):
        get_model("forum_permission", "UserForumPermission").objects.create(
            permission=permission, anonymous_user=True, has_perm=True
        )
    harbour = forum_model.objects.create(name="Harbour life", type=forum_model.FORUM_CAT)
    forums = {
        name: forum_model.objects.create(
            name=name, description=description, type=forum_model.FORUM_POST, parent=harbour
        )
        for name, description in FORUMS
    }
    users = {user.username: user for user in get_user_model().objects.all()}
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
    rng = random.Random("forum")
    vary.write([vary.date(item, rng) for item in TOPICS])
