"""Tasks about the goods, as the staff see them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer, Number
from components.worlds.city.tasks.template import Data, Facts, Row, Template, Unsuitable
from components.worlds.city.tasks.vocabulary import number
from components.worlds.effects import Added, Changed, Effect, KeyOf
from components.worlds.oracle import Step, click, fill, press

_GOODS = (
    "SELECT p.id AS product, p.title, p.upc, s.price, s.num_in_stock AS stock, "
    "coalesce(s.num_allocated, 0) AS allocated FROM catalogue_product p "
    "JOIN partner_stockrecord s ON s.product_id = p.id WHERE p.is_public ORDER BY p.id"
)


def goods(data: Data) -> list[Row]:
    """The public goods; prices are texts with two decimals, as the dashboard shows them.

    Raises:
        Unsuitable: there is none.
    """
    rows = [{**row, "price": f"{float(row['price']):.2f}"} for row in data.rows(_GOODS)]
    if not rows:
        raise Unsuitable("the shop sells nothing")
    return rows


class DashboardTask(Template):
    """A task of Ada Mint, who may do everything in the shop."""

    sites = ("shop",)
    logins = {"shop": "admin"}
    start = "/dashboard/"


def open_good(title: str) -> list[Step]:
    """Search for an article and open its form."""
    return [
        click("button", "Catalog"),
        click("link", "Products"),
        fill("Product title:", title),
        press("Enter"),
        click("link", re.escape(title)),
    ]


def replace(old: str | int, new: str | int) -> Step:
    """Write into the field of the stock record that holds a value; these fields have no names."""
    return fill("", str(new), value=re.escape(str(old)))


STOCK = click("link", "Stock and pricing")
SAVE = click("button", "Save")


def new_price(price: str, rng: random.Random) -> str:
    """Another price, within a fifth of this one."""
    cents = round(float(price) * 100)
    prices = [cents * percent // 100 // 50 * 50 for percent in (80, 85, 90, 95, 105, 110, 115, 120)]
    return f"{rng.choice([new for new in prices if new != cents and new > 0]) / 100:.2f}"


class ChangePrice(DashboardTask):
    """Change what an article costs."""

    name = "dashboard_change_price"
    length = "medium"
    phrasings = (
        'Change the price of "{title}" to ${new}.',
        '"{title}" costs ${new} from today on. Set its price in the dashboard.',
        'Set the price of the article "{title}" to ${new} and leave everything else as it is.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        good = rng.choice(goods(data))
        return {**good, "new": new_price(good["price"], rng)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("partner_stockrecord", {"product_id": facts["product"]}, {"price": facts["new"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_good(facts["title"]), STOCK, replace(facts["price"], facts["new"]), SAVE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" costs ${facts["new"]}.', "Nothing else changed."]


class SetStock(DashboardTask):
    """Write down how many pieces are in stock."""

    name = "dashboard_set_stock"
    length = "medium"
    phrasings = (
        'We have counted "{title}": there are {new} in stock. Correct the number in the dashboard.',
        'Set the number in stock of "{title}" to {new}.',
        'A delivery has come. Of "{title}" there are now {new} in stock in all. Enter this number.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        good = rng.choice(goods(data))
        low = good["allocated"] + 1
        return {**good, "new": rng.choice([new for new in range(low, low + 60) if new != good["stock"]])}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("partner_stockrecord", {"product_id": facts["product"]}, {"num_in_stock": facts["new"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_good(facts["title"]), STOCK, replace(facts["stock"], facts["new"]), SAVE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'{facts["new"]} of "{facts["title"]}" are in stock.', "Nothing else changed."]


class PriceAndStock(DashboardTask):
    """Change price and stock of an article after a delivery."""

    name = "dashboard_price_and_stock"
    length = "long"
    phrasings = (
        'A delivery of "{title}" has come. Set its price to ${new} and the number in stock to {count}.',
        'Change two things of the article "{title}": it costs ${new}, and there are {count} in stock.',
        'Of "{title}" we now have {count} in stock, and it costs ${new}. Enter both in the dashboard.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        good = rng.choice(goods(data))
        low = good["allocated"] + 1
        count = rng.choice([count for count in range(low, low + 60) if count != good["stock"]])
        return {**good, "new": new_price(good["price"], rng), "count": count}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        to = {"price": facts["new"], "num_in_stock": facts["count"]}
        return [Changed("partner_stockrecord", {"product_id": facts["product"]}, to)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        fields = [replace(facts["price"], facts["new"]), replace(facts["stock"], facts["count"])]
        return [*open_good(facts["title"]), STOCK, *fields, SAVE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" costs ${facts["new"]}.',
            f"{facts['count']} of it are in stock.",
            "Nothing else changed.",
        ]


class HideArticle(DashboardTask):
    """Take an article out of the catalogue without deleting it."""

    name = "dashboard_hide_article"
    length = "medium"
    phrasings = (
        'Hide "{title}" from the customers: it should not be public any more. Do not delete it.',
        'Make the article "{title}" non-public.',
        'We do not sell "{title}" at the moment. Keep it in the dashboard, but make it not public.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return rng.choice(goods(data))

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("catalogue_product", {"id": facts["product"]}, {"is_public": False})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_good(facts["title"]), click("checkbox", "Is public"), SAVE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" still exists and is not public.', "Nothing else changed."]


class RenameArticle(DashboardTask):
    """Give an article another title."""

    name = "dashboard_rename_article"
    length = "medium"
    phrasings = (
        'Change the title of the article "{title}" to "{new}".',
        'Rename "{title}" to "{new}" and change nothing else of it.',
        'The article "{title}" should be called "{new}" in the shop.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        good = rng.choice(goods(data))
        pattern = rng.choice(("{title}, new model", "{title} (last pieces)", "{title}, second choice", "New: {title}"))
        return {**good, "new": pattern.format(title=good["title"])}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("catalogue_product", {"id": facts["product"]}, {"title": facts["new"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_good(facts["title"]), fill("Title", facts["new"]), SAVE]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The article is called "{facts["new"]}".', "Nothing else changed."]


def _is_open(title: str, stock: int) -> bool:
    """Whether an article's title does not have the number in stock, in digits or in words."""
    return not Number(stock).accepts(title) and str(stock) not in re.findall(r"\d+", title)


