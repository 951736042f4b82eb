"""Topics of the forum that are about the shop's articles or about what the desk knows."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer, Number
from components.worlds.city.tasks import addresses
from components.worlds.city.tasks.across import named
from components.worlds.city.tasks.across.named import money, numbers, open_article, says
from components.worlds.city.tasks.forum import posting
from components.worlds.city.tasks.forum.posting import member, reply, reply_with
from components.worlds.city.tasks.shop.queries import customers, in_cart
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.city.tasks.vocabulary import names
from components.worlds.effects import Added, Effect, Incidental
from components.worlds.oracle import Step, click, goto

BOTH = {"forum": "{user}", "shop": "{user}"}
FORUM = goto("http://forum.test/")
IN_STOCK, SOLD_OUT = "Yes, it is in stock.", "No, it is sold out."
KNOWN = {
    "How long may my cousins stay?": "How long may a visitor stay?",
    "Do I pay for sending things back?": "Who pays for the return?",
    "Showers and water: extra?": "What is in the price of a berth?",
    "Sanding on the quay": "May I sand my hull on the quay?",
    "How soon does the money come back?": "When do I get my money back?",
    "Crane: on which days?": "When is the crane free?",
    "Dinghy in the way": "Where may I leave a dinghy?",
}
"""Topics that ask what an article of the knowledge base answers."""
ARTICLE = """SELECT i.answer, i.question, c.id AS category, c.title FROM helpdesk_kbitem i
    JOIN helpdesk_kbcategory c ON c.id = i.category_id WHERE i.question = ?"""
CATEGORIES = "SELECT id FROM helpdesk_kbcategory ORDER BY title"


def _asked(data: Data, rng: random.Random, count: int, *patterns: str, user: bool = True) -> dict[str, Any]:
    """A topic that names so many articles, and a member who did not open it."""
    topic = pick([row for row in named.topics(data, *patterns) if len(row["articles"]) >= count], rng)
    return topic | (member(data, rng, topic["opener"]) if user else {})


def _buyer(data: Data, rng: random.Random, opener: str) -> dict[str, Any]:
    """A member with an empty cart who did not open the topic. One more of what is in a cart adds no line to it."""
    return member(data, rng, opener, *(user["username"] for user in customers(data) if user["in_cart"]))


class ReplyWithPrice(Template):
    """Answer a topic that asks for an article's price."""

    name = "across_reply_with_price"
    sites = ("forum", "shop")
    length = "long"
    logins = BOTH
    phrasings = (
        'In the forum, {opener} asks in "{subject}" what an article costs. Look up its price at shop.test and '
        "post a reply "
        "with the price.",
        'Help {opener}: find the price that the topic "{subject}" asks for in the shop (shop.test) and write it '
        "there as "
        "a reply.",
        'Please answer the forum topic "{subject}" by {opener} with the price of that article in the chandlery, '
        "shop.test.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = _asked(data, rng, 1, "What does the .* cost.", "Price of the .*, please", "Saving up for the .*")
        article = topic.pop("articles")[0]
        return topic | {"article": article["title"], "price": article["price"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        price = Number(facts["price"], given=numbers(facts["article"]))
        return [Added("forum_conversation_post", _in_topic(facts) | {"content": says(price)})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        text = f"The shop takes ${money(facts['price'])} for it."
        return [*open_article(facts["article"])[:3], FORUM, *reply_with(facts, text)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The topic "{facts["subject"]}" has a new reply.',
            f"It says ${money(facts['price'])} and no other price.",
            "Nothing was put into the cart.",
        ]


def _in_topic(facts: Facts) -> dict[str, Any]:
    return {"topic_id": facts["topic"], "poster_id": facts["user_id"]}


class ReplyWithStock(Template):
    """Answer a topic that asks whether an article is in stock."""

    name = "across_reply_with_stock"
    sites = ("forum", "shop")
    length = "long"
    logins = BOTH
    phrasings = (
        'In the forum, {opener} asks in "{subject}" whether the shop has an article. Look at shop.test and reply '
        f'"{IN_STOCK}" or "{SOLD_OUT}"',
        f'Answer the topic "{{subject}}" by {{opener}}: check the article at shop.test, then reply "{IN_STOCK}" '
        f"if it can "
        f'be bought, otherwise "{SOLD_OUT}"',
        'Look up at shop.test what {opener} wants to know in the forum topic "{subject}". The reply shall be '
        f'"{IN_STOCK}" or "{SOLD_OUT}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = _asked(data, rng, 1, "Can I still get the .*", "Is the .* sold out.")
        article = topic.pop("articles")[0]
        text = IN_STOCK if article["free"] > 0 else SOLD_OUT
        return topic | {"article": article["title"], "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return reply(facts, facts["text"])

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [addresses.article(facts["article"]), addresses.ARTICLE_LISTS, addresses.FIRST_ARTICLES]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_article(facts["article"]), FORUM, *reply_with(facts, facts["text"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The topic "{facts["subject"]}" has the new reply "{facts["text"]}"',
            "Nothing was put into the cart.",
        ]


class ReplyFromKnowledgeBase(Template):
    """Answer a topic with an article of the desk's knowledge base."""

    name = "across_reply_from_knowledge_base"
    sites = ("forum", "desk")
    length = "long"
    logins = {"forum": "{user}", "desk": "{user}"}
    phrasings = (
        'The knowledge base at desk.test/kb has an article that answers the forum topic "{subject}" by {opener}. '
        "Post its "
        "answer there as a reply, word for word.",
        '{opener} asks in the forum topic "{subject}" what the help desk has written down long ago. Find the fitting '
        "article at desk.test/kb and reply with its text, unchanged.",
        'Reply to "{subject}" ({opener}) in the forum with the answer that the desk\'s knowledge base gives at '
        "desk.test/kb. Copy it exactly.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = _asked(data, rng, 0, *(re.escape(subject) for subject in KNOWN))
        article = pick(data.rows(ARTICLE, KNOWN[topic["subject"]]), rng)
        number = [row["id"] for row in data.rows(CATEGORIES)].index(article["category"])
        facts = {"text": article["answer"], "question": article["question"], "number": number}
        return {name: value for name, value in topic.items() if name not in ("articles", "text")} | facts

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return reply(facts, facts["text"])

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return posting.counts(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            goto("http://desk.test/kb/"),
            click("link", "View articles", number=facts["number"]),
            click("button", re.escape(facts["question"])),
            FORUM,
            *reply_with(facts, facts["text"]),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The topic "{facts["subject"]}" has a new reply.',
            f'It says: "{facts["text"]}"',
        ]


class BuyRecommended(Template):
    """Put the article that a topic recommends into the cart."""

    name = "across_buy_recommended"
    sites = ("forum", "shop")
    start = "/forum/{forum_slug}-{forum_id}/topic/{slug}-{topic}/"
    length = "medium"
    logins = BOTH
    phrasings = (
        'Put one of the article that is recommended in the forum topic "{subject}" ({opener}) into my cart at '
        "shop.test.",
        'I follow the advice in the topic "{subject}" by {opener}: add one piece of the recommended article to my cart '
        "in the shop, shop.test. Do not order yet.",
        'What do they recommend to {opener} in "{subject}"? Add one of it to my cart at shop.test.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        patterns = "A present for my brother", "What to give to a godchild.", "Farewell to .*"
        topic = _asked(data, rng, 1, *patterns, user=False)
        topic |= _buyer(data, rng, topic["opener"])
        article = topic.pop("articles")[0]
        if article["free"] < 1:
            raise Unsuitable("the article is sold out")
        return topic | {"article": article["title"], "product": article["product"]}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(facts["product"], 1, facts["user"])]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_article(facts["article"]), click("button", "Add to cart")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The cart has one "{facts["article"]}".', "It has nothing else new, and nothing was posted."]


class BuyBoth(Template):
    """Put the two articles that a topic names into the cart."""

    name = "across_buy_both"
    sites = ("forum", "shop")
    start = "/forum/{forum_slug}-{forum_id}/topic/{slug}-{topic}/"
    length = "long"
    logins = BOTH
    phrasings = (
        'Two articles of the chandlery are named in the forum topic "{subject}" ({opener}). Put one of each into '
        "my cart "
        "at shop.test.",
        'I want both things that they advise in the topic "{subject}" by {opener}. Add one of each to my cart in the '
        "shop, shop.test. Do not order yet.",
        'They name two articles of the chandlery in "{subject}" in the forum ({opener}). Put both into my cart at '
        "shop.test, one piece of each.",
        'Read "{subject}" in the forum ({opener}) and add one piece of each of the two articles named there to my cart '
        "at shop.test.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        patterns = "First things for a new boat", "What was missing on your last trip."
        topic = _asked(data, rng, 2, *patterns, user=False)
        topic |= _buyer(data, rng, topic["opener"])
        articles = topic.pop("articles")[:2]
        if any(article["free"] < 1 for article in articles):
            raise Unsuitable("an article is sold out")
        names = {"titles": [row["title"] for row in articles], "products": [row["product"] for row in articles]}
        return topic | names

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [in_cart(product, 1, facts["user"]) for product in facts["products"]]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [step for title in facts["titles"] for step in [*open_article(title), click("button", "Add to cart")]]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [*(f'The cart has one "{title}".' for title in facts["titles"]), "It has nothing else new."]


class CheapestNamed(Template):
    """Say which of three articles named in a topic is the cheapest or the dearest."""

    name = "across_cheapest_named"
    sites = ("forum", "shop")
    start = "/forum/{forum_slug}-{forum_id}/topic/{slug}-{topic}/"
    length = "long"
    logins = {"forum": "{user}"}
    phrasings = (
        'The topic "{subject}" by {opener} names three articles. Which of them is the {which} one at shop.test?',
        'Compare the prices at shop.test of the three articles in the forum topic "{subject}" ({opener}): which is the '
        "{which}?",
        'Of the three things that {opener} names in "{subject}" in the forum, which one is the {which} in the shop, '
        "shop.test? Give its full name.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = _asked(data, rng, 3, "I can afford one of these", "Which of the three is the dearest.")
        articles = topic.pop("articles")[:3]
        prices = sorted(float(str(row["price"])) for row in articles)
        which = rng.choice(("cheapest", "most expensive"))
        price = prices[0] if which == "cheapest" else prices[-1]
        right = [row["title"] for row in articles if float(str(row["price"])) == price]
        if len(right) > 1:
            raise Unsuitable("two articles have this price")
        return topic | {"which": which, "titles": [row["title"] for row in articles], "right": right[0]}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["right"]], facts["titles"], self.given(facts))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [*map(addresses.article, facts["titles"]), addresses.ARTICLE_LISTS, addresses.FIRST_ARTICLES]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [step for title in facts["titles"] for step in open_article(title)[:3]]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["right"]}" and no other article.', "Nothing was changed."]


class PriceDifference(Template):
    """Say by how much a price in a topic differs from the shop's."""

    name = "across_price_difference"
    sites = ("forum", "shop")
    start = "/forum/{forum_slug}-{forum_id}/topic/{slug}-{topic}/"
    length = "medium"
    logins = {"forum": "{user}"}
    phrasings = (
        'The topic "{subject}" by {opener} names a price for an article. By how many dollars does it differ from the '
        "price at shop.test?",
        'Compare the price in the forum topic "{subject}" ({opener}) with that of the same article at shop.test. '
        "What is "
        "the difference in dollars?",
        'How large is the difference, in dollars, between what {opener}\'s topic "{subject}" names as the price '
        "and what "
        "the shop (shop.test) takes for the article?",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        topic = _asked(data, rng, 1, "For sale: .*, never used", ".* in Westport")
        article = topic.pop("articles")[0]
        claimed = float(re.findall(r"\$(\d+\.\d\d)", topic["text"])[0])
        price = float(str(article["price"]))
        prices = {"claimed": claimed, "price": price, "difference": money(abs(claimed - price))}
        return topic | prices | {"article": article["title"]}

    def answer(self, facts: Facts) -> Answer:
        given = [money(facts["claimed"]), money(facts["price"]), *numbers(facts["article"])]
        return Number(facts["difference"], given=given)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_article(facts["article"])

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['difference']} dollars."]
