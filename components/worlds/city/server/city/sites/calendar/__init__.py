"""The harbour's calendars: django-scheduler, in which the staff books the crane, berths, the office and courses.

Every page names who booked what, so all of them need a log-in. Customers look; staff books, moves and deletes. A
booking is one row of `schedule_event`; one cancelled or moved date of a weekly event is one row of
`schedule_occurrence`.
"""

from pathlib import Path
from typing import Any


def may_edit(_booked: object, user: Any) -> bool:
    """Whether a user may book, move and delete."""
    return user.is_staff


HOST = "calendar.test"
APPS = ("schedule",)
MIDDLEWARE: tuple[str, ...] = ()
CONTEXT_PROCESSORS: tuple[str, ...] = ()
SETTINGS: dict[str, Any] = {
    "FIRST_DAY_OF_WEEK": 1,
    "CHECK_EVENT_PERM_FUNC": may_edit,
    "CHECK_OCCURRENCE_PERM_FUNC": may_edit,
}
SEARCH: dict[str, dict[str, Any]] = {}
NOISE_TABLES = ("django_session",)
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "schedule_event": ("updated_on",),
    "schedule_occurrence": ("updated_on",),
}
TEMPLATES = (str(Path(__file__).parent / "templates"),)
STATIC = (str(Path(__file__).parent / "static"),)
