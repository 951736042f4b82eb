"""Tasks that change who works on a ticket, how urgent it is, where it lies, and what it depends on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.desk.tickets import (
    ACTIVE,
    PRIORITIES,
    STAFF,
    DeskTask,
    comment,
    details,
    find_ticket,
    followup,
    named,
    no_text,
    pick,
    respond,
    tickets,
    user_ids,
)
from components.worlds.city.tasks.template import Data, Facts, Unsuitable
from components.worlds.effects import Added, Changed, Effect, Incidental, KeyOf, Value, contains
from components.worlds.oracle import Step, choose, click, fill

HANDED_OVER = (
    "Thank you for your patience. Your ticket has a new owner, who writes to you today.",
    "We have passed this on to the colleague who knows most about it.",
    "You will hear from us before noon tomorrow.",
    "This has become urgent for us too. We look at it this afternoon.",
)


def log(ticket: int) -> list[Incidental]:
    """The log of a changed field: the response form writes it, the form for editing does not. It has the field's name
    in the user's language."""
    without_text = Incidental("helpdesk_followup", {"ticket_id": ticket, "comment": no_text, "new_status": None})
    return [without_text, noted_change(Incidental("helpdesk_followup", {"ticket_id": ticket}))]


def noted_change(followup: Effect | Incidental, **values: Value) -> Incidental:
    """A changed field that the desk notes with this follow-up."""
    return Incidental("helpdesk_ticketchange", {"followup_id": KeyOf(followup), **values})


def assigned(ticket: int, username: str) -> dict[str, Any]:
    """The follow-up by which the desk notes a new owner in the user's language, one by one or of several tickets at
    once."""
    return {"ticket_id": ticket, "author": "dana", "title": contains(username), "comment": no_text}


