"""Views beside the pages: search, and the answer where there is no page."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from wagtail.models import Page

PAGE_SIZE = 10


def search(request: HttpRequest) -> HttpResponse:
    """Pages that contain the words of the parameter `q`, the best first."""
    query = request.GET.get("q", "").strip()
    pages = Page.objects.live().public().specific().search(query) if query else Page.objects.none()
    results = Paginator(pages, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "cms/search.html", {"query": query, "results": results})


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's own answer instead of the one that another site's templates have."""
    return render(request, "cms/404.html", status=404)


def presence(request: HttpRequest, session_id: int, page: str = "") -> HttpResponse:
    """The answer to the editor's scripts, which tell when a page is opened and left.

    Wagtail would write both down. These requests run beside those of the agent, so the copy's clock would move at
    moments that differ from run to run. One copy has one editor at a time, who needs no warning of others.
    """
    return JsonResponse({"session_id": session_id, "other_sessions": [], "html": ""})
