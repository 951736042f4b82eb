"""Letters and answers that a person wants to be sent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.mail.letters import (
    NUMBERS,
    answer_to,
    inbox,
    letter,
    number_in,
    open_letter,
    person,
    received,
    says,
    the_number,
    write,
    writer,
)
from components.worlds.city.tasks.mail.texts import LETTERS, REPLIES
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Effect
from components.worlds.oracle import Step, click, fill


class WriteLetter(Template):
    """Write a letter to a person."""

    name = "mail_write_letter"
    sites = ("mail",)
    length = "medium"
    logins = {"mail": "{user}"}
    phrasings = (
        'Write a letter to {person}. Subject: "{title}". Text: "{text}"',
        'Send {person} a letter with the subject "{title}" that says: "{text}"',
        'Please write this to {person} by mail, under the subject "{title}": "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = writer(data, rng)
        title, text = rng.choice(LETTERS)
        return user | person(data, rng, user["user"]) | {"title": title, "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [letter(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return write(facts, facts["text"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"One letter was sent, and to {facts['person']} alone.",
            f'Its subject is "{facts["title"]}".',
            f'Its text is "{facts["text"]}"',
        ]


class WriteToTwo(Template):
    """Write one letter to two people."""

    name = "mail_write_to_two"
    sites = ("mail",)
    length = "medium"
    logins = {"mail": "{user}"}
    phrasings = (
        'Write the same letter to {person} and {second}. Subject: "{title}". Text: "{text}"',
        '{person} and {second} must both get a letter from me with the subject "{title}" that says: "{text}"',
        'Send a letter to two people, {person} and {second}. Its subject is "{title}", and its text is: "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = writer(data, rng)
        first = person(data, rng, user["user"])
        second = person(data, rng, user["user"], first["username"])
        title, text = rng.choice(LETTERS)
        names = {"second": second["person"], "second_id": second["person_id"], "second_user": second["username"]}
        return user | first | names | {"title": title, "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [letter(facts), letter({**facts, "person_id": facts["second_id"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Write a letter"),
            fill("To .*", f"{facts['username']}, {facts['second_user']}"),
            fill("Subject", facts["title"]),
            fill("Body", facts["text"]),
            click("button", "Send"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'{facts["person"]} got a letter with the subject "{facts["title"]}" and the text "{facts["text"]}"',
            f"{facts['second']} got the same letter.",
            "No other letter was sent.",
        ]


class ReplyToNewest(Template):
    """Answer the newest letter of a person."""

    name = "mail_reply_to_newest"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    start = "/inbox/"
    phrasings = (
        'Reply to the newest letter that {person} sent me: "{text}"',
        'Find the last letter from {person} in my mail and answer it with "{text}"',
        '{person} has written to me. Answer the most recent of these letters: "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        newest = {(row["recipient"], row["sender"]): row["letter"] for row in received(data)}
        shown = pick([row for row in inbox(data) if row["letter"] == newest[row["recipient"], row["sender"]]], rng)
        return {
            "letter": shown["letter"],
            "subject": shown["subject"],
            "user": shown["recipient"],
            "user_id": shown["recipient_id"],
            "person": shown["sender_name"],
            "person_id": shown["sender_id"],
            "text": rng.choice(REPLIES),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [answer_to(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [open_letter(facts), fill("Your reply", facts["text"]), click("button", "Send reply")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The letter "{facts["subject"]}" of {facts["person"]} has an answer that says "{facts["text"]}"',
            "No other letter was sent.",
        ]


class PassNumberOn(Template):
    """Tell a third person the number of the order or ticket that a letter names."""

    name = "mail_pass_number_on"
    sites = ("mail",)
    length = "medium"
    logins = {"mail": "{user}"}
    start = "/inbox/"
    phrasings = (
        'Find the {kind} number in the conversation "{subject}" in my inbox, and write it to {person} in a letter '
        'with the subject "{title}". Name no other number of this kind.',
        '{person} needs the number of the {kind} that my inbox conversation "{subject}" is about. Send it to {person} '
        'in a new letter; the subject is "{title}".',
        'Write to {person}: which {kind}, by its number, do we speak about in "{subject}"? It is a conversation in my '
        'inbox. The subject of your letter is "{title}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        numbers = data.rows(NUMBERS)
        texts: dict[int, str] = {}
        for row in received(data):
            texts[row["thread"] or -row["letter"]] = f"{texts.get(row['thread'], '')} {row['body']}"
        candidates = [
            (row, number)
            for row in inbox(data)
            if (number := number_in(texts[row["thread"] or -row["letter"]], numbers))
            and number["name"] not in row["subject"]
        ]
        if not candidates:
            pick([], rng)
        shown, number = rng.choice(candidates)
        return person(data, rng, shown["recipient"], shown["sender"]) | {
            "subject": shown["subject"],
            "user": shown["recipient"],
            "user_id": shown["recipient_id"],
            "kind": number["kind"],
            "number": number["name"],
            "numbers": [row["name"] for row in numbers if row["kind"] == number["kind"]],
            "title": f"The {number['kind']} number",
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [letter(facts, says(the_number(facts)))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [open_letter(facts), *write(facts, f"It is {facts['number']}.")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'{facts["person"]} got a letter with the subject "{facts["title"]}".',
            f"The letter names {facts['kind']} {facts['number']} and no other one.",
            "No other letter was sent.",
        ]
