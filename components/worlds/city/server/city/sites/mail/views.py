"""Pages that postman has not: search and the address book. And its pages whose clock stood still."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import Q, QuerySet
from django.utils.timezone import now
from django.views.generic import ListView
from postman import views
from postman.models import STATUS_ACCEPTED, Message


class DeleteView(views.DeleteView):
    """Moves letters to the trash. Postman reads the clock once, when the process starts."""

    @property
    def field_value(self) -> dt.datetime:
        """The time of the request."""
        return now()


class MarkReadView(views.MarkReadView):
    """Marks letters as read. Postman reads the clock once, when the process starts."""

    @property
    def field_value(self) -> dt.datetime:
        """The time of the request."""
        return now()


class SearchView(LoginRequiredMixin, ListView):
    """Letters, sent and received, with all words in their subject, their text or the other person's name."""

    template_name = "mail/search.html"

    def get_queryset(self) -> QuerySet[Message]:
        """The letters that fit, the newest first; none without words."""
        user, words = self.request.user, self.request.GET.get("q", "").split()
        received = Q(recipient=user, recipient_deleted_at=None, moderation_status=STATUS_ACCEPTED)
        letters = Message.objects.filter(received | Q(sender=user, sender_deleted_at=None))
        for word in words:
            fits = Q(subject__icontains=word) | Q(body__icontains=word)
            for field in ("first_name", "last_name", "email"):
                fits |= Q(**{f"sender__{field}__icontains": word}) | Q(**{f"recipient__{field}__icontains": word})
            letters = letters.filter(fits)
        return letters.select_related("sender", "recipient") if words else letters.none()

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The page's values."""
        return super().get_context_data(query=self.request.GET.get("q", ""), **context)


class PeopleView(LoginRequiredMixin, ListView):
    """The address book."""

    template_name = "mail/people.html"

    def get_queryset(self) -> QuerySet:
        """Everyone with an account, by name."""
        people = get_user_model().objects.filter(is_active=True).exclude(pk=self.request.user.pk)
        return people.order_by("first_name", "last_name")
