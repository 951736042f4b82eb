"""Topics that ask for something: the price of an article, a word from the knowledge base, a vote.

They exist in every seed, with all their posts, because tasks are about them. `{good}`, `{second}` and `{third}` are
titles of different articles of the shop, and `{claimed}` is a price that the writer has seen for the first elsewhere.
"""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from functools import cache

from django.utils.text import slugify
from machina.core.db.models import get_model
from machina.models.fields import render_func

from city import rows
from city.sites.forum import topics
from city.sites.forum.topics import Topic
from city.sites.shop.orders import CUSTOMERS

ENDINGS = tuple(Decimal(ending) for ending in ("0.25", "0.40", "0.75"))
"""Of the prices elsewhere, which are never those of the shop."""

# One record per line.
# fmt: off
QUESTIONS = (
    Topic("Boats and gear", "What does the {good} cost?", (("bruno", "Our shop's page does not open on my telephone. Could one of you look up what it takes for the {good}?"),)),
    Topic("Boats and gear", "Price of the {good}, please", (("esther", "I have paper and a pencil, but no computer. What is the price of the {good} in the chandlery?"), ("hugo", "I am at sea. Who is near a screen?"))),
    Topic("Boats and gear", "Saving up for the {good}", (("jonas", "I put a coin into the jar every evening. How much must be in it for the {good}, as of today?"),)),
    Topic("Boats and gear", "Can I still get the {good}?", (("greta", "Before I row over: does the chandlery have the {good}, or is it sold out?"),)),
    Topic("Boats and gear", "Is the {good} sold out?", (("farid", "The children need the {good} before Saturday. Has the shop got it?"), ("ines", "Look it up before you walk, the hill is steep."))),
    Topic("The quay", "A present for my brother", (("chiara", "He has a boat and therefore everything. What do I give him?"), ("dmitri", "The {good} from the chandlery. Mine is the best thing on board."), ("chiara", "That is it. Thank you."))),
    Topic("The quay", "What to give to a godchild?", (("alice", "Ten years old, fond of water, owner of nothing yet."), ("jonas", "The {good}. I wish that I had been given one at ten."))),
    Topic("The quay", "Farewell to the harbour master's deputy", (("ines", "We have collected enough for something good. Ideas?"), ("bruno", "The {good}. Not the {second}, that is what he got the last time."))),
    Topic("Boats and gear", "First things for a new boat", (("hugo", "She has a hull and a mast, and nothing else. What do I buy first?"), ("greta", "The {good} and the {second}. All the rest can wait until you have missed it."))),
    Topic("Boats and gear", "What was missing on your last trip?", (("farid", "We list what the school boats need. What did you miss most?"), ("alice", "The {good}, on the first day. The {second}, on all the others."))),
    Topic("Boats and gear", "I can afford one of these", (("dmitri", "My list says {good}, {second} and {third}. The purse says one, and the cheapest. I have not looked up any price yet."),)),
    Topic("Buy and sell", "Which of the three is the dearest?", (("esther", "A bet on the bench: {good}, {second} or {third}. What costs most in the chandlery? The loser bakes."),)),
    Topic("Buy and sell", "For sale: {good}, never used", (("ines", "${claimed} for the {good}, still in its paper. I got two for my birthday."), ("farid", "What is it in the shop?"))),
    Topic("Buy and sell", "{good} in Westport", (("bruno", "The yard in Westport sells the {good} for ${claimed}. Is it worth the bus?"),)),
    Topic("The quay", "How long may my cousins stay?", (("hugo", "They come in July with a boat of nine metres. How many nights may a visitor lie here?"),)),
    Topic("The quay", "Do I pay for sending things back?", (("chiara", "The boots are too big. Who pays for the return, they or I?"),)),
    Topic("The quay", "Showers and water: extra?", (("greta", "New here. What is in the price of a berth, and what is not?"),)),
    Topic("Boats and gear", "Sanding on the quay", (("jonas", "May I sand my hull on the quay, or does the office come running?"),)),
    Topic("The quay", "How soon does the money come back?", (("alice", "I have returned a rope. When do I get my money back?"),)),
    Topic("Boats and gear", "Crane: on which days?", (("dmitri", "When is the crane free, and how early must I book?"),)),
    Topic("The quay", "Dinghy in the way", (("esther", "Where may I leave a dinghy without being shouted at?"),)),
    Topic("The quay", "Poll: evening for the summer party", (("dana", "Which evening suits you best? The lamps are hung for one only."),), poll=("Friday", "Saturday", "Sunday", "Thursday before the fair")),
    Topic("The quay", "Poll: colour of the new bench", (("piet", "The bench at the steps is painted this month. You choose, I paint."),), poll=("Green", "White", "Dark blue", "Not at all, oil it")),
    Topic("Announcements", "Poll: opening hours of the office", (("dana", "We can open one hour more on weekdays. When would it help you?"),), poll=("From seven in the morning", "At noon", "Until seven in the evening")),
    Topic("Passages", "Poll: where do we sail at Whitsun?", (("farid", "The school's boats and whoever comes along. Three days, whatever the wind."),), poll=("Sandness", "Westport", "The island behind the Head", "Up the river")),
    Topic("The quay", "Poll: name for the office's kitten", (("dana", "It has come with the lamp-fitter and stays. It needs a name before it gets one by itself."),), poll=("Cleat", "Shackle", "Bollard the Second")),
    Topic("The quay", "Poll: hour of the language table", (("esther", "Six is early for some and late for others. Which hour do you want?"),), poll=("At five", "At six", "At seven")),
    Topic("Announcements", "Poll: flag for the regatta", (("piet", "The sailmaker wants to begin. Three drawings hang in the hall."),), poll=("White gull on blue", "Blue gull on white", "No gull at all")),
    Topic("The quay", "Poll: what to eat at the work day", (("ines", "I cook or I bake, but not both at once."),), poll=("Soup", "Cake", "Sausages from the grill")),
    Topic("Boats and gear", "Poll: first course of the winter school", (("farid", "The room is heated on Tuesdays. What would you come for?"),), poll=("Knots and splices", "Charts and tides", "First aid on board", "Small engines")),
    Topic("Boats and gear", "Poll: what becomes of the old crane bell?", (("piet", "It rang for ninety years and has no crane any more."),), poll=("It stays where it is", "The school gets it", "It is sold for the lamps")),
)
# fmt: on
TOPICS = topics.TOPICS + tuple(replace(topic, whole=True) for topic in QUESTIONS)
"""All topics of the forum."""


