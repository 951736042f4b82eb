"""Fills the mail: people's letters, which name orders, tickets and topics of the other sites."""

from __future__ import annotations

import datetime as dt

from django.contrib.auth import get_user_model
from helpdesk.models import Ticket
from machina.core.db.models import get_model as get_forum_model
from oscar.core.loading import get_model as get_shop_model
from postman.models import STATUS_ACCEPTED, Message

from city.copies import START
from city.sites.mail.conversations import Conversation, Purchase
from city.sites.mail.office_letters import OFFICE
from city.sites.mail.private_letters import PRIVATE

CONVERSATIONS = (*OFFICE, *PRIVATE)
GAP = dt.timedelta(hours=2, minutes=20)
"""From a letter to its answer."""
DELAY = dt.timedelta(hours=3)
"""From a topic or a ticket to the first letter about it."""


def seed() -> None:
    """Fill the empty mail, the oldest letter first."""
    letters = [
        (began(conversation) + number * GAP, index, number)
        for index, conversation in enumerate(CONVERSATIONS)
        for number in range(len(conversation.letters))
    ]
    users = {user.username: user for user in get_user_model().objects.all()}
    names = [facts(conversation) for conversation in CONVERSATIONS]
    previous: dict[int, Message] = {}
    for sent, index, number in sorted(letters):
        conversation, parent = CONVERSATIONS[index], previous.get(index)
        sender, recipient, text = conversation.letters[number]
        is_new = conversation.unread and number == len(conversation.letters) - 1
        subject = conversation.subject.format(**names[index])
        message = Message.objects.create(
            subject=subject if parent is None else f"Re: {subject}",
            body=text.format(**names[index]),
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


def began(conversation: Conversation) -> dt.datetime:
    """When the first letter was sent: on its day, and after the topic or ticket that it is about."""
    if conversation.topic is not None:
        topic = get_forum_model("forum_conversation", "Topic").objects.get(subject=conversation.topic)
        return topic.created + DELAY
    minute = sum(map(ord, conversation.subject)) % 60
    sent = START - dt.timedelta(days=conversation.days) + dt.timedelta(minutes=minute)
    if conversation.ticket is None:
        return sent
    return max(sent, Ticket.objects.get(title=conversation.ticket).created + DELAY)


def facts(conversation: Conversation) -> dict[str, str]:
    """What the placeholders of a conversation's texts stand for."""
    values = {}
    if conversation.order is not None:
        values["order"], values["article"] = order_of(conversation.order)
    if conversation.ticket is not None:
        values["ticket"] = Ticket.objects.get(title=conversation.ticket).ticket_for_url
    return values


def order_of(purchase: Purchase) -> tuple[str, str]:
    """The number of the order in the shop and the title of an article in it.

    Raises:
        ValueError: there is no such order.
    """
    orders = get_shop_model("order", "Order").objects.filter(
        user__username=purchase.customer, date_placed__lt=START - dt.timedelta(days=4)
    )
    if purchase.status is not None:
        orders = orders.filter(status=purchase.status)
    if purchase.article is not None:
        orders = orders.filter(lines__title=purchase.article)
    order = orders.order_by("-date_placed").first()
    if order is None:
        raise ValueError(f"the shop has no order for {purchase}: change the letter in sites/mail")
    return order.number, purchase.article or order.lines.order_by("pk").first().title