class AssignTicket(DeskTask):
    """Give a ticket to a colleague."""

    name = "desk_assign_ticket"
    length = "medium"
    phrasings = (
        'Assign ticket {ticket}, "{title}", to {owner}.',
        '{owner} shall take care of ticket number {ticket} ("{title}"). Assign it.',
        'Make {owner} the owner of ticket {ticket} ("{title}").',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *ACTIVE), rng, "open ticket")
        username = rng.choice([name for name in STAFF if name != ticket["owner"]])
        return named(ticket, username=username, owner=STAFF[username], user=user_ids(data)[username])

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [
            Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"assigned_to_id": facts["user"]}),
            Added("helpdesk_followup", assigned(facts["ticket"], facts["username"])),
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        noted = Added("helpdesk_followup", assigned(facts["ticket"], facts["username"]))
        return [noted_change(noted, new_value=facts["username"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find_ticket(facts["ticket"]), choose("", facts["owner"]), click("button", "Save ticket assignment")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"Ticket {facts['ticket']} is assigned to {facts['owner']}.", "Nothing else changed."]


class SetPriority(DeskTask):
    """Change how urgent a ticket is."""

    name = "desk_set_priority"
    length = "medium"
    phrasings = (
        'Set the priority of ticket {ticket}, "{title}", to "{priority}".',
        'Ticket number {ticket} ("{title}") should have the priority "{priority}". Write no comment.',
        'Change the priority of ticket {ticket} ("{title}"): from now on it is "{priority}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *ACTIVE), rng, "open ticket")
        number = rng.choice([number for number in PRIORITIES if number != ticket["priority"]])
        return named(ticket, number=number, priority=PRIORITIES[number])

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"priority": facts["number"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return log(facts["ticket"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return respond(facts["ticket"], *details(priority=facts["number"]))

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'Ticket {facts["ticket"]} has the priority "{facts["priority"]}".', "Nothing else changed."]


class MoveToQueue(DeskTask):
    """Move a ticket to the queue in which it belongs."""

    name = "desk_move_to_queue"
    length = "medium"
    phrasings = (
        'Move ticket {ticket}, "{title}", to the queue {queue}.',
        'Ticket number {ticket} ("{title}") lies in the wrong queue. It belongs to {queue}. Put it there.',
        'The queue {queue} should have ticket {ticket} ("{title}"). Change its queue, and nothing else.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *ACTIVE), rng, "open ticket")
        queues = data.rows("SELECT id, title FROM helpdesk_queue WHERE id <> ? ORDER BY id", ticket["queue_id"])
        queue = pick(queues, rng, "other queue")
        return named(ticket, queue=queue["title"], queue_id=queue["id"])

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"queue_id": facts["queue_id"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return log(facts["ticket"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        steps = [click("button", "Actions"), click("link", "Edit"), choose("Queue", facts["queue"], is_data=True)]
        return [*find_ticket(facts["ticket"]), *steps, click("button", "Save Changes")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"Ticket {facts['ticket']} is in the queue {facts['queue']}.", "Nothing else changed."]


class RenameTicket(DeskTask):
    """Give a ticket a clearer title."""

    name = "desk_rename_ticket"
    length = "medium"
    phrasings = (
        'Change the title of ticket {ticket} from "{title}" to "{new}".',
        'Ticket number {ticket} is called "{title}". Rename it to "{new}".',
        'Edit ticket {ticket} ("{title}"): its new title is "{new}". Change nothing else.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *ACTIVE), rng, "open ticket")
        person = ticket["email"].partition("@")[0].title()
        new = rng.choice(("{title} ({person})", "{person}: {title}", "Urgent: {title}", "{title} (asked twice)"))
        return named(ticket, new=new.format(title=ticket["title"], person=person))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"title": facts["new"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return log(facts["ticket"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        steps = [click("button", "Actions"), click("link", "Edit"), fill("Title", facts["new"])]
        return [*find_ticket(facts["ticket"]), *steps, click("button", "Save Changes")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'Ticket {facts["ticket"]} has the title "{facts["new"]}".', "Nothing else changed."]


class AddDependency(DeskTask):
    """Note that a ticket cannot be solved before another one."""

    name = "desk_add_dependency"
    length = "medium"
    phrasings = (
        'Make ticket {ticket}, "{title}", dependent on ticket {other}, "{other_title}".',
        'Ticket {ticket} ("{title}") cannot be solved before ticket {other} ("{other_title}"). Add this dependency.',
        'Add a dependency: ticket {ticket} ("{title}") depends on ticket {other} ("{other_title}").',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = tickets(data, *ACTIVE)
        if len(rows) < 2:
            raise Unsuitable("there are no two open tickets")
        ticket, other = rng.sample(rows, 2)
        return named(ticket, other=other["id"], other_title=other["title"])

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"ticket_id": facts["ticket"], "depends_on_id": facts["other"]}
        return [Added("helpdesk_ticketdependency", values)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *find_ticket(facts["ticket"]),
            click("link", "Make this ticket dependent.*"),
            choose("Depends On Ticket", f"{facts['other']} {facts['other_title']}"),
            click("button", "Save Ticket Dependency"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"Ticket {facts['ticket']} depends on ticket {facts['other']}.", "Nothing else changed."]


class AssignAll(DeskTask):
    """Give all tickets of a customer to one colleague."""

    name = "desk_assign_all_of_customer"
    length = "medium"
    phrasings = (
        "Assign all open and reopened tickets of {email} to {owner}.",
        "{owner} takes care of everything that {email} still has open at the desk. Assign these tickets, reopened ones"
        " too.",
        "Make {owner} the owner of each ticket from {email} that is open or reopened.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows, options = tickets(data, *ACTIVE), []
        for email in sorted({row["email"] for row in rows}):
            own = [row for row in rows if row["email"] == email]
            for username in STAFF:
                foreign = [row["id"] for row in own if row["owner"] != username]
                if len(own) in range(2, 7) and foreign:
                    options.append({"email": email, "username": username, "owner": STAFF[username], "tickets": foreign})
        facts = pick(options, rng, "customer with several open tickets")
        return {**facts, "user": user_ids(data)[facts["username"]]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [
            effect
            for ticket in facts["tickets"]
            for effect in (
                Changed("helpdesk_ticket", {"id": ticket}, {"assigned_to_id": facts["user"]}),
                Added("helpdesk_followup", assigned(ticket, facts["username"])),
            )
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        noted = [Added("helpdesk_followup", assigned(ticket, facts["username"])) for ticket in facts["tickets"]]
        return [noted_change(followup, new_value=facts["username"]) for followup in noted]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "All Tickets"),
            fill("Search:", facts["email"]),
            click("button", "Actions"),
            click("button", "All"),
            choose("", facts["username"]),
            click("button", "Go", after="Invert"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"Ticket {ticket} is assigned to {facts['owner']}." for ticket in facts["tickets"]] + [
            "No other ticket has a new owner."
        ]


class TriageTicket(DeskTask):
    """Give a new ticket an owner, a priority and a queue, and tell the customer."""

    name = "desk_triage_ticket"
    length = "long"
    phrasings = (
        'Look after ticket {ticket}, "{title}": assign it to {owner}, set its priority to "{priority}", move it to the'
        ' queue {queue}, and write this public comment: "{text}"',
        'Ticket number {ticket} ("{title}") goes to {owner}, in the queue {queue}, with the priority "{priority}". Tell'
        ' the customer in a public comment: "{text}"',
        'For ticket {ticket} ("{title}"): owner {owner}, queue {queue}, priority "{priority}", and the public comment'
        ' "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *ACTIVE), rng, "open ticket")
        username = rng.choice([name for name in STAFF if name != ticket["owner"]])
        number = rng.choice([number for number in PRIORITIES if number != ticket["priority"]])
        queues = data.rows("SELECT id, title FROM helpdesk_queue WHERE id <> ? ORDER BY id", ticket["queue_id"])
        queue = pick(queues, rng, "other queue")
        return named(
            ticket,
            username=username,
            owner=STAFF[username],
            user=user_ids(data)[username],
            number=number,
            priority=PRIORITIES[number],
            queue=queue["title"],
            queue_id=queue["id"],
            text=rng.choice(HANDED_OVER),
        )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"assigned_to_id": facts["user"], "priority": facts["number"], "queue_id": facts["queue_id"]}
        return [
            Changed("helpdesk_ticket", {"id": facts["ticket"]}, to),
            followup(facts["ticket"], facts["text"], True, new_status=None),
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        owner = Incidental("helpdesk_followup", assigned(facts["ticket"], facts["username"]))
        return [owner, *log(facts["ticket"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *find_ticket(facts["ticket"]),
            choose("", facts["owner"]),
            click("button", "Save ticket assignment"),
            click("tab", "Respond"),
            comment(facts["text"]),
            *details(priority=facts["number"], queue=facts["queue"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Ticket {facts['ticket']} is assigned to {facts['owner']}.",
            f'Its priority is "{facts["priority"]}".',
            f"It is in the queue {facts['queue']}.",
            f'It has the new public comment "{facts["text"]}".',
            "Nothing else changed.",
        ]
