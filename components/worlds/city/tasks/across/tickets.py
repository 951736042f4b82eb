"""Tickets at the desk that are about an order of the shop."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Names, Number
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.across import named
from components.worlds.city.tasks.across.named import STAFF, TICKETS, WAITING, comment, open_order, says
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.city.tasks.vocabulary import ORDER_STATUSES
from components.worlds.effects import Added, Changed, Effect, Incidental, KeyOf, Value, words
from components.worlds.oracle import Step, choose, click, fill, goto, press

DONE = "Your order is complete, so we close this ticket."
NOT_DONE = "Your order is not complete yet. We keep an eye on it."
ORDERS = "SELECT count(*) AS n FROM order_order o JOIN auth_user u ON u.id = o.user_id WHERE u.email = ?"
LATEST = """SELECT o.number, u.username AS user, u.email FROM order_order o JOIN auth_user u ON u.id = o.user_id
    WHERE o.date_placed = (SELECT max(p.date_placed) FROM order_order p WHERE p.user_id = o.user_id) ORDER BY u.id"""
QUESTIONS = (
    "Please tell me when it will be here.",
    "I would like to fetch it at the counter on Saturday.",
    "Can you put a note for the driver on it?",
    "May I still change the quantity?",
    "Please send the invoice to my office.",
    "One thing in it is for my neighbour. Can you pack it apart?",
)


class TicketTotal(Template):
    """Answer a ticket with the total of the order that it names."""

    name = "across_ticket_total"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "Ticket {ticket} of {person} names an order. Look it up in the shop's dashboard (shop.test/dashboard) "
        "and answer "
        "the ticket with a public comment that says the order's total.",
        "{person} wants to know what the order in ticket {ticket} cost. Find its total in the dashboard of the shop, "
        "shop.test/dashboard, and write it into a public comment on the ticket.",
        "Please comment on ticket {ticket} ({person}) in public with the total of the order it is about. The "
        "orders are "
        "at shop.test/dashboard.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TICKETS + WAITING), rng) | {"desk_id": named.desk_id(data)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [comment(facts, says(Number(facts["total"], given=[facts["number"], facts["ticket"]])))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        text = f"The total of order {facts['number']} is ${named.money(facts['total'])}."
        return [*open_order(facts), *named.write_comment(facts, text)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Ticket {facts['ticket']} has a new public comment.",
            f"It says that the total is ${named.money(facts['total'])}, and no other amount.",
            "The ticket's status and the order are unchanged.",
        ]


class TicketStatus(Template):
    """Answer a ticket with the status of the order that it names."""

    name = "across_ticket_status"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "Ticket {ticket} of {person} names an order. Look up the order's present status in the shop's dashboard "
        "(shop.test/dashboard) and write it into a public comment on the ticket.",
        "{person} waits for news in ticket {ticket}. Comment in public with the status that the order has in the "
        "dashboard of the shop, shop.test/dashboard.",
        "Answer ticket {ticket} ({person}) by a public comment with the status of the order named there, as "
        "shop.test/dashboard shows it.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return pick(data.rows(TICKETS + WAITING), rng) | {"desk_id": named.desk_id(data)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [comment(facts, says(Names([facts["order_status"]], ORDER_STATUSES)))]

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        text = f"The status of your order is: {facts['order_status']}."
        return [*open_order(facts), *named.write_comment(facts, text)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Ticket {facts['ticket']} has a new public comment.",
            f'It says that the order is "{facts["order_status"]}".',
            "The ticket's status and the order are unchanged.",
        ]


class SettleTicket(Template):
    """Close a ticket if its order is complete; otherwise only comment on it."""

    name = "across_settle_ticket"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "Look up the order of ticket {ticket} ({person}) in the shop's dashboard at shop.test/dashboard. If its "
        "status is "
        f'Complete, close the ticket with the comment "{DONE}" Otherwise leave the status and comment "{NOT_DONE}"',
        "Ticket {ticket} of {person} is about an order. Is that order Complete in shop.test/dashboard? Then comment "
        f'"{DONE}" and set the ticket to Closed. If not, only comment "{NOT_DONE}"',
        "Settle ticket {ticket} ({person}): with an order that is Complete (see shop.test/dashboard), close it "
        "and comment "
        f'"{DONE}"; with any other order, keep it as it is and comment "{NOT_DONE}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = data.rows(TICKETS + WAITING + " AND o.status != 'Cancelled'")
        complete = rng.random() < 0.6
        rows = [row for row in rows if (row["order_status"] == "Complete") is complete] or rows
        return pick(rows, rng) | {"desk_id": named.desk_id(data)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        if facts["order_status"] != "Complete":
            return [comment(facts, words(NOT_DONE))]
        return [
            comment(facts, words(DONE), new_status=4),
            Changed("helpdesk_ticket", {"id": facts["ticket"]}, {"status": 4}, also=("resolution",)),
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("helpdesk_ticketchange", {"followup_id": KeyOf(comment(facts, words(DONE), new_status=4))})]

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        if facts["order_status"] != "Complete":
            return [*open_order(facts), *named.write_comment(facts, NOT_DONE)]
        return [*open_order(facts), *named.write_comment(facts, DONE, click("radio", "Closed"))]

    def rubric(self, facts: Facts) -> Sequence[str]:
        complete = facts["order_status"] == "Complete"
        return [
            f'Ticket {facts["ticket"]} has the comment "{DONE if complete else NOT_DONE}"',
            f"The ticket is {'closed' if complete else 'not closed'}.",
            "The order is unchanged.",
        ]


class CountOrders(Template):
    """Write on a ticket how many orders its author has placed."""

    name = "across_count_orders"
    sites = ("desk", "shop")
    start = "/tickets/{ticket}/"
    length = "medium"
    logins = STAFF
    phrasings = (
        "How many orders has the author of ticket {ticket} ({title}) placed in the shop? Look it up in "
        "shop.test/dashboard and write the number into a public comment on the ticket.",
        'Ticket {ticket}, "{title}": add a public comment with the number of orders that the submitter has in '
        "the shop's "
        "dashboard, shop.test/dashboard.",
        'Count the orders that the submitter of ticket {ticket} ("{title}") has in the dashboard of the shop '
        "(shop.test/dashboard), and comment on the ticket in public with that number.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        query = """SELECT id AS ticket, title, submitter_email AS email FROM helpdesk_ticket WHERE status IN (1, 2)
            AND title NOT LIKE '%100%'"""
        ticket = pick(data.rows(query), rng)
        return ticket | {"orders": data.rows(ORDERS, ticket["email"])[0]["n"], "desk_id": named.desk_id(data)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        given = [facts["ticket"], *named.numbers(facts["title"])]
        return [comment(facts, says(Number(facts["orders"], given=given)))]

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.ORDERS_OF_STAFF]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        text = f"This customer has placed {facts['orders']} orders so far."
        return [
            goto("http://shop.test/dashboard/users/"),
            fill("Email.*", facts["email"]),
            press("Enter"),
            click("link", re.escape(facts["email"])),
            *named.write_comment(facts, text)[:4],
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"Ticket {facts['ticket']} has a new public comment.",
            f"It says that {facts['email']} has placed {facts['orders']} orders.",
        ]


class AskAboutLatestOrder(Template):
    """Write to the desk about one's latest order."""

    name = "across_ask_about_latest_order"
    sites = ("shop", "desk")
    start = "/accounts/orders/"
    length = "medium"
    logins = {"shop": "{user}", "desk": "{user}"}
    phrasings = (
        "Write to the help desk (desk.test) about my latest order: a new ticket in the queue Orders, the summary is "
        '"Question about order" and the order\'s number, the description is "{text}" My e-mail is {email}.',
        'Submit a ticket at desk.test for me, {email}. Queue: Orders. Summary: "Question about order NUMBER", with the '
        'number of the newest order in my account. Description: "{text}"',
        "I have a question about the order that I placed last. Find its number in my order history, then open a ticket "
        'in the queue Orders at desk.test from {email}, called "Question about order" plus the number, with this text: '
        '"{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        order = pick([row for row in data.rows(LATEST) if row["user"] not in ("dana", "piet", "admin")], rng)
        queue = data.rows("SELECT id FROM helpdesk_queue WHERE slug = 'orders'")
        if not queue:
            raise Unsuitable("there is no queue Orders")
        return order | {"queue": queue[0]["id"], "text": rng.choice(QUESTIONS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [_question(facts)]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        first: dict[str, Value] = {
            "ticket_id": KeyOf(_question(facts)),
            "author": facts["user"],
            "comment": words(facts["text"]),
        }
        return [Incidental("helpdesk_followup", first)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            goto("http://desk.test/tickets/submit/"),
            choose("Queue", "Orders", is_data=True),
            fill("Summary of the problem", f"Question about order {facts['number']}"),
            fill("Description of your issue", facts["text"]),
            fill("Your.*e-?mail.*", facts["email"]),
            click("button", "Submit.*"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The queue Orders has a new ticket "Question about order {facts["number"]}".',
            f'It is from {facts["email"]} and says "{facts["text"]}".',
            "Nothing was ordered or changed in the shop.",
        ]


def _question(facts: Facts) -> Effect:
    """The new ticket about an order."""
    ticket = {
        "queue_id": facts["queue"],
        "title": words(f"Question about order {facts['number']}"),
        "description": words(facts["text"]),
        "submitter_email": facts["email"],
        "status": 1,
    }
    return Added("helpdesk_ticket", ticket)
