"""Questions whose answers are in the letters of a person."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.days import long_day, moment, the_day
from components.worlds.city.tasks.mail.letters import (
    LETTERS,
    NUMBERS,
    PEOPLE,
    number_in,
    own,
    received,
    search,
    the_number,
)
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, click


class WhoWrote(Template):
    """Say who wrote a sentence to me."""

    name = "mail_who_wrote"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    phrasings = (
        'Who wrote me a letter that begins with "{sentence}"? Give the full name.',
        'One of my letters begins with "{sentence}" Which person sent it? I need first and last name.',
        'I have got a letter with the words "{sentence}" Tell me the full name of the sender.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        letters = [(row, sentence) for row in received(data) if (sentence := _first_sentence(row["body"]))]
        if not letters:
            pick([], rng)
        row, sentence = rng.choice(letters)
        people = [person["person"] for person in data.rows(PEOPLE)]
        return {"user": row["recipient"], "sentence": sentence, "person": row["sender_name"], "people": people}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["person"]], facts["people"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return search(facts["sentence"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['person']} and names no other person."]


def _first_sentence(text: str) -> str:
    """A first sentence of 4 to 16 words; empty if the text has no such one."""
    sentence = re.split(r"(?<=[.?!]) ", text)[0]
    return sentence if 4 <= len(sentence.split()) <= 16 and '"' not in sentence else ""


OFTEN = 0.65
"""Share of the questions about a person who wrote several letters. Most wrote one, so "1" would be a good guess."""


class CountLetters(Template):
    """Say how many letters a person sent me."""

    name = "mail_count_letters"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    phrasings = (
        "How many letters has {person} sent me? Count answers and archived letters, too, but nothing from the trash.",
        "Count the letters that I got from {person}, in the inbox and the archives together, each answer as a letter.",
        "What is the number of letters from {person} to me, outside of the trash? Answers and archived ones count.",
        "I want to know how often {person} has written to me. Count all letters and answers that I have got and not "
        "deleted, the archived ones too.",
        "Of the letters that I keep, in the inbox or archived, how many are from {person}? Every answer counts as one.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        letters = received(data)
        counts = Counter((row["recipient"], row["sender"]) for row in letters)
        pairs = {(row["recipient"], row["sender"]): row for row in letters}
        often = [row for pair, row in pairs.items() if counts[pair] > 1]
        once = [row for pair, row in pairs.items() if counts[pair] == 1]
        is_often = often and (not once or rng.random() < OFTEN)
        row = pick(often if is_often else once, rng)
        count = counts[row["recipient"], row["sender"]]
        back = counts[row["sender"], row["recipient"]]
        near = sorted({count + back, back, count + 1, count - 1} - {count})
        return {"user": row["recipient"], "person": row["sender_name"], "count": count, "near": near}

    def answer(self, facts: Facts) -> Answer:
        return number(facts["count"], near=facts["near"], named=self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"mail\.test/(search|archives)/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return search(facts["person"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['count']}."]


class NumberInLetter(Template):
    """Say which order or ticket a letter names that a person sent or received."""

    name = "mail_number_in_letter"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    phrasings = (
        '{sent} the letter "{subject}" on {day}. What is the {kind} number that it names?',
        'Which {kind} number is named in the letter "{subject}" that {sent} on {day}?',
        'Look into the letter "{subject}" that {sent} on {day}, and tell me the number of the {kind} in it.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        numbers, letters = data.rows(NUMBERS), data.rows(LETTERS)
        names = [(row["recipient"], row["sender"], row["subject"]) for row in letters]
        candidates = [
            (row, number, user)
            for row, name in zip(letters, names, strict=True)
            if names.count(name) == 1
            and (number := number_in(row["body"], numbers))
            and number["name"] not in row["subject"]
            for user in ("recipient", "sender")
            if row[f"{user}_deleted_at"] is None
        ]
        if not candidates:
            pick([], rng)
        row, number, user = rng.choice(candidates)
        other = row["recipient_name" if user == "sender" else "sender_name"]
        pair = {row["recipient"], row["sender"]}
        alike = [each for each in own(data, row[user]) if {each["recipient"], each["sender"]} == pair]
        newer = [each for each in alike if each["sent_at"] > row["sent_at"] and each["subject"] == row["subject"]]
        return {
            "user": row[user],
            "person": other,
            "sent": f"I sent {other}" if user == "sender" else f"{other} sent me",
            "subject": row["subject"],
            "newer": len(newer),
            "day": long_day(moment(row["sent_at"]).date()),
            "kind": number["kind"],
            "number": number["name"],
            "numbers": [row["name"] for row in numbers if row["kind"] == number["kind"]],
        }

    def answer(self, facts: Facts) -> Answer:
        return the_number(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        words = f"{facts['subject'].removeprefix('Re: ')} {facts['person']}"
        return [*search(words), click("link", re.escape(facts["subject"]), number=facts["newer"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['number']} and names no other {facts['kind']}."]


class WhenWritten(Template):
    """Say on which day a letter was sent to me."""

    name = "mail_when_written"
    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    phrasings = (
        'On which day did {person} send me the letter "{subject}"? Give day and month.',
        'When did I get the letter "{subject}" from {person}? I need the day and the month.',
        'Find the letter "{subject}" that {person} wrote to me, and tell me its date, with the name of the month.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        letters = received(data)
        names = [(row["recipient"], row["sender"], row["subject"]) for row in letters]
        row = pick([row for row, name in zip(letters, names, strict=True) if names.count(name) == 1], rng)
        days = {moment(letter["sent_at"]).date().isoformat() for letter in letters}
        return {
            "user": row["recipient"],
            "person": row["sender_name"],
            "subject": row["subject"],
            "day": moment(row["sent_at"]).date().isoformat(),
            "days": sorted(days),
        }

    def answer(self, facts: Facts) -> Answer:
        return the_day(moment(facts["day"]).date(), [moment(day).date() for day in facts["days"]])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return search(f"{facts['subject'].removeprefix('Re: ')} {facts['person']}")

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {long_day(moment(facts['day']).date())} and no other day."]
