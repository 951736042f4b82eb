"""Requests that the mail cannot do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.mail.letters import PEOPLE, writer
from components.worlds.city.tasks.mail.texts import LETTERS, STRANGERS
from components.worlds.city.tasks.refusals import CANNOT_FIND, missing, refusal
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.oracle import Step, click

NO_ADDRESS = "no address"
THINGS = ("person", "user", "customer", "member", "account", "recipient", "contact")
"""What an answer may call a person whom the mail does not know."""


class WriteToStranger(Template):
    """A letter is asked for to a person who has no account."""

    name = "mail_write_to_stranger"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    phrasings = (
        'Write a letter to {stranger}. Subject: "{title}". Text: "{text}"',
        'Send {stranger} a letter with the subject "{title}" that says: "{text}" If that cannot be done, say why.',
        'Please write this to {stranger} by mail, under the subject "{title}": "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        known = " ".join(row["person"] for row in data.rows(PEOPLE)).split()
        strangers = [{"stranger": name} for name in STRANGERS if not {*name.split()} & {*known}]
        title, text = rng.choice(LETTERS)
        return writer(data, rng) | pick(strangers, rng) | {"title": title, "text": text}

    def answer(self, facts: Facts) -> Answer:
        stranger = facts["stranger"]
        return refusal(
            "no_such_person",
            "not in the address book",
            "isn't in the address book",
            NO_ADDRESS,
            f"no {stranger}",
            "not have an account",
            "doesn't have an account",
            "knows no user",
            *(f"{find} {stranger}" for find in CANNOT_FIND),
            *(f"{stranger} {end}" for end in ("was not found", "could not be found", "does not exist")),
            *(words for thing in THINGS for words in missing(thing, stranger)),
            unclear=(NO_ADDRESS,),
        )

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"mail\.test/people/.*", r"POST mail\.test/write/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("link", "Address book")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that there is no account of {facts['stranger']}.", "No letter was sent."]
