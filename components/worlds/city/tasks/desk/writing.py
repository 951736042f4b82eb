"""Tasks that write something new: tickets, saved queries, articles of the knowledge base."""

from __future__ import annotations

import base64
import binascii
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from components.worlds.city.tasks.desk.tickets import PRIORITIES, STAFF, STATUSES, DeskTask, pick, user_ids
from components.worlds.city.tasks.template import Data, Facts, Row, Template
from components.worlds.effects import Added, Changed, Effect, Incidental, KeyOf, Value, words
from components.worlds.oracle import Step, choose, click, fill

PROBLEMS = (
    ("Berths", "No water at the pontoon", "The tap at pontoon C gives no water since this morning."),
    ("Berths", "Lamp out at the steps", "The lamp above the steps of pontoon A is out. It is dark there after six."),
    ("Berths", "Berth for a week in July", "We come with a boat of nine metres and would stay from 6 to 13 July."),
    ("Berths", "Loose cleat", "The second cleat at my berth turns when I pull at it. Two screws are missing."),
    ("Orders", "Parcel has not come", "The carrier says that the parcel is delivered, but it is not at the office."),
    ("Orders", "Can I still add a shackle?", "I forgot a shackle in my last order. Can you put one into the box?"),
    ("Orders", "Invoice by e-mail", "Please send the invoice of my last order once more, by e-mail."),
    ("Orders", "Torn wrapping", "The box was torn when it came. Nothing is broken, but you should tell the carrier."),
    ("Workshop", "Crane on Tuesday", "I need the crane on Tuesday for half an hour, to take the mast down."),
    ("Workshop", "Oil under the engine", "There is oil in the bilge, about a cup a day. Can you look at it?"),
    (
        "Workshop",
        "New anodes",
        "I need two anodes for the shaft, 30 millimetres. Do you have them, and can you fit them?",
    ),
    ("Workshop", "Furling line jams", "The furling line jams on the drum after three turns. A new line did not help."),
)
"""Queue, title, text."""


class SubmitTicket(Template):
    """Write to the desk as a customer."""

    name = "desk_submit_ticket"
    sites = ("desk",)
    length = "medium"
    logins = {"desk": "{username}"}
    phrasings = (
        'Submit a new ticket to the queue {queue}: the summary is "{title}", the description is "{text}", and the'
        ' priority is "{priority}".',
        'Write to the help desk, queue {queue}, with the priority "{priority}". Summary: "{title}". Description:'
        ' "{text}"',
        'Report this to the desk (queue {queue}, priority "{priority}"): "{title}", with the text "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        customers = data.rows("SELECT username, email FROM auth_user WHERE NOT is_staff ORDER BY id")
        return {**_problem(data, rng), **pick(customers, rng, "customer")}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return _new_ticket(facts, facts["username"], assigned_to_id=None)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "New Ticket"), *_form(facts), click("button", "Submit Ticket")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a new ticket "{facts["title"]}" from {facts["email"]} in the queue {facts["queue"]}.',
            f'Its description is "{facts["text"]}".',
            f'Its priority is "{facts["priority"]}".',
            "Nothing else changed.",
        ]


class TicketForCaller(DeskTask):
    """Write down what a customer says on the telephone."""

    name = "desk_ticket_for_caller"
    length = "medium"
    phrasings = (
        'A customer is on the telephone. Create a ticket for {email} in the queue {queue}: summary "{title}",'
        ' description "{text}", priority "{priority}", case owner {owner}.',
        'Open a new ticket on behalf of {email}. Queue {queue}, priority "{priority}", case owner {owner}. Summary:'
        ' "{title}". Description: "{text}"',
        "Create a ticket whose submitter is {email} and whose case owner is {owner}, queue {queue}, priority"
        ' "{priority}": "{title}", with the text "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        customers = data.rows("SELECT email FROM auth_user WHERE NOT is_staff ORDER BY id")
        username = rng.choice([*STAFF])
        owner = {"owner": STAFF[username], "username": username, "user": user_ids(data)[username]}
        return {**_problem(data, rng), **pick(customers, rng, "customer"), **owner}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return _new_ticket(facts, "dana", assigned_to_id=facts["user"])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "New Ticket"),
            *_form(facts),
            fill("Submitter E-Mail Address.*", facts["email"]),
            choose("Case owner.*", facts["username"]),
            click("button", "Submit Ticket"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a new ticket "{facts["title"]}" in the queue {facts["queue"]}.',
            f'Its description is "{facts["text"]}".',
            f"Its submitter is {facts['email']} and its owner is {facts['owner']}.",
            f'Its priority is "{facts["priority"]}".',
            "Nothing else changed.",
        ]


