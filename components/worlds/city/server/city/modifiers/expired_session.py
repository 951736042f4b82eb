"""After some pages the visitor's session has ended, once: the site asks to log in again."""

from __future__ import annotations

import random
from collections import Counter

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse

from city import pages
from city.modifiers import Modifier


class ExpiredSession(Modifier):
    """Takes the session's cookie away when a page is read, never when a form is sent. No row changes."""

    def __init__(self, rng: random.Random) -> None:
        self._good_pages = rng.randint(2, 5)

    def before(self, request: HttpRequest, counts: Counter[str]) -> HttpResponse | None:
        """Forget who asks, once, after some pages."""
        key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if counts["expired_session:ended"] or not pages.is_visit(request) or not key:
            return None
        if SESSION_KEY not in SessionStore(key):
            return None  # a guest has no session to lose
        if counts["expired_session"] == self._good_pages:
            del request.COOKIES[settings.SESSION_COOKIE_NAME]
            counts["expired_session:ended"] = 1
        else:
            counts["expired_session"] += 1
        return None

    def after(self, request: HttpRequest, response: HttpResponse, counts: Counter[str]) -> None:
        """Let the browser forget the session, unless the application has begun another."""
        if counts["expired_session:ended"] == 1:
            counts["expired_session:ended"] = 2
            if settings.SESSION_COOKIE_NAME not in response.cookies:
                response.delete_cookie(settings.SESSION_COOKIE_NAME)


MODIFIER = ExpiredSession
