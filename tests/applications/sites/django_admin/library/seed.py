"""The user and the catalogue. Run in the project's settings."""

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from library.models import Author, Book, Genre  # noqa: E402

User.objects.create_superuser("librarian", password="shelves")
genres = [Genre.objects.create(name=name) for name in ("Adventure", "Biography", "Cookery", "History", "Travel")]
for number in range(40):
    author, _ = Author.objects.get_or_create(
        name=f"{('Ada', 'Bruno', 'Chiara', 'Dag')[number % 4]} Author {number % 11}"
    )
    Book.objects.create(title=f"Volume {number + 1} of the long series", author=author, language="en", in_print=True)
ishmael = Author.objects.create(name="Iris Melville")
Book.objects.create(title="The Whale Road", author=ishmael, language="en")
Book.objects.create(title="The Whale Road (spoiled copy)", author=ishmael, language="it")
