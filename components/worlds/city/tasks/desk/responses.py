"""Tasks that answer a ticket or change its status."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from components.worlds.city.tasks.desk.tickets import (
    ACTIVE,
    CLOSED,
    OPEN,
    REOPENED,
    RESOLVED,
    DeskTask,
    comment,
    find_ticket,
    followup,
    named,
    new_status,
    no_text,
    pick,
    respond,
    tickets,
)
from components.worlds.city.tasks.template import Data, Facts
from components.worlds.effects import Added, Changed, Effect, KeyOf
from components.worlds.oracle import Step, click

REPLIES = (
    "Thank you for writing. We look into it today and ring you tomorrow morning.",
    "We have asked the workshop and expect an answer by Wednesday.",
    "Please bring it to the harbour office, we are there until five.",
    "Could you send us a picture of it? Then we can decide today.",
    "This is on our list for Thursday. You need to do nothing until then.",
    "We have found the cause and will write again when it is put right.",
)
NOTES = (
    "Rang twice, nobody picked up. Try again after four.",
    "Customer of many years, please be generous.",
    "Piet knows the story, ask him before you answer.",
    "Wait for the carrier's letter before you promise anything.",
    "The same complaint came by telephone on Monday.",
    "Do not refund before the article is back.",
)
SOLUTIONS = (
    "Settled on the telephone, both sides are content.",
    "A new one went out with today's parcel.",
    "The money was sent back to the same account.",
    "Piet has repaired it on board.",
    "The bill was corrected and sent again.",
    "It was put right at the berth this morning.",
)
REASONS_TO_REOPEN = (
    "The customer rang: the fault is back.",
    "The customer wrote by post that it is not settled.",
    "The carrier has found the parcel after all.",
    "We had promised a refund, and it has not been paid.",
)


class PublicReply(DeskTask):
    """Answer a ticket so that the customer sees it."""

    name = "desk_public_reply"
    length = "medium"
    phrasings = (
        'Answer ticket {ticket}, "{title}", with this public comment: "{text}" Leave its status as it is.',
        'Write a comment on ticket {ticket} ("{title}") that the customer can see: "{text}" Change nothing else.',
        'Ticket {ticket} ("{title}") needs a public answer. Write: "{text}" The status stays as it is.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return named(pick(tickets(data, *ACTIVE), rng, "open ticket"), text=rng.choice(REPLIES))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [followup(facts["ticket"], facts["text"], True, new_status=None)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return respond(facts["ticket"], comment(facts["text"]))

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'Ticket {facts["ticket"]} has the new public comment "{facts["text"]}".',
            "Its status and everything else are as before.",
        ]


class PrivateNote(DeskTask):
    """Leave a note that only the staff see."""

    name = "desk_private_note"
    length = "medium"
    phrasings = (
        'Leave a note on ticket {ticket}, "{title}", that is not public: "{text}" Change nothing else.',
        'Add this comment to ticket number {ticket} ("{title}"), for the staff only, not public: "{text}"',
        'Write on ticket {ticket} ("{title}"), without the customer seeing it: "{text}" Leave the ticket as it is.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return named(pick(tickets(data, *ACTIVE), rng, "open ticket"), text=rng.choice(NOTES))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [followup(facts["ticket"], facts["text"], False, new_status=None)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return respond(facts["ticket"], comment(facts["text"]), click("checkbox", "Is this update public.*"))

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'Ticket {facts["ticket"]} has the new comment "{facts["text"]}".',
            "The comment is not public.",
            "The ticket's status and everything else are as before.",
        ]


class _NewStatus(DeskTask):
    """Give a ticket a status, with a comment."""

    length = "medium"
    old: ClassVar[tuple[int, ...]]
    new: ClassVar[int]
    radio: ClassVar[str]
    texts: ClassVar[tuple[str, ...]]

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        ticket = pick(tickets(data, *self.old), rng, f"ticket to be {self.radio.lower()}")
        return named(ticket, old=ticket["status"], text=rng.choice(self.texts))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return new_status(facts["ticket"], facts["old"], self.new, facts["text"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return respond(facts["ticket"], comment(facts["text"]), click("radio", self.radio))

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Ticket {facts['ticket']} is {self.radio.lower()}.",
            f'It has the new public comment "{facts["text"]}".',
            "Nothing else changed.",
        ]


class ResolveTicket(_NewStatus):
    """Resolve a ticket with the solution."""

    name = "desk_resolve_ticket"
    old, new, radio, texts = ACTIVE, RESOLVED, "Resolved", SOLUTIONS
    phrasings = (
        'Mark ticket {ticket}, "{title}", as resolved, with the public comment "{text}"',
        'Ticket number {ticket} ("{title}") is solved. Set it to resolved and write as its resolution: "{text}"',
        'Resolve ticket {ticket} ("{title}"). Tell the customer in the comment: "{text}"',
    )


class CloseTicket(_NewStatus):
    """Close a ticket with a comment."""

    name = "desk_close_ticket"
    old, new, radio, texts = (OPEN, REOPENED, RESOLVED), CLOSED, "Closed", SOLUTIONS
    phrasings = (
        'Close ticket {ticket}, "{title}", with the public comment "{text}"',
        'Set ticket number {ticket} ("{title}") to closed and write this comment for the customer: "{text}"',
        'We are done with ticket {ticket} ("{title}"). Comment on it publicly with "{text}" and close it.',
    )


class ReopenTicket(_NewStatus):
    """Reopen a ticket that was closed or resolved."""

    name = "desk_reopen_ticket"
    old, new, radio, texts = (RESOLVED, CLOSED), REOPENED, "Reopened", REASONS_TO_REOPEN
    phrasings = (
        'Reopen ticket {ticket}, "{title}", with the public comment "{text}"',
        'Ticket number {ticket} ("{title}") has to be reopened. Write this public comment: "{text}"',
        'Set ticket {ticket} ("{title}") to reopened, and comment on it publicly: "{text}"',
    )


class HoldTicket(DeskTask):
    """Put a ticket on hold."""

    name = "desk_hold_ticket"
    length = "medium"
    phrasings = (
        'Put ticket {ticket}, "{title}", on hold.',
        'Place ticket number {ticket} ("{title}") on hold until the customer writes again.',
        'Ticket {ticket} ("{title}") has to wait. Put it on hold, without a comment.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        waiting = [ticket for ticket in tickets(data, *ACTIVE) if not ticket["on_hold"]]
        return named(pick(waiting, rng, "open ticket that is not on hold"))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        noted = Added("helpdesk_followup", {"ticket_id": facts["ticket"], "author": "dana", "comment": no_text})
        return [
            Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"on_hold": True}),
            noted,
            Added("helpdesk_ticketchange", {"followup_id": KeyOf(noted), "new_value": "True"}),
        ]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find_ticket(facts["ticket"]), click("button", "Actions"), click("button", "Hold")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"Ticket {facts['ticket']} is on hold.", "Nothing else changed."]
