"""The forms for bookings, with the rules of the harbour."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.utils import timezone
from schedule.models import Calendar, Event, Occurrence, Rule


@dataclass(frozen=True)
class Slots:
    """When a thing that serves one boat at a time can be booked, on weekdays."""

    opens: dt.time
    closes: dt.time
    minutes: int


SLOTS = {"crane": Slots(dt.time(8), dt.time(16), 30)}
"""By the calendar's slug, as the desk's article says it."""


class Moment(forms.SplitDateTimeField):
    """A day and a time, in the browser's own widgets."""

    def __init__(self, label: str) -> None:
        widget = forms.SplitDateTimeWidget(
            date_format="%Y-%m-%d",
            time_format="%H:%M",
            date_attrs={"type": "date", "aria-label": f"{label}, day"},
            time_attrs={"type": "time", "aria-label": f"{label}, time"},
        )
        super().__init__(label=label, widget=widget)


class SpanForm(forms.ModelForm):
    """A form with `start` and `end`.

    Args:
        calendar: the calendar whose rules hold.
    """

    start, end = Moment("Starts"), Moment("Ends")

    def __init__(self, *arguments: Any, calendar: Calendar, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._calendar = calendar

    def clean(self) -> dict[str, Any]:
        """The form's values.

        Raises:
            ValidationError: the times are against the calendar's rules.
        """
        values = super().clean()
        if "start" in values and "end" in values:
            start, end = values["start"], values["end"]
            if end <= start:
                raise forms.ValidationError("The end must be later than the start.")
            if (slots := SLOTS.get(self._calendar.slug)) is not None:
                self._check(slots, timezone.localtime(start), timezone.localtime(end))
        return values

    def _check(self, slots: Slots, start: dt.datetime, end: dt.datetime) -> None:
        name = self._calendar.name.lower()
        inside = start.date() == end.date() and slots.opens <= start.time() and end.time() <= slots.closes
        if start.weekday() > 4 or not inside:
            raise forms.ValidationError(
                f"The {name} works on weekdays from {slots.opens:%H:%M} to {slots.closes:%H:%M}."
            )
        if any(moment.minute % slots.minutes or moment.second for moment in (start, end)):
            raise forms.ValidationError(f"The {name} is booked in slots of {slots.minutes} minutes.")
        for event in self._calendar.events.select_related("rule"):
            for date in event.get_occurrences(start, end):
                if not date.cancelled and not self._is_own(date) and date.start < end and date.end > start:
                    raise forms.ValidationError(f"The {name} is taken then: {date.title}.")

    def _is_own(self, date: Occurrence) -> bool:
        """Whether a date is the one that is being changed."""
        if isinstance(self.instance, Event):
            return date.event_id == self.instance.pk
        return date.event_id == self.instance.event_id and date.original_start == self.instance.original_start


class PersonField(forms.ModelChoiceField):
    """A person, shown by full name."""

    def label_from_instance(self, user: Any) -> str:
        """The person's name."""
        return user.get_full_name()


class RuleField(forms.ModelChoiceField):
    """How an event repeats."""

    def label_from_instance(self, rule: Rule) -> str:
        """The rule's name."""
        return rule.name


class EventForm(SpanForm):
    """A booking."""

    creator = PersonField(label="Booked by", queryset=get_user_model().objects.order_by("first_name", "last_name"))
    rule = RuleField(label="Repeats", queryset=Rule.objects.order_by("pk"), required=False, empty_label="Once")
    end_recurring_period = forms.DateTimeField(
        label="Repeats until",
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateTimeInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    description = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}))

    class Meta:
        """All fields but the calendar, the times of the record and the colour."""

        model = Event
        fields = ("title", "start", "end", "creator", "rule", "end_recurring_period", "description")

    def clean_end_recurring_period(self) -> dt.datetime | None:
        """The end of the last day, so that a date on it counts."""
        last = self.cleaned_data["end_recurring_period"]
        return None if last is None else last.replace(hour=23, minute=59)


class DateForm(SpanForm):
    """One date of an event that repeats."""

    class Meta:
        """The times alone."""

        model = Occurrence
        fields = ("start", "end")
