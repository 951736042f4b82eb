"""What the letters say about the other sites: numbers of orders and tickets, and the dates of topics."""

from __future__ import annotations

import datetime as dt
import re

from city import rows
from city.copies import START
from city.sites.mail.conversations import Conversation
from city.sites.mail.office_letters import OFFICE
from city.sites.mail.private_letters import PRIVATE
from city.sites.shop import orders
from city.sites.shop.goods import GOODS

CONVERSATIONS = (*OFFICE, *PRIVATE)
GAP = dt.timedelta(hours=2, minutes=20)
"""From a letter to its answer."""
DELAY = dt.timedelta(hours=3)
"""From a topic or a ticket to the first letter about it."""
TITLES = {good.code: good.title for good in GOODS}


class Facts:
    """The facts of the bound copy, read once."""

    def __init__(self) -> None:
        self._orders = orders.read()
        self._topics = {row["subject"]: row for row in rows.select("SELECT * FROM forum_conversation_topic")}
        query = "SELECT t.*, q.slug FROM helpdesk_ticket t JOIN helpdesk_queue q ON q.id = t.queue_id"
        self._tickets = {row["title"]: row for row in rows.select(query)}

    def letters(self) -> list[tuple[dt.datetime, int, int]]:
        """Date, conversation and place in it of each letter, the oldest first."""
        return sorted(
            (self.began(conversation) + number * GAP, index, number)
            for index, conversation in enumerate(CONVERSATIONS)
            for number in range(len(conversation.letters))
        )

    def began(self, conversation: Conversation) -> dt.datetime:
        """When the first letter was sent: on its day, and after the topic or ticket that it is about."""
        if conversation.topic is not None:
            return rows.moment(self._topics[conversation.topic]["created"]) + DELAY
        minute = sum(map(ord, conversation.subject)) % 60
        sent = START - dt.timedelta(days=conversation.days) + dt.timedelta(minutes=minute)
        if conversation.ticket is None:
            return sent
        return max(sent, rows.moment(self._tickets[conversation.ticket]["created"]) + DELAY)

    def texts(self, conversation: Conversation) -> list[tuple[str, str]]:
        """Subject and body of each letter of a conversation."""
        values = {}
        if conversation.order is not None:
            order = self._order(conversation)
            values["order"] = order.number
            values["article"] = conversation.order.article or TITLES[order.lines[0][0]]
        if conversation.ticket is not None:
            ticket = self._tickets[conversation.ticket]
            values["ticket"] = f"{ticket['slug']}-{ticket['id']}"
        subject = conversation.subject.format(**values)
        return [
            (f"Re: {subject}" if number else subject, text.format(**values))
            for number, (_, _, text) in enumerate(conversation.letters)
        ]

    def _order(self, conversation: Conversation) -> orders.Order:
        purchase = conversation.order
        assert purchase is not None
        ticket = self._tickets[conversation.ticket]["description"] if conversation.ticket else ""
        named = re.findall(r"\b1\d{5}\b", ticket)
        for order in reversed(self._orders):
            if (
                order.username == purchase.customer
                and order.placed < self.began(conversation) - DELAY
                and purchase.status in (None, order.status)
                and (purchase.article is None or purchase.article in [TITLES[code] for code, _ in order.lines])
                and (not named or order.number in named)
            ):
                return order
        raise ValueError(f"the shop has no order for {purchase}: promise one in its orders")
