"""Tasks about votes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from components.worlds.answers import Answer, numbers_in
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.forum.posting import MEMBERS, open_topic
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.effects import Added, Effect
from components.worlds.oracle import Step, click

OPTIONS = """SELECT o.id AS option_id, o.text, t.id AS topic, t.subject,
    (SELECT count(*) FROM forum_polls_topicpollvote v WHERE v.poll_option_id = o.id) AS votes
    FROM forum_polls_topicpolloption o JOIN forum_polls_topicpoll p ON p.id = o.poll_id
    JOIN forum_conversation_topic t ON t.id = p.topic_id ORDER BY o.id"""
VOTERS = """SELECT DISTINCT v.voter_id, t.id AS topic FROM forum_polls_topicpollvote v
    JOIN forum_polls_topicpolloption o ON o.id = v.poll_option_id JOIN forum_polls_topicpoll p ON p.id = o.poll_id
    JOIN forum_conversation_topic t ON t.id = p.topic_id"""


def _who_has_not_voted(data: Data, topic: int, rng: random.Random) -> dict[str, Any]:
    voted = {row["voter_id"] for row in data.rows(VOTERS) if row["topic"] == topic}
    row = pick([row for row in data.rows(MEMBERS) if row["id"] not in voted], rng)
    return {"user": row["username"], "user_id": row["id"]}


def _polls(data: Data) -> dict[int, list[dict[str, Any]]]:
    polls: dict[int, list[dict[str, Any]]] = {}
    for row in data.rows(OPTIONS):
        polls.setdefault(row["topic"], []).append(row)
    return polls


class Vote(Template):
    """Vote in a poll."""

    name = "forum_vote"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Vote for "{text}" in the topic "{subject}".',
        'There is a poll in the forum topic "{subject}". My vote is "{text}", please cast it.',
        'Cast my vote in "{subject}": I am for "{text}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        option = pick(data.rows(OPTIONS), rng)
        return option | _who_has_not_voted(data, option["topic"], rng)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        vote = {"poll_option_id": facts["option_id"], "voter_id": facts["user_id"]}
        return [Added("forum_polls_topicpollvote", vote)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("radio", re.escape(facts["text"])), click("button", "Submit")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'{facts["user"]} has voted for "{facts["text"]}" in "{facts["subject"]}".', "Nothing was posted."]


class PollLeader(Template):
    """Say which option of a poll leads, without voting."""

    name = "forum_poll_leader"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'Which option has the most votes in the topic "{subject}"? Do not vote.',
        'Look at the results of the poll in "{subject}" and tell me which option leads. I do not want to vote yet.',
        'I wonder who is winning in "{subject}". Tell me the option with the most votes, but do not vote for me.',
        'What is ahead in the forum\'s "{subject}"? Only look, cast no vote.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        clear = []
        for options in _polls(data).values():
            ranked = sorted(options, key=lambda row: -row["votes"])
            if ranked[0]["votes"] > ranked[1]["votes"]:
                clear.append({**ranked[0], "options": [row["text"] for row in options]})
        option = pick(clear, rng)
        return option | _who_has_not_voted(data, option["topic"], rng)

    def answer(self, facts: Facts) -> Answer:
        return names([facts["text"]], facts["options"], self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", "View results")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["text"]}" and no other option.', "No vote was cast."]


class PollCount(Template):
    """Say how many voted for an option, without voting."""

    name = "forum_poll_count"
    sites = ("forum",)
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'How many people have voted for "{text}" in the topic "{subject}"? Do not vote.',
        'Tell me the number of votes for "{text}" in the forum\'s "{subject}". Cast no vote.',
        'In the poll of "{subject}", how many votes does "{text}" have by now? Just look, do not vote.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        options = [row for row in data.rows(OPTIONS) if row["votes"] > 0]
        option = pick(options, rng)
        rivals = [row["votes"] for row in options if row["topic"] == option["topic"]]
        if all(votes == option["votes"] for votes in rivals):
            raise Unsuitable("all options have the same number of votes")
        others = sorted({votes for votes in rivals if votes != option["votes"]})
        return option | _who_has_not_voted(data, option["topic"], rng) | {"others": others}

    def answer(self, facts: Facts) -> Answer:
        given = [number for key in ("subject", "text") for number in numbers_in(facts[key])]
        given = [number for number in given if Decimal(number) not in facts["others"]]
        return number(facts["votes"], given, near=facts["others"], is_part=True)

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.topic(facts["subject"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_topic(facts), click("link", "View results")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['votes']}.", "No vote was cast."]
