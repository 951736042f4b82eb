"""Sessions of users who are logged in before the episode begins."""

from __future__ import annotations

from city.copies import Copy


def log_in(copy: Copy, username: str) -> dict[str, str]:
    """The cookies of a new session of this user.

    Raises:
        ValueError: no user has this name.
    """
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
    from django.contrib.sessions.backends.db import SessionStore

    writes, now = copy.writes, copy.now
    with copy.bound(f"log in {username}"):
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise ValueError(f"the city has no user {username}")
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
    copy.writes, copy.now = writes, now  # the episode begins after it, at the same time as without it
    return {settings.SESSION_COOKIE_NAME: session.session_key}
