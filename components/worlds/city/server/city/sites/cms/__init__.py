"""The town's web site: wagtail, with its editor for the staff of the harbour office."""

from typing import Any

HOST = "cms.test"
APPS = (
    "city.sites.cms.apps.CmsConfig",
    "wagtail.contrib.forms",
    "wagtail.embeds",
    "wagtail.sites",
    "wagtail.users",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail",
    "modelcluster",
    "taggit",
    "django_filters",
)
MIDDLEWARE: tuple[str, ...] = ()
CONTEXT_PROCESSORS: tuple[str, ...] = ()
SETTINGS: dict[str, Any] = {
    "WAGTAIL_SITE_NAME": "Harbour Town",
    "WAGTAILADMIN_BASE_URL": f"http://{HOST}",
    "WAGTAILSEARCH_BACKENDS": {"default": {"BACKEND": "wagtail.search.backends.database"}},
    # no request leaves the city
    "WAGTAIL_GRAVATAR_PROVIDER_URL": None,
    "WAGTAIL_ENABLE_UPDATE_CHECK": False,
    "WAGTAIL_ENABLE_WHATS_NEW_BANNER": False,
    "WAGTAILEMBEDS_FINDERS": [],
    # no request without an action of the agent: they change rows and move the copy's clock at the speed of the real one
    "WAGTAIL_AUTOSAVE_INTERVAL": 0,
    "WAGTAIL_AUTO_UPDATE_PREVIEW_INTERVAL": 0,
    "WAGTAIL_EDITING_SESSION_PING_INTERVAL": 24 * 60 * 60 * 1000,
    # two editors who may both publish need neither approvals nor comments
    "WAGTAIL_WORKFLOW_ENABLED": False,
    "WAGTAILADMIN_COMMENTS_ENABLED": False,
}
SEARCH: dict[str, dict[str, Any]] = {}
NOISE_TABLES = (
    "django_session",
    # indexes and caches
    "wagtailsearch_indexentry*",
    "wagtailcore_referenceindex",
    "wagtailimages_rendition",
    # who looks at what in the editor, and the log of actions, which repeats what the other rows say
    "wagtailadmin_editingsession",
    "wagtailadmin_formstate",
    "wagtailcore_pagesubscription",
    "wagtailcore_pagelogentry",
    "wagtailcore_modellogentry",
)
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "wagtailcore_page": ("latest_revision_created_at", "last_published_at"),
    "wagtailcore_revision": ("created_at",),
    "wagtailusers_userprofile": ("dismissibles",),
}