def fill(topic: Topic, rng: random.Random) -> Topic:
    """The topic with articles and a price in its texts."""
    if "{good}" not in topic.subject + "".join(text for _, text in topic.posts):
        return topic
    goods = rng.sample(
        rows.select("""SELECT p.title, s.price FROM catalogue_product p
            JOIN partner_stockrecord s ON s.product_id = p.id ORDER BY p.id"""),
        3,
    )
    price = Decimal(str(goods[0]["price"]))
    texts = {name: good["title"] for name, good in zip(("good", "second", "third"), goods, strict=True)}
    texts["claimed"] = str(int(price * Decimal(rng.choice(("0.7", "0.8", "0.9", "1.1", "1.2")))) + rng.choice(ENDINGS))
    posts = tuple((username, text.format(**texts)) for username, text in topic.posts)
    return replace(topic, subject=topic.subject.format(**texts), posts=posts)


def poll(topic: Topic, row) -> None:
    """Give the topic's row its poll, if it has one."""
    if topic.poll:
        made = get_model("forum_polls", "TopicPoll").objects.create(topic=row, question=topic.subject[len("Poll: ") :])
        for text in topic.poll:
            option = get_model("forum_polls", "TopicPollOption").objects.create(poll=made, text=text)
        get_model("forum_polls", "TopicPollVote").objects.create(
            poll_option=option, voter=row.poster
        )  # the other columns of all votes


def vote(rng: random.Random) -> None:
    """Deal the votes of all polls anew. Some customers have not voted yet."""
    users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
    options: dict[int, list[int]] = {}
    for row in rows.select("SELECT id, poll_id FROM forum_polls_topicpolloption ORDER BY id"):
        options.setdefault(row["poll_id"], []).append(row["id"])
    votes = []
    for choices in options.values():
        weights = [rng.random() + 0.1 for _ in choices]
        for person in rng.sample(CUSTOMERS, rng.randint(4, len(CUSTOMERS) - 3)):
            option = rng.choices(choices, weights)[0]
            votes.append({"poll_option_id": option, "voter_id": users[person.username]})
    rows.replace("forum_polls_topicpollvote", votes)


def text_columns(subject: str, text: str) -> dict[str, str]:
    """The columns of a post with this text."""
    return {"subject": subject, "content": text, "_content_rendered": _rendered(text)}


def slug(subject: str) -> str:
    """The part of a topic's address that names it."""
    return slugify(subject)


@cache
def _rendered(text: str) -> str:
    return render_func(text)
