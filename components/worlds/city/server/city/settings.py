"""Django's settings of all sites together; each site adds its own (`sites`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from city import sites

IMAGE = Path(os.environ.get("CITY_IMAGE", "."))
"""The folder of the image: `city.sqlite3`, `media/`, `static/`."""

DEBUG = False
SECRET_KEY = "the city runs on one machine and guards nothing"
ALLOWED_HOSTS = [f".{site.HOST}" for site in sites.found()]
CSRF_TRUSTED_ORIGINS = [f"http://{site.HOST}" for site in sites.found()]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
SITE_ID = 1
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SILENCED_SYSTEM_CHECKS = ["models.W042", "treebeard.W001", "urls.W005"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.staticfiles",
    "django.contrib.flatpages",
    "django.contrib.humanize",
    *dict.fromkeys(app for site in sites.found() for app in site.APPS),
]
MIDDLEWARE = [
    "city.middleware.Modified",
    "city.middleware.SiteUrls",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    *dict.fromkeys(middleware for site in sites.found() for middleware in site.MIDDLEWARE),
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [
            str(Path(__file__).parent / "templates"),
            *(folder for site in sites.found() for folder in getattr(site, "TEMPLATES", ())),
        ],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.template.context_processors.media",
                "django.template.context_processors.static",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                *dict.fromkeys(processor for site in sites.found() for processor in site.CONTEXT_PROCESSORS),
            ]
        },
    }
]
ROOT_URLCONF = "city.sites.shop.urls"  # replaced by each request's site (`serving`)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "ATOMIC_REQUESTS": True,
        "CONN_MAX_AGE": None,
    }
}
CACHES = {
    name: {"BACKEND": "city.storage.CopyCache", "KEY_PREFIX": name} for name in ("default", "machina_attachments")
}
STORAGES = {
    "default": {"BACKEND": "city.storage.CopyStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
MEDIA_ROOT, MEDIA_URL = str(IMAGE / "media"), "/media/"
STATICFILES_DIRS = [folder for site in sites.found() for folder in getattr(site, "STATIC", ())]
STATIC_ROOT, STATIC_URL = str(IMAGE / "static"), "/static/"
SESSION_ENGINE = "django.contrib.sessions.backends.db"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick: logging in costs an episode no time
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "city.search.DatabaseSearchEngine"}}
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}

for _site in sites.found():
    globals().update(_site.SETTINGS)
