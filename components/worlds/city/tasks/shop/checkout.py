"""Tasks that end with an order."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import cart, customers, goods, in_cart, money, pick, with_empty_cart
from components.worlds.city.tasks.shop.steps import ADD, UPDATE, VIEW_CART, find, set_quantity
from components.worlds.city.tasks.template import Data, Facts, Row, Template
from components.worlds.effects import Added, Changed, Effect, Incidental, KeyOf
from components.worlds.oracle import Step, click, fill

PROCEED = click("link", "Proceed to checkout")
SHIP = click("button", "Ship to your default shipping address")
_PAYMENTS = "SELECT id, name FROM payment_sourcetype ORDER BY id"
NEIGHBOURS = ("Rosa Petrov", "Theo Quist", "Wilma Rinaldi", "Anton Sorensen", "Lucia Talbot", "Magnus Ueda")
STREETS = ("Sailmakers Yard", "Lower Pier Road", "Beacon Hill", "Oyster Row", "Chandlers Lane", "North Mole")
TOWNS = (("Westbrook", "04092"), ("Bath", "04530"), ("Rockland", "04841"), ("Camden", "04843"), ("Belfast", "04915"))


def _line(article: Row, quantity: int) -> dict[str, Any]:
    return {
        "product": article["id"],
        "title": article["title"],
        "record": article["record"],
        "allocated": article["allocated"],
        "price": money(article["price"]),
        "quantity": quantity,
    }


def _payment(data: Data, rng: random.Random) -> dict[str, Any]:
    """A way to pay: its name, and its kind in the database."""
    kind = pick(data.rows(_PAYMENTS), rng, "way to pay")
    return {"pay": kind["name"], "kind": kind["id"]}


def _pay(facts: Facts) -> list[Step]:
    """The last two pages of the checkout."""
    return [click("radio", re.escape(facts["pay"])), click("button", "Continue"), click("button", "Place order")]


def _ordered(facts: Facts, address: dict[str, Any]) -> list[Effect]:
    """The effects of an order of `facts["lines"]`: the order, its lines and address, and the stock that it takes."""
    total = sum(float(line["price"]) * line["quantity"] for line in facts["lines"])
    sent_to = Added("order_shippingaddress", address)
    values = {"user_id": facts["id"], "total_incl_tax": money(total), "status": "Pending"}
    order = Added("order_order", values | {"shipping_address_id": KeyOf(sent_to)})
    paid = {"order_id": KeyOf(order), "source_type_id": facts["kind"], "amount_allocated": money(total)}
    effects: list[Effect] = [order, sent_to, Added("payment_source", paid)]
    for line in facts["lines"]:
        allocated = line["allocated"] + line["quantity"]
        ordered = {"order_id": KeyOf(order), "product_id": line["product"], "quantity": line["quantity"]}
        effects += [
            Added("order_line", ordered),
            Changed("partner_stockrecord", {"id": line["record"]}, {"num_allocated": allocated}),
        ]
    return effects


def _through_cart(facts: Facts) -> list[Effect]:
    """The lines of the cart by which the articles come into the order."""
    return [in_cart(line["product"], line["quantity"], facts["user"], "Submitted") for line in facts["lines"]]


def _written_by_shop(facts: Facts) -> list[Incidental]:
    """What the shop writes with an order: the price of each line, and a letter to the customer."""
    order = Added("order_order", {"user_id": facts["id"]})
    return [
        Incidental("order_lineprice", {"order_id": KeyOf(order)}),
        Incidental("order_communicationevent", {"order_id": KeyOf(order)}),
        Incidental("communication_email", {"user_id": facts["id"]}),
    ]


class SavedAddressOrder(Template):
    """Order `facts["lines"]` to the customer's saved address."""

    sites = ("shop",)
    logins = {"shop": "{user}"}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [
            *_ordered(facts, {"line1": facts["street"]}),
            *self.through_cart(facts),
            Changed("address_useraddress", {"id": facts["address"]}, also=("num_orders_as_shipping_address",)),
        ]

    def payment(self, facts: Facts) -> Sequence[Step]:
        return _pay(facts)

    def through_cart(self, facts: Facts) -> Sequence[Effect]:
        """The changes of the cart."""
        return _through_cart(facts)

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return _written_by_shop(facts)


class OrderArticle(SavedAddressOrder):
    """Order an article to the saved address."""

    name = "shop_order_article"
    length = "long"
    phrasings = (
        'Order one "{title}" to my saved address. Way to pay: {pay}.',
        'Buy "{title}" for me, one piece. Ship it to my default address, choose "{pay}" as the payment, and place the '
        "order.",
        'I want to have one "{title}" sent home. Go through the checkout with my saved address and pay by the method '
        '"{pay}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        article = pick(goods(data, least=1), rng, "article in stock")
        return {
            "user": user["username"],
            "id": user["id"],
            "address": user["address"],
            "street": user["street"],
            "title": article["title"],
            "lines": [_line(article, 1)],
            **_payment(data, rng),
        }

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*find(facts["title"]), ADD, VIEW_CART, PROCEED, SHIP, *_pay(facts)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The customer has a new order of one "{facts["title"]}".',
            "Nothing else is in the order.",
            f"It goes to {facts['street']}, the saved address.",
            f"The payment is {facts['pay']}.",
        ]


