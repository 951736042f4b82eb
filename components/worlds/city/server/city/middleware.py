"""Gives each request the URLs of its site."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

REQUEST_URLS: ContextVar[str] = ContextVar("request_urls")
"""The URL configuration of the site that the request's host names."""


class SiteUrls:
    """Sets `request.urlconf`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on with its site's URLs."""
        request.urlconf = REQUEST_URLS.get()  # type: ignore[attr-defined]
        return self._get_response(request)
