"""The Django application of the site's page models."""

from django.apps import AppConfig


class CmsConfig(AppConfig):
    """Gives the models' tables names such as `cms_newspage`."""

    name = "city.sites.cms"
    label = "cms"