class OrderSeveral(SavedAddressOrder):
    """Order several pieces of an article to the saved address."""

    name = "shop_order_several"
    length = "long"
    phrasings = (
        'Order {count} of "{title}" to my saved address. Way to pay: {pay}.',
        'Buy {count} pieces of "{title}" in one order, shipped to my default address. Choose "{pay}" as the payment '
        "and place the order.",
        'Our club needs {count} times "{title}". Order them for me with the payment "{pay}"; they go to the address '
        "that the shop knows.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        article = pick(goods(data, least=5), rng, "article of which there are five")
        count = rng.randint(2, 5)
        return {
            "user": user["username"],
            "id": user["id"],
            "address": user["address"],
            "street": user["street"],
            "title": article["title"],
            "count": count,
            "lines": [_line(article, count)],
            **_payment(data, rng),
        }

    def oracle(self, facts: Facts) -> Sequence[Step]:
        change = [set_quantity(facts["title"], facts["count"]), UPDATE]
        return [*find(facts["title"]), ADD, VIEW_CART, *change, PROCEED, SHIP, *_pay(facts)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The customer has one new order, of "{facts["title"]}".',
            f"Its quantity is {facts['count']}.",
            "Nothing else is in the order.",
            f"It goes to {facts['street']}, the saved address.",
            f"The payment is {facts['pay']}.",
        ]


class OrderCart(SavedAddressOrder):
    """Order what is in the cart."""

    name = "shop_order_cart"
    length = "medium"
    phrasings = (
        'Order what is in my cart ("{title}" and so on), have it shipped to my saved address, and pay by the method '
        '"{pay}".',
        'I am done with choosing: place the order for my cart with "{title}" in it, to my default address. Way to pay: '
        "{pay}.",
        'Check out my cart, in which there is "{title}" already. The parcel goes to my saved address; the payment is '
        '"{pay}".',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        articles = {article["id"]: article for article in goods(data)}
        ready = []
        for user in customers(data):
            lines = cart(data, user["id"])
            if lines and all(articles[line["product"]]["free"] >= line["quantity"] for line in lines):
                ready.append({**user, "lines": [_line(articles[line["product"]], line["quantity"]) for line in lines]})
        user = pick(ready, rng, "cart that can be ordered")
        return {
            "user": user["username"],
            "id": user["id"],
            "address": user["address"],
            "street": user["street"],
            "title": rng.choice(user["lines"])["title"],
            "lines": user["lines"],
            **_payment(data, rng),
        }

    def through_cart(self, facts: Facts) -> Sequence[Effect]:
        return ()  # the lines are there already

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [VIEW_CART, PROCEED, SHIP, *_pay(facts)]

    def rubric(self, facts: Facts) -> Sequence[str]:
        lines = [f'The new order has {line["quantity"]} of "{line["title"]}".' for line in facts["lines"]]
        return [*lines, f"It goes to {facts['street']}, the saved address."]


class OrderToNeighbour(Template):
    """Order an article to an address that the shop does not know yet."""

    name = "shop_order_to_new_address"
    sites = ("shop",)
    length = "long"
    logins = {"shop": "{user}"}
    phrasings = (
        'Order one "{title}" as a present. Ship it to {first_name} {last_name}, {street}, {town}, {state} {postcode}, '
        "not to my own address. Way to pay: {pay}.",
        'Buy one "{title}" and have it sent to {first_name} {last_name}, {street}, {town}, state {state}, postcode '
        '{postcode}. Choose "{pay}" as the payment and place the order.',
        'Send "{title}" (one piece) to my friend: {first_name} {last_name}, {street}, {town}, {state}, {postcode}. '
        'Enter this as a new address in the checkout, pay by the method "{pay}", and finish the order.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(with_empty_cart(data), rng, "customer with an empty cart")
        article = pick(goods(data, least=1), rng, "article in stock")
        first_name, last_name = rng.choice(NEIGHBOURS).split()
        town, postcode = rng.choice(TOWNS)
        return {
            "user": user["username"],
            "id": user["id"],
            "first_name": first_name,
            "last_name": last_name,
            "street": f"{rng.randint(2, 89)} {rng.choice(STREETS)}",
            "town": town,
            "state": "ME",
            "postcode": postcode,
            "title": article["title"],
            "lines": [_line(article, 1)],
            **_payment(data, rng),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        address = {
            "first_name": facts["first_name"],
            "last_name": facts["last_name"],
            "line1": facts["street"],
            "line2": "",
            "line3": "",
            "line4": facts["town"],
            "state": facts["state"],
            "postcode": facts["postcode"],
        }
        return [
            *_ordered(facts, address),
            *_through_cart(facts),
            Added("address_useraddress", {"user_id": facts["id"], **address}),  # the shop keeps it for the next order
        ]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return _written_by_shop(facts)

    def payment(self, facts: Facts) -> Sequence[Step]:
        return _pay(facts)

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *find(facts["title"]),
            ADD,
            VIEW_CART,
            PROCEED,
            fill("First name", facts["first_name"]),
            fill("Last name", facts["last_name"]),
            fill("First line of address", facts["street"]),
            fill("City", facts["town"]),
            fill("State.*", facts["state"]),
            fill("Post.*", facts["postcode"]),
            click("button", "Continue"),
            *_pay(facts),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a new order of one "{facts["title"]}".',
            "Nothing else is in the order.",
            f"It goes to {facts['first_name']} {facts['last_name']}, {facts['street']}, {facts['town']}.",
            f"The payment is {facts['pay']}.",
        ]
