"""Fills the desk: queues, tickets with their answers, articles of the knowledge base."""

from __future__ import annotations

import random

from django.contrib.auth import get_user_model
from django.contrib.sites.models import Site
from helpdesk.models import FollowUp, KBCategory, KBItem, Queue, Ticket

from city.sites.desk import vary
from city.sites.desk.tickets import ARTICLES, QUEUES, TICKETS
from city.sites.shop import orders


def seed() -> None:
    """Fill the empty desk."""
    Site(pk=1, domain="desk.test", name="Harbour help desk").save()  # the desk's search leads to a ticket by it
    queues = {
        slug: Queue.objects.create(title=title, slug=slug, allow_public_submission=True) for title, slug in QUEUES
    }
    for item in TICKETS:
        ticket = Ticket.objects.create(queue=queues[item.queue], title=item.title, description=item.text)
    FollowUp.objects.create(
        ticket=ticket, title="Comment", public=True, user=get_user_model().objects.get(username="dana")
    )  # the other columns of all answers
    rng, placed = random.Random("desk"), orders.read()
    vary.write([vary.file(item, placed, rng) for item in TICKETS])
    for name in dict.fromkeys(name for name, _, _ in ARTICLES):
        category = KBCategory.objects.create(
            name=name, title=name, slug=name.lower(), description=f"Questions on: {name}", public=True
        )
        for _, question, answer in (row for row in ARTICLES if row[0] == name):
            KBItem.objects.create(category=category, title=question, question=question, answer=answer)
