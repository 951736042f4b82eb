"""Fills the desk: queues, tickets with their answers, articles of the knowledge base."""

from __future__ import annotations

import datetime as dt
import random

from django.contrib.auth import get_user_model
from django.utils import timezone
from helpdesk.models import FollowUp, KBCategory, KBItem, Queue, Ticket

from city.people import DOMAIN
from city.sites.desk.tickets import ARTICLES, QUEUES, TICKETS

STATUS = {"open": 1, "reopened": 2, "resolved": 3, "closed": 4}


def seed() -> None:
    """Fill the empty desk."""
    rng, now = random.Random("desk"), timezone.now()
    users = {user.username: user for user in get_user_model().objects.all()}
    queues = {
        slug: Queue.objects.create(title=title, slug=slug, allow_public_submission=True) for title, slug in QUEUES
    }
    for item in TICKETS:
        created = now - dt.timedelta(days=rng.randint(2, 40), minutes=rng.randint(0, 600))
        ticket = Ticket.objects.create(
            queue=queues[item.queue],
            title=item.title,
            description=item.text,
            submitter_email=f"{item.username}@{DOMAIN}",
            priority=item.priority,
            status=STATUS[item.status],
            assigned_to=users[item.assigned] if item.assigned else None,
        )
        ticket.created = created  # a new ticket gets the present time, whatever it is given
        ticket.save()
        for number, (username, text) in enumerate(item.answers, start=1):
            FollowUp.objects.create(
                ticket=ticket, title="Comment", comment=text, public=True, user=users[username],
                date=created + dt.timedelta(hours=7 * number),
            )  # fmt: skip
    for name in dict.fromkeys(name for name, _, _ in ARTICLES):
        category = KBCategory.objects.create(
            name=name, title=name, slug=name.lower(), description=f"Questions on: {name}", public=True
        )
        for _, question, answer in (row for row in ARTICLES if row[0] == name):
            KBItem.objects.create(category=category, title=question, question=question, answer=answer)
