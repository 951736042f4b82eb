from django.db import models
from django_prose_editor.fields import ProseEditorField
from easymde.fields import EasyMDEField

REVIEW = {"Bold": True, "Italic": True, "BulletList": True, "ListItem": True, "Link": True}


class Author(models.Model):
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Genre(models.Model):
    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, models.PROTECT)
    translator = models.ForeignKey(Author, models.PROTECT, null=True, blank=True, related_name="translations")
    language = models.CharField(max_length=2, choices={"en": "English", "it": "Italian", "no": "Norwegian"})
    published = models.DateField(null=True, blank=True)
    in_print = models.BooleanField(default=False)
    genres = models.ManyToManyField(Genre, blank=True)
    summary = models.TextField(blank=True)
    review = ProseEditorField(blank=True, extensions=REVIEW, sanitize=True)
    notes = EasyMDEField(blank=True)
    cover = models.FileField(blank=True, upload_to="covers")

    def __str__(self) -> str:
        return self.title


class Loan(models.Model):
    book = models.ForeignKey(Book, models.CASCADE)
    reader = models.CharField(max_length=100)
    returned = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"to {self.reader}"
