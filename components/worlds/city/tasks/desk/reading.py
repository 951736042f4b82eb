"""Questions about tickets."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.desk.tickets import (
    ACTIVE,
    CLOSED,
    OPEN,
    PRIORITIES,
    REOPENED,
    RESOLVED,
    STAFF,
    DeskTask,
    find_ticket,
    pick,
    tickets,
)
from components.worlds.city.tasks.template import Data, Facts, Unsuitable
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, click, fill, press

REPORTED = {"open or reopened": ACTIVE, "resolved": (RESOLVED,), "closed": (CLOSED,)}
"""The columns of the desk's report."""


class CountInQueue(DeskTask):
    """How many tickets of a queue have a status."""

    name = "desk_count_in_queue"
    length = "short"
    phrasings = (
        "How many tickets of the queue {queue} are {status}?",
        "Tell me the number of tickets in the queue {queue} that are {status}.",
        "Count the tickets in the queue {queue} that are {status}, and give me the number.",
        "For the meeting I need a number: how many tickets in the queue {queue} are {status}?",
        "Look into the reports of the desk. How many tickets of {queue} are {status}?",
        "In the queue {queue}, how many tickets are {status} at the moment?",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = tickets(data)
        counts = {
            (queue, words): sum(row["queue"] == queue and row["status"] in statuses for row in rows)
            for queue in sorted({row["queue"] for row in rows})
            for words, statuses in REPORTED.items()
        }
        queue, status = rng.choice([*counts])
        count = counts.pop((queue, status))
        return {"queue": queue, "status": status, "count": count, "rivals": sorted({*counts.values()} - {count})}

    def answer(self, facts: Facts) -> Answer:
        nothing = ("none", "no tickets", "no ticket", f"no {facts['status']} tickets", f"no {facts['status']} ticket")
        return number(facts["count"], near=facts["rivals"], nothing=nothing, named=self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"desk\.test/(reports|tickets|kanban|admin)/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "Reports")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['count']}, the tickets of {facts['queue']} that are {facts['status']}."]


class CountOfOwner(DeskTask):
    """How many tickets of a priority a colleague has."""

    name = "desk_count_of_owner"
    length = "medium"
    phrasings = (
        'How many open or reopened tickets with the priority "{priority}" are assigned to {owner}?',
        'Count the tickets of {owner} with the priority "{priority}" that are open or reopened.',
        '{owner} asks how many tickets of the priority "{priority}" are assigned to {owner} and still open or reopened.'
        " Give the number.",
        'Of the open and reopened tickets that are assigned to {owner}, how many have the priority "{priority}"?',
        'How much is on the list of {owner}: how many tickets with the priority "{priority}" are open or reopened?',
        'Filter the open and reopened tickets by the owner {owner} and the priority "{priority}". How many are there?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = tickets(data, *ACTIVE)
        pairs = sorted({(row["owner"], row["priority"]) for row in rows if row["owner"] in STAFF})
        if not pairs:
            raise Unsuitable("the staff have no open ticket")
        owner, priority = rng.choice(pairs)
        count = sum((row["owner"], row["priority"]) == (owner, priority) for row in rows)
        of_owner, of_priority = (
            sum(row[name] == value for row in rows) for name, value in (("owner", owner), ("priority", priority))
        )
        rivals = sorted({of_owner, of_priority, count + 1} - {count})
        return {
            "owner": STAFF[owner],
            "username": owner,
            "priority": _name(priority),
            "number": priority,
            "count": count,
            "rivals": rivals,
        }

    def answer(self, facts: Facts) -> Answer:
        nothing = ("none", "no tickets", "no ticket")
        return number(facts["count"], near=facts["rivals"], nothing=nothing, named=self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        is_shown_first = facts["username"] == self.logins["desk"]  # the start page lists one's own tickets
        return [] if is_shown_first else [r"desk\.test/(reports|tickets|kanban|admin)/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "All Tickets"),
            click("button", "Filters"),
            click("button", "Priority"),
            click("checkbox", re.escape(PRIORITIES[facts["number"]])),
            click("button", "Owner"),
            click("checkbox", facts["username"]),
            click("button", "Apply Filters"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"The answer is {facts['count']}, the open and reopened tickets of {facts['owner']} with the priority"
            f' "{facts["priority"]}".'
        ]


class OldestOrNewest(DeskTask):
    """The oldest or the newest open ticket of a queue or a customer."""

    name = "desk_oldest_or_newest"
    length = "short"
    phrasings = (
        "Which is the {which} open or reopened ticket {where}? Give its title.",
        "Find the {which} ticket {where} that is open or reopened, and tell me its title.",
        "Of the open and reopened tickets {where}, which one is the {which}? Its title is enough.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows, options = sorted(tickets(data, *ACTIVE), key=lambda row: row["created"]), []
        for column, words in (("queue", "in the queue {}"), ("email", "from {}")):
            for value in sorted({row[column] for row in rows}):
                own = [row for row in rows if row[column] == value]
                for which, first, second in (("oldest", 0, 1), ("newest", -1, -2)):
                    if len(own) > 1 and own[first]["created"][:10] != own[second]["created"][:10]:
                        title = own[first]["title"]
                        others = [row["title"] for row in own if row["title"] != title]
                        options.append({"which": which, "where": words.format(value), column: value, "title": title,
                                        "others": others})  # fmt: skip
        return pick(options, rng, "queue or customer with a ticket that is older or newer than the others")

    def answer(self, facts: Facts) -> Answer:
        return names([facts["title"]], [facts["title"], *facts["others"]], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        if "queue" in facts:
            return [click("link", "Reports"), click("link", re.escape(facts["queue"]))]
        return [click("link", "All Tickets"), fill("Search:", facts["email"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["title"]}", the {facts["which"]} open ticket {facts["where"]}.']


class WhoWrote(DeskTask):
    """Who submitted a ticket."""

    name = "desk_who_wrote"
    length = "short"
    phrasings = (
        'Who submitted the ticket "{title}"? Give the e-mail address.',
        'Find the ticket "{title}" and tell me the e-mail address of the person who submitted it.',
        'I need the e-mail address of the submitter of the ticket "{title}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = tickets(data, OPEN, REOPENED, RESOLVED)  # the header's search leaves out the closed ones
        unique = [row for row in rows if sum(row["title"] in other["title"] for other in rows) == 1]
        ticket = pick(unique, rng, "ticket with a title of its own")
        return {"title": ticket["title"], "email": ticket["email"], "emails": sorted({row["email"] for row in rows})}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["email"]], facts["emails"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [fill("Search", facts["title"]), press("Enter")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['email']}."]


class TicketPriority(DeskTask):
    """How urgent a ticket is."""

    name = "desk_ticket_priority"
    length = "short"
    phrasings = (
        "Which priority does ticket {ticket} have?",
        'How urgent is ticket number {ticket}? Tell me its priority, such as "Normal".',
        "Look up the priority of ticket {ticket} at the desk and tell me its name.",
    )
    start = "/tickets/"

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick([row for row in tickets(data) if row["priority"] != 3], rng, "ticket with another priority")
        return {"ticket": ticket["id"], "priority": _name(ticket["priority"])}

    def answer(self, facts: Facts) -> Answer:
        number = next(key for key in PRIORITIES if _name(key) == facts["priority"])  # the desk shows "2. High"
        return names([facts["priority"]], [_name(key) for key in PRIORITIES], [*self.given(facts), str(number)])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find_ticket(facts["ticket"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["priority"]}", the priority of ticket {facts["ticket"]}.']


def _name(priority: int) -> str:
    return PRIORITIES[priority].partition(" ")[2]


class LastAnswer(DeskTask):
    """Who wrote the last comment on a ticket."""

    name = "desk_last_comment"
    length = "short"
    phrasings = (
        'Who wrote the last comment on ticket {ticket}, "{title}"? The username is enough.',
        'Tell me the username of the person who commented last on ticket number {ticket} ("{title}").',
        'Whose comment on ticket {ticket} ("{title}") is the latest? Give the username.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        authors: dict[int, str] = {}
        for row in data.rows(
            "SELECT f.ticket_id, u.username FROM helpdesk_followup f JOIN auth_user u ON u.id = f.user_id "
            "ORDER BY f.date, f.id"
        ):
            authors[row["ticket_id"]] = row["username"]
        ticket = pick([row for row in tickets(data) if row["id"] in authors], rng, "ticket with a comment")
        users = [row["username"] for row in data.rows("SELECT username FROM auth_user ORDER BY username")]
        return {"ticket": ticket["id"], "title": ticket["title"], "author": authors[ticket["id"]], "users": users}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["author"]], facts["users"], self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [rf"desk\.test/tickets/{facts['ticket']}/.*", r"desk\.test/admin/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return find_ticket(facts["ticket"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['author']}, who commented last on ticket {facts['ticket']}."]
