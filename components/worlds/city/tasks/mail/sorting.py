"""Conversations that a person wants out of the inbox, or back in it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from components.worlds.city.tasks.mail.letters import LETTERS, inbox
from components.worlds.city.tasks.template import Data, Facts, Row, Template, pick
from components.worlds.effects import Changed, Effect, Value
from components.worlds.oracle import Step, click


def conversation(data: Data, rng: random.Random) -> dict[str, Any]:
    """A conversation of at least two letters in the inbox of a person, with the letters of it that the person has."""
    everything = data.rows(LETTERS)
    return pick(
        [
            {"user": row["recipient"], "subject": row["subject"], "person": row["sender_name"]}
            | _letters(everything, row)
            for row in inbox(data)
            if row["thread"] is not None
        ],
        rng,
    )


def _letters(everything: Sequence[Row], shown: Row) -> dict[str, Any]:
    letters = [row for row in everything if row["thread"] == shown["thread"]]
    return {
        "received": [row["letter"] for row in letters if row["recipient"] == shown["recipient"]],
        "sent": [row["letter"] for row in letters if row["sender"] == shown["recipient"]],
    }


def all_changed(facts: Facts, column: str, value: Value) -> list[Effect]:
    """The effect on each letter of the conversation, in the column of the recipient or of the sender."""
    return [
        Changed("postman_message", {"id": letter}, {f"{side}_{column}": value})
        for side, letters in (("recipient", facts["received"]), ("sender", facts["sent"]))
        for letter in letters
    ]


class Sorting(Template):
    """Selects a conversation in the inbox and presses a button."""

    sites = ("mail",)
    length = "short"
    logins = {"mail": "{user}"}
    start = "/inbox/"
    button: ClassVar[str]

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return conversation(data, rng)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [click("checkbox", f"Select .{re.escape(facts['subject'])}."), click("button", self.button)]


class ArchiveConversation(Sorting):
    """Put a conversation into the archive."""

    name = "mail_archive_conversation"
    button = "Archive"
    phrasings = (
        'Archive the conversation "{subject}" with {person}.',
        'I am done with "{subject}" ({person}). Move the whole conversation from my inbox to the archive.',
        'Put all letters of the conversation "{subject}" with {person} into the archives. Delete nothing.',
    )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return all_changed(facts, "archived", True)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The conversation "{facts["subject"]}" is in the archives as a whole.', "No other letter moved."]


class DeleteConversation(Sorting):
    """Put a conversation into the trash."""

    name = "mail_delete_conversation"
    button = "Delete"
    phrasings = (
        'Delete the conversation "{subject}" with {person}.',
        'I no longer need "{subject}" ({person}). Move the whole conversation from my inbox to the trash.',
        'Put all letters of the conversation "{subject}" with {person} into the trash.',
    )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return all_changed(facts, "deleted_at", lambda value: bool(value))

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The conversation "{facts["subject"]}" is in the trash as a whole.', "No other letter moved."]
