from django.db import models
from wagtail import blocks
from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField, StreamField
from wagtail.models import Page


class ArticlePage(Page):
    intro = models.CharField(max_length=200, blank=True)
    body = RichTextField(blank=True)
    section = models.CharField(max_length=10, default="news", choices={"news": "News", "travel": "Travel"})
    parts = StreamField([("quote", blocks.CharBlock()), ("note", blocks.TextBlock())], blank=True)
    picture = models.ForeignKey("wagtailimages.Image", models.SET_NULL, null=True, blank=True, related_name="+")

    content_panels = (*Page.content_panels, *map(FieldPanel, ("intro", "section", "body", "parts", "picture")))
