"""The site's menu, for templates of pages and of views alike."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet
from wagtail.models import Page, Site

register = template.Library()


@register.simple_tag(takes_context=True)
def menu(context: template.Context) -> QuerySet[Page]:
    """The pages below the home page that editors want in menus."""
    return Site.find_for_request(context["request"]).root_page.get_children().live().in_menu()