class StockQuestion(DashboardTask):
    """How many pieces of an article are in stock."""

    name = "dashboard_stock_question"
    length = "medium"
    phrasings = (
        'How many pieces of "{title}" are in stock, by its stock record?',
        'Look up in the dashboard how many of "{title}" we have in stock. Give the number in the stock record.',
        'What is the number in stock in the stock record of the article "{title}"?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        rows = goods(data)
        good = rng.choice([row for row in rows if _is_open(row["title"], row["stock"])])
        rivals = {row["stock"] for row in rows} | {good["allocated"], good["stock"] - good["allocated"]}
        return {**good, "rivals": sorted(rivals - {good["stock"]})[:5]}

    def answer(self, facts: Facts) -> Answer:
        given = re.findall(r"\d+(?:\.\d+)?", facts["title"])
        return number(facts["stock"], given=given, near=facts["rivals"])

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [r"shop\.test/(dashboard/(catalogue|reports)|catalogue)/.+"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_good(facts["title"]), STOCK]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['stock']}."]


RANGES = ("Spring sale", "Fishing week", "Winter storage", "Children on board", "Regatta day", "Last pieces",
          "Before the first trip", "For the sailing school")  # fmt: skip


class CreateRange(DashboardTask):
    """Put two articles together in a range."""

    name = "dashboard_create_range"
    length = "medium"
    phrasings = (
        'Create a range with the name "{range}" that contains the articles {first} and {second} (UPCs). It is not'
        " public.",
        'We need a new range "{range}", not public, with the two products whose UPCs are {first} and {second}.',
        'Make a range of goods called "{range}", which is not public, and add the products {first} and {second}, by'
        " UPC.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        first, second = rng.sample(goods(data), 2)
        taken = {row["name"] for row in data.rows("SELECT name FROM offer_range")}
        name = rng.choice([name for name in RANGES if name not in taken])
        return {"range": name, "first": first["upc"], "second": second["upc"],
                "products": [first["product"], second["product"]]}  # fmt: skip

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"name": facts["range"], "is_public": False, "includes_all_products": False}
        made = Added("offer_range", values)
        members = [{"range_id": KeyOf(made), "product_id": product} for product in facts["products"]]
        return [made, *(Added("offer_rangeproduct", member) for member in members)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("button", "Catalog"),
            click("link", "Ranges"),
            click("link", "Create new range"),
            fill("Name", facts["range"]),
            click("button", "Save and edit products"),
            fill("Product SKUs or UPCs.*", f"{facts['first']}, {facts['second']}"),
            click("button", "Go!"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'There is a range "{facts["range"]}", which is not public.',
            f"It contains {facts['first']} and {facts['second']} and nothing else.",
            "Nothing else changed.",
        ]


CATEGORIES = (
    "Ship's clocks", "Flags", "Lamps", "Tools", "Books", "Toys", "Dog on board", "Inflatables", "Rowing", "Diving",
    "Engine parts", "Gifts", "Second hand", "Winter", "Sails", "Electrics", "Ladders", "Trailers", "Toilets", "Covers",
    "Anchors", "Bilge pumps", "Charts", "Compasses", "Cushions", "Fenders", "First aid", "Heaters", "Knives", "Oars",
    "Outboard motors", "Radios", "Rigging", "Snorkels", "Solar panels", "Steering", "Sunglasses", "Towing", "Varnish",
    "Water tanks", "Waterproof bags", "Weather stations", "Wheels", "Windlasses", "Workwear", "Children's clothing",
)  # fmt: skip


class CreateCategory(DashboardTask):
    """Add a category to the catalogue."""

    name = "dashboard_create_category"
    length = "medium"
    phrasings = (
        'Create a new category "{category}" at the top level of the catalogue.',
        'Add the category "{category}" to the shop, below no other category.',
        'The shop needs a new category, "{category}", beside the existing ones. Create it.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        taken = {row["name"] for row in data.rows("SELECT name FROM catalogue_category")}
        return {"category": rng.choice([name for name in CATEGORIES if name not in taken])}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("catalogue_category", {"name": facts["category"], "depth": 1, "is_public": True})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("button", "Catalog"),
            click("link", "Categories"),
            click("link", "Create new category"),
            fill("Name", facts["category"]),
            SAVE,
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The catalogue has a category "{facts["category"]}" at its top level.', "Nothing else changed."]
