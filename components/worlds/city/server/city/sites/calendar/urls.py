"""The calendars' pages, under django-scheduler's names."""

from django.contrib.auth import views as accounts
from django.urls import path
from django.views.generic import RedirectView
from schedule.periods import Day, Month, Week

from city.sites.calendar import views

moment = "<int:year>/<int:month>/<int:day>/<int:hour>/<int:minute>/<int:second>"
month = views.PeriodView.as_view(template_name="calendar/month.html")
week = views.PeriodView.as_view(template_name="calendar/week.html")
day = views.PeriodView.as_view(template_name="calendar/day.html")
date, move, cancel = views.DateView.as_view(), views.MoveDateView.as_view(), views.CancelDateView.as_view()

urlpatterns = [
    path("accounts/login/", accounts.LoginView.as_view(template_name="calendar/login.html"), name="login"),
    path("accounts/logout/", accounts.LogoutView.as_view(next_page="/accounts/login/"), name="logout"),
    path("", views.HomeView.as_view(), name="calendar_list"),
    path("calendar/month/<slug:calendar_slug>/", month, {"period": Month}, name="month_calendar"),
    path("calendar/week/<slug:calendar_slug>/", week, {"period": Week}, name="week_calendar"),
    path("calendar/daily/<slug:calendar_slug>/", day, {"period": Day}, name="day_calendar"),
    path("calendar/<slug:calendar_slug>/", RedirectView.as_view(pattern_name="month_calendar"), name="calendar_home"),
    path("event/<int:event_id>/", views.EventView.as_view(), name="event"),
    path("event/create/<slug:calendar_slug>/", views.CreateEventView.as_view(), name="calendar_create_event"),
    path("event/edit/<int:event_id>/", views.ChangeEventView.as_view(), name="edit_event"),
    path("event/delete/<int:event_id>/", views.DeleteEventView.as_view(), name="delete_event"),
    path("occurrence/<int:event_id>/<int:occurrence_id>/", date, name="occurrence"),
    path("occurrence/edit/<int:event_id>/<int:occurrence_id>/", move, name="edit_occurrence"),
    path("occurrence/cancel/<int:event_id>/<int:occurrence_id>/", cancel, name="cancel_occurrence"),
    path(f"occurrence/<int:event_id>/{moment}/", date, name="occurrence_by_date"),
    path(f"occurrence/edit/<int:event_id>/{moment}/", move, name="edit_occurrence_by_date"),
    path(f"occurrence/cancel/<int:event_id>/{moment}/", cancel, name="cancel_occurrence_by_date"),
]
