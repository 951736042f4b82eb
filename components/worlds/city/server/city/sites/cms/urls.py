"""The site's pages and its editor."""

from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as wagtailadmin_urls
from wagtail.documents import urls as wagtaildocs_urls

from city.sites.cms import views

handler404 = "city.sites.cms.views.not_found"

urlpatterns = [
    path("admin/editing-sessions/ping/<path:page>/<int:session_id>/", views.presence),
    path("admin/editing-sessions/release/<int:session_id>/", views.presence),
    path("admin/", include(wagtailadmin_urls)),
    path("documents/", include(wagtaildocs_urls)),
    path("search/", views.search, name="search"),
    path("", include(wagtail_urls)),
]
