"""Fills the mail: people's letters, which name orders, tickets and topics of the other sites."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from postman.models import STATUS_ACCEPTED, Message

from city.sites.mail.facts import CONVERSATIONS, GAP, Facts


def seed() -> None:
    """Fill the empty mail, the oldest letter first."""
    facts = Facts()
    users = {user.username: user for user in get_user_model().objects.all()}
    texts = [facts.texts(conversation) for conversation in CONVERSATIONS]
    previous: dict[int, Message] = {}
    for sent, index, number in facts.letters():
        conversation, parent = CONVERSATIONS[index], previous.get(index)
        sender, recipient, _ = conversation.letters[number]
        subject, text = texts[index][number]
        is_new = conversation.unread and number == len(conversation.letters) - 1
        message = Message.objects.create(
            subject=subject,
            body=text,
            sender=users[sender],
            recipient=users[recipient],
            parent=parent,
            thread_id=None if parent is None else parent.thread_id or parent.pk,
            sent_at=sent,
            read_at=None if is_new else sent + GAP / 2,
            moderation_status=STATUS_ACCEPTED,
            moderation_date=sent,
            sender_archived=sender in conversation.archived_by,
            recipient_archived=recipient in conversation.archived_by,
            sender_deleted_at=sent + GAP / 2 if sender in conversation.deleted_by else None,
            recipient_deleted_at=sent + GAP / 2 if recipient in conversation.deleted_by else None,
        )
        if parent is not None:
            Message.objects.filter(pk=parent.pk).update(thread_id=message.thread_id, replied_at=sent)
        previous[index] = message
