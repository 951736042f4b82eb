from django.conf import settings
from django.db import migrations, models
from wagtail import blocks, fields


class Migration(migrations.Migration):
    initial = True

    dependencies = (("wagtailcore", "0098_apitoken"), ("wagtailimages", "0027_image_description"))

    operations = (
        migrations.CreateModel(
            name="ArticlePage",
            fields=[
                (
                    "page_ptr",
                    models.OneToOneField(
                        settings.WAGTAIL_PAGE_MODEL,
                        models.CASCADE,
                        auto_created=True,
                        parent_link=True,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("intro", models.CharField(max_length=200, blank=True)),
                ("body", fields.RichTextField(blank=True)),
                (
                    "section",
                    models.CharField(max_length=10, default="news", choices=[("news", "News"), ("travel", "Travel")]),
                ),
                (
                    "parts",
                    fields.StreamField([("quote", blocks.CharBlock()), ("note", blocks.TextBlock())], blank=True),
                ),
                (
                    "picture",
                    models.ForeignKey("wagtailimages.Image", models.SET_NULL, null=True, blank=True, related_name="+"),
                ),
            ],
            bases=("wagtailcore.page",),
        ),
    )
