"""The calendars' pages: django-scheduler's views with our templates, rules and messages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin, UserPassesTestMixin
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.generic import CreateView, DeleteView, TemplateView, UpdateView
from schedule.models import Calendar, Event, Occurrence
from schedule.periods import Day, Period
from schedule.views import CalendarByPeriodsView, get_occurrence

from city.sites.calendar.forms import DateForm, EventForm

DAYS_AHEAD = 7
"""How many days the first page shows."""


class StaffMixin(LoginRequiredMixin, UserPassesTestMixin):
    """Pages for staff; customers get 403."""

    def test_func(self) -> bool:
        """Whether the user is of the staff."""
        return self.request.user.is_staff


class HomeView(LoginRequiredMixin, TemplateView):
    """All calendars, and what happens in the next days."""

    template_name = "calendar/home.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values: for each day, its occurrences in all calendars, by time."""
        now = timezone.localtime()
        events = Event.objects.select_related("calendar", "rule", "creator")
        days = [Day(events, now + dt.timedelta(days=number), tzinfo=now.tzinfo) for number in range(DAYS_AHEAD)]
        return super().get_context_data(calendars=Calendar.objects.order_by("pk"), days=days, **context)


class PeriodView(LoginRequiredMixin, CalendarByPeriodsView):
    """A month, a week or a day of a calendar."""

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        return super().get_context_data(calendars=Calendar.objects.order_by("pk"), **context)


class EventView(LoginRequiredMixin, TemplateView):
    """An event, with who booked it and its next dates."""

    template_name = "calendar/event.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        event = get_object_or_404(Event.objects.select_related("calendar", "rule", "creator"), pk=context["event_id"])
        now, dates = timezone.now(), []
        if event.rule is not None:
            dates = Period([event], now, now + dt.timedelta(weeks=6), tzinfo=dt.UTC).get_occurrences()
        return super().get_context_data(event=event, dates=dates, **context)


class DateView(LoginRequiredMixin, TemplateView):
    """One date of an event that repeats."""

    template_name = "calendar/date.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        event, date = get_occurrence(**self.kwargs)
        return super().get_context_data(event=event, date=date, **context)


class CreateEventView(StaffMixin, CreateView):
    """A new booking in a calendar."""

    model, form_class, template_name = Event, EventForm, "calendar/event_form.html"

    def get_initial(self) -> dict[str, Any]:
        """The day of the address, and the user as the one who books."""
        initial = {"creator": self.request.user.pk}
        try:
            day = dt.date.fromisoformat(self.request.GET.get("day", ""))
        except ValueError:
            return initial
        start = dt.datetime.combine(day, dt.time(9))
        return {**initial, "start": start, "end": start + dt.timedelta(minutes=30)}

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form's arguments."""
        self.calendar = get_object_or_404(Calendar, slug=self.kwargs["calendar_slug"])
        return {**super().get_form_kwargs(), "calendar": self.calendar}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        context = super().get_context_data(**context)
        return {**context, "calendar": self.calendar}

    def form_valid(self, form: EventForm) -> HttpResponse:
        """Save the booking."""
        form.instance.calendar = self.calendar
        messages.success(self.request, f"Booked: {form.instance.title}")
        return super().form_valid(form)


class ChangeEventView(StaffMixin, UpdateView):
    """A booking that is changed or moved, with all its dates."""

    model, form_class, pk_url_kwarg, template_name = Event, EventForm, "event_id", "calendar/event_form.html"

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form's arguments."""
        return {**super().get_form_kwargs(), "calendar": self.object.calendar}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        return {**super().get_context_data(**context), "calendar": self.object.calendar}

    def form_valid(self, form: EventForm) -> HttpResponse:
        """Save the change; dates that were moved or cancelled one by one keep their place in the series."""
        old, new = Event.objects.get(pk=self.object.pk), form.instance
        new.occurrence_set.update(
            original_start=F("original_start") + (new.start - old.start),
            original_end=F("original_end") + (new.end - old.end),
        )
        messages.success(self.request, f"Changed: {new.title}")
        return super().form_valid(form)


class DeleteEventView(StaffMixin, DeleteView):
    """Asks, and then deletes a booking with all its dates."""

    model, pk_url_kwarg, template_name = Event, "event_id", "calendar/event_delete.html"

    def get_success_url(self) -> str:
        """The month of the calendar."""
        messages.success(self.request, f"Deleted: {self.object.title}")
        return f"/calendar/month/{self.object.calendar.slug}/"


class MoveDateView(StaffMixin, UpdateView):
    """Moves one date of an event that repeats."""

    form_class, template_name = DateForm, "calendar/date_form.html"

    def get_object(self, queryset: Any = None) -> Occurrence:
        """The date, which has a row only after its first change."""
        return get_occurrence(**self.kwargs)[1]

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form's arguments."""
        return {**super().get_form_kwargs(), "calendar": self.object.event.calendar}

    def form_valid(self, form: DateForm) -> HttpResponse:
        """Save the change."""
        messages.success(self.request, f"Moved: {self.object.title}")
        return super().form_valid(form)


class CancelDateView(StaffMixin, TemplateView):
    """Asks, and then cancels one date of an event that repeats."""

    template_name = "calendar/date_cancel.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        event, date = get_occurrence(**self.kwargs)
        if date.cancelled:
            raise Http404("this date is cancelled already")
        return super().get_context_data(event=event, date=date, **context)

    def post(self, request: HttpRequest, **arguments: Any) -> HttpResponse:
        """Cancel it."""
        event, date = get_occurrence(**arguments)
        date.cancel()
        messages.success(request, f"Cancelled on {date.start:%d %B}: {event.title}")
        return HttpResponseRedirect(event.get_absolute_url())
