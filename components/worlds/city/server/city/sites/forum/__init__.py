"""The forum: django-machina, where the harbour talks."""

from typing import Any

import machina

HOST = "forum.test"
APPS = (
    "mptt",
    "haystack",
    "widget_tweaks",
    "machina",
    "machina.apps.forum",
    "machina.apps.forum_conversation",
    "machina.apps.forum_conversation.forum_attachments",
    "machina.apps.forum_conversation.forum_polls",
    "machina.apps.forum_feeds",
    "machina.apps.forum_moderation",
    "machina.apps.forum_search",
    "machina.apps.forum_tracking",
    "machina.apps.forum_member",
    "machina.apps.forum_permission",
)
MIDDLEWARE = ("machina.apps.forum_permission.middleware.ForumPermissionMiddleware",)
CONTEXT_PROCESSORS = ("machina.core.context_processors.metadata",)
SETTINGS: dict[str, Any] = {
    "MACHINA_FORUM_NAME": "Harbour Forum",
    "MACHINA_DEFAULT_AUTHENTICATED_USER_FORUM_PERMISSIONS": [
        "can_see_forum",
        "can_read_forum",
        "can_start_new_topics",
        "can_reply_to_topics",
        "can_edit_own_posts",
        "can_delete_own_posts",
        "can_post_without_approval",
        "can_create_polls",
        "can_vote_in_polls",
    ],
}
SEARCH: dict[str, dict[str, Any]] = {
    "forum_conversation.post": {
        "text": ("subject", "content"),
        "fields": {"forum": "topic__forum", "created": "created"},
        "default_order": "-created",
    }
}
NOISE_TABLES = ("django_session", "forum_tracking_*")
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "forum_conversation_topic": ("views_count",),
    "machina_forum*": ("updated",),
}
TEMPLATES = (machina.MACHINA_MAIN_TEMPLATE_DIR,)
STATIC = (machina.MACHINA_MAIN_STATIC_DIR,)
