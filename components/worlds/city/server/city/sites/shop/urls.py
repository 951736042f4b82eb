"""The shop's pages."""

from django.apps import apps
from django.urls import include, path
from django_tables2 import TemplateColumn
from oscar.core.loading import get_classes

CATALOGUE_TABLES = get_classes("dashboard.catalogue.tables", ["ProductTable", "CategoryTable"])
USER_TABLES = get_classes("dashboard.users.tables", ["UserTable"])
for table in (*CATALOGUE_TABLES, *USER_TABLES):
    for column in table.base_columns.values():
        if isinstance(column, TemplateColumn) and not column.accessor and not column.order_by:
            column.orderable = False  # a box or a button has no order: the link in its heading was an error page

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