def _problem(data: Data, rng: random.Random) -> dict[str, Any]:
    queues = {row["title"]: row["id"] for row in data.rows("SELECT id, title FROM helpdesk_queue")}
    queue, title, text = rng.choice([problem for problem in PROBLEMS if problem[0] in queues])
    number = rng.choice([number for number in PRIORITIES if number != 3])
    return {
        "queue": queue,
        "queue_id": queues[queue],
        "title": title,
        "text": text,
        "number": number,
        "priority": PRIORITIES[number],
    }


def _new_ticket(facts: Facts, author: str, **more: Any) -> list[Effect]:
    """A ticket with its text as the first follow-up, which the author writes."""
    ticket: dict[str, Any] = {
        "queue_id": facts["queue_id"],
        "title": facts["title"],
        "description": words(facts["text"]),
        "submitter_email": facts["email"],
        "priority": facts["number"],
        "status": 1,
        "due_date": None,
        **more,
    }
    opened = Added("helpdesk_ticket", ticket)
    first: dict[str, Value] = {"ticket_id": KeyOf(opened), "author": author, "comment": words(facts["text"])}
    return [opened, Added("helpdesk_followup", first)]


def _form(facts: Facts) -> list[Step]:
    return [
        choose("Queue", facts["queue"], is_data=True),
        fill("Summary of the problem", facts["title"]),
        fill("Description of your issue", facts["text"]),
        choose("Priority", facts["priority"]),
    ]


