"""The forms for letters: recipients are named by user name or by e-mail address."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.forms import CharField
from postman.forms import FullReplyForm, WriteForm


class RecipientsField(CharField):
    """People, separated by commas, in the order in which they were typed."""

    def clean(self, value: Any) -> list[Any]:
        """The people's accounts.

        Raises:
            ValidationError: a name is unknown, or there is none although one is required.
        """
        names = [name.strip() for name in re.split("[,;]", super().clean(value)) if name.strip()]
        active = get_user_model().objects.filter(is_active=True)
        users = {name: active.filter(Q(username__iexact=name) | Q(email__iexact=name)).first() for name in names}
        if unknown := [name for name, user in users.items() if user is None]:
            raise ValidationError(f"The mail knows no user name or address {', '.join(unknown)}.")
        return list(dict.fromkeys(users.values()))


class LetterForm(WriteForm):
    """A new letter."""

    recipients = RecipientsField(label="To", help_text="User names or e-mail addresses, separated by commas")


class AnswerForm(FullReplyForm):
    """An answer, whose recipient is given by the letter."""

    recipients = RecipientsField(label="Copy to", required=False, help_text="Further user names or e-mail addresses")
