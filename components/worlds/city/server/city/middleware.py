"""Gives each request the URLs of its site, and each page what the copy's modifiers make of it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from city import modifiers, pages
from city.copies import current

REQUEST_URLS: ContextVar[str] = ContextVar("request_urls")
"""The URL configuration of the site that the request's host names."""
STEADY_CURSOR = ":root { caret-animation: manual; }"
"""The text cursor does not blink, because a screenshot must not depend on when it is taken."""

SHOWN = {HTTPStatus.OK: "", HTTPStatus.FORBIDDEN: "403 ", HTTPStatus.NOT_FOUND: "404 "}
"""By the status of pages that are noted as shown, what stands before their address."""


class SiteUrls:
    """Sets `request.urlconf`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on with its site's URLs."""
        request.urlconf = REQUEST_URLS.get()
        return self._get_response(request)


class Modified:
    """Keeps the text cursor steady, notes which pages were shown, and lets the copy's modifiers act before and after
    every other part of Django."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on unless a modifier answers it, and edit the answer."""
        copy = current()
        active = modifiers.load(copy.modifiers, copy.seed) if copy.modifiers else []
        answers = [answer for modifier in active if (answer := modifier.before(request, copy.counts)) is not None]
        response = answers[0] if answers else self._get_response(request)
        for modifier in active:
            modifier.after(request, response, copy.counts)
        if not answers and response.status_code in SHOWN and pages.is_visit(request):
            address = f"{request.get_host().partition(':')[0]}{request.path}"
            copy.opened.add(f"{SHOWN[response.status_code]}{address}")
            if page := request.GET.get("page"):  # of a list
                copy.opened.add(f"{SHOWN[response.status_code]}{address}?page={page}")
        if not answers and request.method == "POST" and response.status_code < 400:
            copy.opened.add(f"POST {request.get_host().partition(':')[0]}{request.path}")
        if pages.is_page(response):
            pages.edit(
                response,
                css="\n".join([STEADY_CURSOR, *(rules for modifier in active if (rules := modifier.css(request)))]),
                markup="\n".join(part for modifier in active if (part := modifier.markup(request, copy.counts))),
                labels={old: new for modifier in active for old, new in modifier.labels().items()},
            )
        return response
