"""The forum's pages."""

from django.contrib.auth import views
from django.urls import include, path

urlpatterns = [
    path("accounts/login/", views.LoginView.as_view(template_name="city/login.html"), name="login"),
    path("accounts/logout/", views.LogoutView.as_view(next_page="/"), name="logout"),
    path("", include("machina.urls")),
]
