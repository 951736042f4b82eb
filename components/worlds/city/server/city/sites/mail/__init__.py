"""The mail: django-postman, in which the people of the harbour write to each other.

Opening a letter marks it as read, which is looking and therefore noise. That a letter was answered, and to which
conversation it belongs, follows from the answer's `parent_id`, so a reply is exactly one added row. A task about marks
of reading asks the state (`read_at`), not the difference.
"""

from pathlib import Path
from typing import Any

HOST = "mail.test"
APPS = ("postman",)
MIDDLEWARE: tuple[str, ...] = ()
CONTEXT_PROCESSORS: tuple[str, ...] = ()
SETTINGS: dict[str, Any] = {
    "POSTMAN_AUTO_MODERATE_AS": True,
    "POSTMAN_DISALLOW_ANONYMOUS": True,
    "POSTMAN_DISABLE_USER_EMAILING": True,
    "POSTMAN_NOTIFIER_APP": None,
    "POSTMAN_SHOW_USER_AS": "get_full_name",
}
SEARCH: dict[str, dict[str, Any]] = {}
NOISE_TABLES = ("django_session",)
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "postman_message": ("read_at", "replied_at", "thread_id"),
}
TEMPLATES = (str(Path(__file__).parent / "templates"),)
STATIC = (str(Path(__file__).parent / "static"),)
