"""The desk's pages."""

from django.contrib import admin
from django.contrib.auth import views
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/login/", views.LoginView.as_view(template_name="city/login.html")),
    path("accounts/logout/", views.LogoutView.as_view(next_page="/")),
    path("", include("helpdesk.urls", namespace="helpdesk")),
]
