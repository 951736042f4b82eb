"""Fills the site: its pages, pictures, forms, and the rights of the editors."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

import markdown
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser, Group
from django.core.files.base import ContentFile
from django.utils import timezone
from wagtail.admin.rich_text.converters.contentstate import ContentstateConverter
from wagtail.images.models import Image
from wagtail.models import Page, Site
from wagtail.users.models import UserProfile

from city.people import DOMAIN
from city.sites.cms import HOST, information, models, pictures
from city.sites.cms.events import EVENTS
from city.sites.cms.news import NEWS

EDITORS = ("dana", "piet")
OPENED = dt.datetime(2025, 11, 3, 10, 0, tzinfo=dt.UTC)
"""When the pages that have no date of their own were published."""
EDITOR_SIZES = ("max-165x165", "max-800x600")
"""The sizes in which the editor shows pictures."""


class Pages:
    """Makes pages in two steps, for texts link to pages that come later."""

    def __init__(self, users: dict[str, AbstractUser]) -> None:
        self._users = users
        self._texts: list[tuple[Page, dict[str, str], dt.datetime]] = []

    def add(self, parent: Page, page: Page, author: str, at: dt.datetime = OPENED, **texts: str) -> Page:
        """Add a page below another; `texts` are its rich texts, in Markdown."""
        page.owner = self._users[author]
        with time_machine.travel(at, tick=False):
            parent.add_child(instance=page)
        self._texts.append((page, texts, at))
        return page

    def publish(self) -> None:
        """Give the pages their texts, and each a first revision."""
        paths = {page.url: page.pk for page, _, _ in self._texts}
        for page, texts, at in self._texts:
            for name, text in texts.items():
                setattr(page, name, rich_text(text, paths))
            with time_machine.travel(at, tick=False):
                page.save_revision(user=page.owner, log_action=True).publish(user=page.owner)


def seed() -> None:
    """Fill the empty site."""
    users = {user.username: user for user in get_user_model().objects.all()}
    group = Group.objects.get(name="Moderators")
    for name in EDITORS:
        users[name].groups.add(group)
    for name in (*EDITORS, "admin"):
        UserProfile.objects.create(user=users[name])  # else the editor makes it when it is first opened
    images = {
        name: _image(f"{name}.jpg", title, pictures.scene(name), users["dana"])
        for name, title in pictures.TITLES.items()
    }
    root = Page.objects.get(depth=1)
    for page in root.get_children():
        page.delete()
    pages = Pages(users)
    home = pages.add(
        Page.objects.get(depth=1),
        models.HomePage(title="Harbour Town", slug="home", intro=information.HOME_INTRO, picture=images["lighthouse"]),
        "dana", body=information.HOME_BODY,
    )  # fmt: skip
    Site.objects.all().delete()
    Site.objects.create(hostname=HOST, root_page=home, is_default_site=True, site_name="Harbour Town")
    _news(pages, home, images)
    _events(pages, home, images)
    _harbour(pages, home, images)
    _staff(pages, home, users)
    _forms(pages, home)
    pages.publish()


def rich_text(text: str, paths: dict[str, int]) -> str:
    """Markdown as the editor saves it, so that publishing an unchanged text changes no row.

    Args:
        paths: the numbers of pages by path, for links.
    """
    html = markdown.markdown(text.strip()).replace("\n", "")
    html = re.sub(r'<a href="(/[^"]*)">', lambda match: f'<a linktype="page" id="{paths[match[1]]}">', html)
    converter = ContentstateConverter(models.FEATURES)
    return converter.to_database_format(converter.from_database_format(html))


def _image(name: str, title: str, content: bytes, user: AbstractUser) -> Image:
    image = Image(title=title, file=ContentFile(content, name=name), uploaded_by_user=user)
    image.save()
    # else the editor adds these when it first shows the picture
    image.get_file_size()
    for size in EDITOR_SIZES:
        image.get_rendition(size)
    return image


def _news(pages: Pages, home: Page, images: dict[str, Image]) -> None:
    section = pages.add(
        home,
        models.NewsIndexPage(
            title="News", slug="news", show_in_menus=True, intro="What is new between the mole and the fishmarket."
        ),
        "dana",
    )
    for item in NEWS:
        page = models.NewsPage(
            title=item.title, slug=item.slug, date=item.date, intro=item.intro, picture=images[item.drawing]
        )
        at = dt.datetime.combine(item.date, dt.time(10), dt.UTC)
        pages.add(section, page, item.author, at, body=item.body)


def _events(pages: Pages, home: Page, images: dict[str, Image]) -> None:
    section = pages.add(
        home,
        models.EventIndexPage(
            title="Events", slug="events", show_in_menus=True, intro="Everyone is welcome, with a boat or without."
        ),
        "dana",
    )
    for item in EVENTS:
        page = models.EventPage(
            title=item.title, slug=item.slug, begins=item.begins, ends=item.ends, place=item.place,
            organiser=item.organiser, fee=Decimal(item.fee), intro=item.intro, picture=images[item.drawing],
        )  # fmt: skip
        at = min(item.begins, timezone.now()) - dt.timedelta(days=20)
        pages.add(section, page, item.author, at, body=item.body)


def _harbour(pages: Pages, home: Page, images: dict[str, Image]) -> None:
    section = pages.add(
        home,
        models.SectionPage(
            title="The harbour", slug="harbour", show_in_menus=True,
            intro="Hours, prices, rules, and whatever else you want to know before you come.",
        ),
        "dana",
    )  # fmt: skip
    hours = models.HoursPage(title="Opening hours", slug="hours", intro=information.HOURS_INTRO)
    hours.hours = [
        models.OpeningHours(place=place, days=days, opens=_clock(opens), closes=_clock(closes), note=note, sort_order=n)
        for n, (place, days, opens, closes, note) in enumerate(information.HOURS)
    ]
    pages.add(section, hours, "dana", body=information.HOURS_BODY)
    prices = models.PricesPage(title="Prices", slug="prices", intro=information.PRICES_INTRO)
    prices.prices = [
        models.Price(service=service, amount=Decimal(amount), unit=unit, note=note, sort_order=n)
        for n, (service, amount, unit, note) in enumerate(information.PRICES)
    ]
    pages.add(section, prices, "dana", body=information.PRICES_BODY)
    for item in information.INFORMATION:
        page = models.InformationPage(
            title=item.title, slug=item.slug, intro=item.intro,
            picture=images[item.drawing] if item.drawing else None,
        )  # fmt: skip
        pages.add(section, page, item.author, body=item.body)


def _staff(pages: Pages, home: Page, users: dict[str, AbstractUser]) -> None:
    section = pages.add(
        home,
        models.SectionPage(
            title="Staff", slug="staff", show_in_menus=True, intro="Three people, one launch, and a kettle."
        ),
        "dana",
    )
    for item in information.STAFF:
        picture = _image(f"{item.slug}.jpg", item.name, pictures.portrait(*item.colours), users["dana"])
        page = models.StaffPage(
            title=item.name, slug=item.slug, job_title=item.job_title, phone=item.phone,
            email=f"{item.username}@{DOMAIN}", intro=item.intro, picture=picture,
        )  # fmt: skip
        pages.add(section, page, item.username, body=item.body)


def _forms(pages: Pages, home: Page) -> None:
    for item in information.FORMS:
        page = models.FormPage(title=item.title, slug=item.slug, show_in_menus=item.slug == "contact")
        page.form_fields = [
            models.FormField(label=label, field_type=kind, required=required, choices=choices, sort_order=n)
            for n, (label, kind, required, choices) in enumerate(item.fields)
        ]
        pages.add(home, page, "dana", intro=item.intro, thanks=item.thanks)


def _clock(text: str | None) -> dt.time | None:
    return dt.time.fromisoformat(text) if text else None