class SaveQuery(DeskTask):
    """Save a list of tickets for later."""

    name = "desk_save_query"
    length = "long"
    phrasings = (
        'Filter the tickets so that only those with the status "{status}" and the priority "{priority}" are listed, and'
        ' save this query as "{title}". Do not share it.',
        'Save a query for yourself, not shared, with the name "{title}". It lists the tickets whose status is'
        ' "{status}" and whose priority is "{priority}", and no others.',
        'Make a saved query "{title}", which other users do not see, for all tickets with the status "{status}" and the'
        ' priority "{priority}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        status, number = rng.choice((3, 4)), rng.choice([*PRIORITIES])
        pattern = rng.choice(("{status} and {priority}", "{priority}, {status}", "Meeting: {status}, {priority}"))
        priority = PRIORITIES[number]
        title = pattern.format(status=STATUSES[status].lower(), priority=priority.partition(" ")[2].lower())
        return {"title": title, "status": STATUSES[status], "codes": [status], "priority": priority, "number": number,
                "user": user_ids(data)["dana"]}  # fmt: skip

    def effects(self, facts: Facts) -> Sequence[Effect]:
        query = _filters(status__in=facts["codes"], priority__in=[facts["number"]])
        values = {"title": facts["title"], "shared": False, "query": query, "user_id": facts["user"]}
        return [Added("helpdesk_savedsearch", values)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "All Tickets"),
            click("button", "Filters"),
            click("checkbox", "Open"),
            click("checkbox", "Reopened"),
            click("checkbox", facts["status"]),
            click("button", "Priority"),
            click("checkbox", re.escape(facts["priority"])),
            click("button", "Apply Filters"),
            click("button", "Queries"),
            fill("Query Name", facts["title"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a saved query "{facts["title"]}" of Dana.',
            f'It lists the tickets with the status "{facts["status"]}" and the priority "{facts["priority"]}" only.',
            "It is not shared.",
            "Nothing else changed.",
        ]


def _filters(**expected: list[int]) -> Callable[[str | None], bool]:
    """A saved query (JSON in base64) that filters by these values and searches for no text."""

    def is_right(value: str | None) -> bool:
        try:
            query = json.loads(base64.b64decode(value or "", validate=True))
        except (binascii.Error, ValueError):
            return False
        filtering = {name: sorted(chosen) for name, chosen in query["filtering"].items()}
        return filtering == expected and not query.get("search_string")

    return is_right


ARTICLES = (
    ("May I fish from the pontoon?", "From the outer wall only. Hooks on a pontoon end in children's feet."),
    ("Is there a place to wash a dog?", "Behind the showers, with the hose. Please rinse the drain afterwards."),
    ("Where do I leave old oil?", "In the red barrel beside the workshop, in its can. It costs nothing."),
    ("How do I get a key for the showers?", "At the harbour office, against a deposit of ten dollars."),
    ("Can I pay in cash?", "Yes, at the harbour office until five. At the crane we take cards only."),
    ("Do you lend trolleys?", "There are six at the head of pontoon A. Bring them back at once, please."),
    (
        "Who helps me with the lines?",
        "Call us on channel 9 ten minutes before you arrive, and we come.",
    ),
    ("Is the water on the pontoon drinkable?", "Yes. From November to March it is switched off because of the frost."),
)


class KnowledgeTask(Template):
    """A task of the administrator, who writes the knowledge base."""

    sites = ("desk",)
    logins = {"desk": "admin"}
    start = "/admin/"


class AddArticle(KnowledgeTask):
    """Add an article to the knowledge base."""

    name = "desk_add_article"
    length = "medium"
    phrasings = (
        "Add an item to the knowledge base, in the category {category}. Its title and its question are both"
        ' "{question}", and its answer is "{text}"',
        'Write a new knowledge base item for the category {category}: title "{question}", question "{question}", answer'
        ' "{text}"',
        'The category {category} of the knowledge base needs a new item. Use "{question}" as the title and as the'
        ' question. The answer is "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        categories = data.rows("SELECT id, title FROM helpdesk_kbcategory ORDER BY id")
        category = pick(categories, rng, "category")
        question, text = rng.choice(ARTICLES)
        return {"category": category["title"], "category_id": category["id"], "question": question, "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {
            "category_id": facts["category_id"],
            "title": facts["question"],
            "question": words(facts["question"]),
            "answer": words(facts["text"]),
            "enabled": True,
        }
        return [Added("helpdesk_kbitem", values)]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("django_admin_log", {})]  # one row per save; what was saved is checked in its own table

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Knowledge base items"),
            click("link", "ADD KNOWLEDGE BASE ITEM"),
            choose("Category:", facts["category"]),
            fill("Title:", facts["question"]),
            fill("Question:", facts["question"]),
            fill("Answer:", facts["text"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The knowledge base has a new item "{facts["question"]}" in the category {facts["category"]}.',
            f'Its answer is "{facts["text"]}".',
            "Nothing else changed.",
        ]


ANSWERS = (
    "This has changed: ask at the harbour office, or call 555-0190.",
    "From April on there are new rules. They hang at the door of the harbour office.",
    "We are thinking about it and will write the answer here before Easter.",
    "It depends on the season. Write to the desk, and we tell you the same day.",
)


class ChangeArticle(KnowledgeTask):
    """Replace the answer of an article."""

    name = "desk_change_article"
    length = "medium"
    phrasings = (
        'Change the answer of the knowledge base item "{title}" to "{text}"',
        'The knowledge base item "{title}" is out of date. Replace its answer by "{text}" and change nothing else.',
        'Edit the knowledge base item "{title}": its whole answer is now "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        item = pick(data.rows("SELECT id, title FROM helpdesk_kbitem ORDER BY id"), rng, "article")
        return {"item": item["id"], "title": item["title"], "text": rng.choice(ANSWERS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"answer": words(facts["text"])}
        return [Changed("helpdesk_kbitem", {"id": facts["item"]}, to, also=("last_updated",))]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("django_admin_log", {})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Knowledge base items"),
            click("link", re.escape(facts["title"])),
            fill("Answer:", facts["text"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The item "{facts["title"]}" has the answer "{facts["text"]}".', "Nothing else changed."]


class RecommendArticle(Template):
    """Say that an article helped."""

    name = "desk_recommend_article"
    sites = ("desk",)
    length = "short"
    logins = {"desk": "{username}"}
    start = "/kb/"
    phrasings = (
        'Read the article "{title}" in the category {category} of the knowledge base and mark it as useful.',
        'The article "{title}" (category {category}) helped you. Vote for it in the knowledge base.',
        'In the knowledge base, category {category}, give a positive vote to the article "{title}".',
        'The answer to "{title}" ({category}) was what you needed. Click the thumb up below it in the knowledge base.',
        'Look up "{title}" in the category {category} of the knowledge base, and rate the article as good.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        items = data.rows(
            "SELECT i.id, i.title, c.title AS category, i.votes, i.recommendations FROM helpdesk_kbitem i "
            "JOIN helpdesk_kbcategory c ON c.id = i.category_id WHERE i.enabled ORDER BY i.id"
        )
        item: Row = pick(items, rng, "article")
        customers = data.rows("SELECT id AS user, username FROM auth_user WHERE NOT is_staff ORDER BY id")
        categories = [row["title"] for row in data.rows("SELECT title FROM helpdesk_kbcategory ORDER BY title")]
        return {**item, **pick(customers, rng, "customer"), "position": categories.index(item["category"])}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"votes": facts["votes"] + 1, "recommendations": facts["recommendations"] + 1}
        return [
            Changed("helpdesk_kbitem", {"id": facts["id"]}, to, also=("last_updated",)),
            Added("helpdesk_kbitem_voted_by", {"kbitem_id": facts["id"], "user_id": facts["user"]}),
        ]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "View articles", number=facts["position"]),
            click("button", re.escape(facts["title"])),
            click("button", "", after=re.escape(facts["title"])),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The article "{facts["title"]}" has one more positive vote.', "Nothing else changed."]
