"""The kinds of pages that the editors of the site make."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.http import HttpRequest
from django.utils import timezone
from modelcluster.fields import ParentalKey
from wagtail.admin.panels import FieldPanel, FieldRowPanel, InlinePanel, MultiFieldPanel
from wagtail.contrib.forms.models import AbstractForm, AbstractFormField
from wagtail.contrib.forms.panels import FormSubmissionsPanel
from wagtail.fields import RichTextField
from wagtail.models import Orderable, Page
from wagtail.search import index

FEATURES = ["h2", "h3", "bold", "italic", "ol", "ul", "link", "image", "hr"]
"""What editors may use in texts: nothing that is fetched from elsewhere."""
UPCOMING = 3
LATEST = 4


def text_field(**options: Any) -> RichTextField:
    """A field for a page's text."""
    return RichTextField(blank=True, features=FEATURES, **options)


def picture_field() -> models.ForeignKey:
    """A field for a page's picture; the page stays when the picture is deleted."""
    return models.ForeignKey("wagtailimages.Image", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")


class HomePage(Page):
    """The first page: a welcome, the latest news and the next events."""

    intro = models.CharField(max_length=250)
    body = text_field()
    picture = picture_field()
    max_count = 1
    content_panels = [*Page.content_panels, FieldPanel("intro"), FieldPanel("picture"), FieldPanel("body")]
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.SearchField("body")]

    def get_context(self, request: HttpRequest, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What the template shows: also news and events."""
        news = NewsPage.objects.live().order_by("-date", "-pk")[:LATEST]
        events = EventPage.objects.live().filter(begins__gte=timezone.now()).order_by("begins", "pk")[:UPCOMING]
        return {**super().get_context(request, *args, **kwargs), "news": news, "events": events}


class SectionPage(Page):
    """A page that lists the pages below it, in the order of the editor's tree."""

    intro = models.TextField(blank=True)
    content_panels = [*Page.content_panels, FieldPanel("intro")]
    search_fields = [*Page.search_fields, index.SearchField("intro")]
    template = "cms/section_page.html"

    def get_context(self, request: HttpRequest, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What the template shows: also the pages below."""
        return {**super().get_context(request, *args, **kwargs), **self.listed()}

    def listed(self) -> dict[str, Any]:
        """The pages below, as the template wants them."""
        return {"entries": self.get_children().live().specific()}


class NewsIndexPage(SectionPage):
    """The list of news, newest first."""

    max_count = 1
    template = "cms/section_page.html"
    subpage_types = ["cms.NewsPage"]

    def listed(self) -> dict[str, Any]:
        """All news."""
        return {"entries": NewsPage.objects.child_of(self).live().order_by("-date", "-pk")}


class EventIndexPage(SectionPage):
    """The list of events: those to come by date, then the past ones."""

    max_count = 1
    template = "cms/section_page.html"
    subpage_types = ["cms.EventPage"]

    def listed(self) -> dict[str, Any]:
        """Events before and after now."""
        events, now = EventPage.objects.child_of(self).live(), timezone.now()
        return {
            "entries": events.filter(begins__gte=now).order_by("begins", "pk"),
            "past": events.filter(begins__lt=now).order_by("-begins", "-pk"),
        }


class NewsPage(Page):
    """A piece of news; its owner signs it."""

    date = models.DateField("date of publication")
    intro = models.CharField(max_length=250, help_text="One or two sentences for lists.")
    body = text_field()
    picture = picture_field()
    parent_page_types = ["cms.NewsIndexPage"]
    content_panels = [
        *Page.content_panels, FieldPanel("date"), FieldPanel("intro"), FieldPanel("picture"), FieldPanel("body")
    ]  # fmt: skip
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.SearchField("body")]


class EventPage(Page):
    """A notice of an event."""

    begins = models.DateTimeField()
    ends = models.DateTimeField()
    place = models.CharField(max_length=100)
    organiser = models.CharField(max_length=100)
    fee = models.DecimalField(max_digits=6, decimal_places=2, default=0, help_text="In dollars; 0 if it is free.")
    intro = models.CharField(max_length=250, help_text="One or two sentences for lists.")
    body = text_field()
    picture = picture_field()
    parent_page_types = ["cms.EventIndexPage"]
    content_panels = [
        *Page.content_panels,
        FieldRowPanel([FieldPanel("begins"), FieldPanel("ends")]),
        FieldRowPanel([FieldPanel("place"), FieldPanel("organiser"), FieldPanel("fee")]),
        FieldPanel("intro"),
        FieldPanel("picture"),
        FieldPanel("body"),
    ]
    search_fields = [
        *Page.search_fields,
        *(index.SearchField(name) for name in ("intro", "body", "place", "organiser")),
    ]


class InformationPage(Page):
    """A page of text, such as the rules of the harbour."""

    intro = models.CharField(max_length=250, blank=True)
    body = text_field()
    picture = picture_field()
    content_panels = [*Page.content_panels, FieldPanel("intro"), FieldPanel("picture"), FieldPanel("body")]
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.SearchField("body")]


class HoursPage(Page):
    """A table of opening hours."""

    intro = models.CharField(max_length=250, blank=True)
    body = text_field(help_text="Stands below the table.")
    content_panels = [
        *Page.content_panels, FieldPanel("intro"), InlinePanel("hours", label="Opening hours"), FieldPanel("body")
    ]  # fmt: skip
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.SearchField("body")]


class OpeningHours(Orderable):
    """A row of the table of opening hours."""

    page = ParentalKey(HoursPage, on_delete=models.CASCADE, related_name="hours")
    place = models.CharField(max_length=60)
    days = models.CharField(max_length=60)
    opens = models.TimeField(null=True, blank=True, help_text="Empty if it is closed.")
    closes = models.TimeField(null=True, blank=True)
    note = models.CharField(max_length=120, blank=True)
    panels = [
        FieldRowPanel([FieldPanel("place"), FieldPanel("days")]),
        FieldRowPanel([FieldPanel("opens"), FieldPanel("closes")]),
        FieldPanel("note"),
    ]


class PricesPage(Page):
    """A table of prices."""

    intro = models.CharField(max_length=250, blank=True)
    body = text_field(help_text="Stands below the table.")
    content_panels = [
        *Page.content_panels, FieldPanel("intro"), InlinePanel("prices", label="Prices"), FieldPanel("body")
    ]  # fmt: skip
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.SearchField("body")]


class Price(Orderable):
    """A row of the table of prices."""

    page = ParentalKey(PricesPage, on_delete=models.CASCADE, related_name="prices")
    service = models.CharField(max_length=80)
    amount = models.DecimalField(max_digits=7, decimal_places=2, help_text="In dollars.")
    unit = models.CharField(max_length=60, blank=True)
    note = models.CharField(max_length=120, blank=True)
    panels = [
        FieldPanel("service"),
        FieldRowPanel([FieldPanel("amount"), FieldPanel("unit")]),
        FieldPanel("note"),
    ]


class StaffPage(Page):
    """A person of the harbour office."""

    job_title = models.CharField(max_length=80)
    phone = models.CharField(max_length=20, blank=True)
    email = models.EmailField(blank=True)
    intro = models.CharField(max_length=250)
    body = text_field()
    picture = picture_field()
    content_panels = [
        *Page.content_panels,
        FieldPanel("job_title"),
        FieldRowPanel([FieldPanel("phone"), FieldPanel("email")]),
        FieldPanel("intro"),
        FieldPanel("picture"),
        FieldPanel("body"),
    ]
    search_fields = [
        *Page.search_fields,
        *(index.SearchField(name) for name in ("job_title", "intro", "body")),
    ]


class FormPage(AbstractForm):
    """A page with a form; what visitors send is kept, and the editor lists it."""

    intro = text_field()
    thanks = text_field(help_text="Shown after the form was sent.")
    content_panels = [
        *Page.content_panels,
        FormSubmissionsPanel(),
        FieldPanel("intro"),
        InlinePanel("form_fields", label="Fields"),
        MultiFieldPanel([FieldPanel("thanks")], "After sending"),
    ]


class FormField(AbstractFormField):
    """A field of a form page."""

    page = ParentalKey(FormPage, on_delete=models.CASCADE, related_name="form_fields")
