"""The help desk: django-helpdesk, where customers of the shop and guests of the harbour write in."""

from typing import Any

HOST = "desk.test"
APPS = ("rest_framework", "helpdesk")
MIDDLEWARE: tuple[str, ...] = ()
CONTEXT_PROCESSORS: tuple[str, ...] = ()
SETTINGS: dict[str, Any] = {
    "HELPDESK_TEAMS_MODE_ENABLED": False,
    "HELPDESK_USE_CDN": False,
    "HELPDESK_KB_ENABLED": True,
    "HELPDESK_SUBMIT_A_TICKET_PUBLIC": True,
    "HELPDESK_VIEW_A_TICKET_PUBLIC": True,
    "HELPDESK_ACTIVATE_API_ENDPOINT": False,
    "HELPDESK_ALLOW_NON_STAFF_TICKET_UPDATE": False,
    "HELPDESK_STAFF_ONLY_TICKET_OWNERS": True,
    "LOGIN_URL": "/accounts/login/",
    "LOGIN_REDIRECT_URL": "/",
}
SEARCH: dict[str, dict[str, Any]] = {}
NOISE_TABLES = ("django_session",)
JOINED_COLUMNS = {"helpdesk_followup": {"author": "SELECT username FROM auth_user WHERE auth_user.id = user_id"}}
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "helpdesk_ticket": ("modified",),
}
