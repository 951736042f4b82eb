"""The editor and the articles. Run in the project's settings."""

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from magazine.models import ArticlePage  # noqa: E402
from wagtail.models import Page  # noqa: E402

User.objects.create_superuser("editor", "editor@magazine.test", "headline")
home = Page.objects.get(slug="home")
for title in ("Tents of the north", "A week by canoe", "Bread without an oven", "Notes on rope"):
    home.add_child(instance=ArticlePage(title=title, intro="An article.", body="<p>To be written.</p>"))
