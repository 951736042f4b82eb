"""Fills the shop: goods, customers' addresses, orders, reviews."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.utils import timezone
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.core.loading import get_class, get_model

from city.people import PEOPLE, Person
from city.sites.shop.goods import GOODS, Good
from city.sites.shop.pictures import picture

ORDERS = 36
STATUSES = ("Pending", "Being processed", "Complete")
REVIEWS = (
    (5, "Does what it says", "Used it all season, in all weathers. I would buy it again."),
    (4, "Good, with one remark", "Well made. The instructions could be clearer, but after the first try it is easy."),
    (2, "Not for me", "It arrived quickly, but it is heavier than the description made me think."),
    (5, "Better than the old one", "My father's lasted thirty years. This one feels as if it could do the same."),
    (3, "Fair", "The quality is right for the price. Do not expect more, and you will be content."),
)


def seed() -> None:
    """Fill the empty shop."""
    rng = random.Random("shop")
    country = get_model("address", "Country").objects.create(
        iso_3166_1_a2="US", iso_3166_1_a3="USA", iso_3166_1_numeric="840", printable_name="United States",
        name="United States of America", is_shipping_country=True,
    )  # fmt: skip
    partner = get_model("partner", "Partner").objects.create(name="Harbour Chandlery", code="harbour")
    kind = get_model("catalogue", "ProductClass").objects.create(
        name="Article", track_stock=True, requires_shipping=True
    )
    products = [_product(good, kind, partner) for good in GOODS]
    for person in PEOPLE:
        if not person.is_staff:
            _address("UserAddress", person, country, is_default_for_shipping=True).save()
    for number in range(ORDERS):
        _order(100101 + number, rng, products, country)
    for product in products[::3]:
        _review(product, rng)


def _product(good: Good, kind, partner):
    product = get_model("catalogue", "Product").objects.create(
        structure="standalone",
        upc=good.code,
        title=good.title,
        description=f"<p>{good.description}</p>",
        product_class=kind,
    )
    product.categories.add(create_from_breadcrumbs(good.category))
    get_model("partner", "StockRecord").objects.create(
        product=product,
        partner=partner,
        partner_sku=good.code,
        price=good.price,
        price_currency="USD",
        num_in_stock=good.stock,
    )
    content = ContentFile(picture(good.drawing, good.colour, good.code), name=f"{good.code}.jpg")
    get_model("catalogue", "ProductImage").objects.create(product=product, original=content)
    return product


def _address(model: str, person: Person, country, **more):
    fields = {
        "first_name": person.first_name, "last_name": person.last_name, "line1": person.street, "line4": "Harbour",
        "state": "ME", "postcode": "04101", "country": country,
    }  # fmt: skip
    if model == "UserAddress":
        fields["user"] = get_user_model().objects.get(username=person.username)
    return get_model("address" if model == "UserAddress" else "order", model)(**fields, **more)


def _order(number: int, rng: random.Random, products: list, country) -> None:
    person = [person for person in PEOPLE if not person.is_staff][number % 10]
    user = get_user_model().objects.get(username=person.username)
    basket = get_model("basket", "Basket").objects.create(owner=user)
    basket.strategy = get_class("partner.strategy", "Selector")().strategy(user=user)
    for product in rng.sample(products, rng.randint(1, 3)):
        basket.add_product(product, rng.randint(1, 2))
    address = _address("ShippingAddress", person, country)
    address.save()
    method = get_class("shipping.methods", "Free")()
    charge = method.calculate(basket)
    total = get_class("checkout.calculators", "OrderTotalCalculator")().calculate(basket, charge)
    order = get_class("order.utils", "OrderCreator")().place_order(
        order_number=str(number), user=user, basket=basket, shipping_address=address, shipping_method=method,
        shipping_charge=charge, total=total, billing_address=None, status=rng.choice(STATUSES),
    )  # fmt: skip
    basket.submit()
    placed = timezone.now() - dt.timedelta(days=rng.randint(1, 80), minutes=rng.randint(0, 600))
    type(order).objects.filter(pk=order.pk).update(date_placed=placed)
    order.lines.update(status=order.status)
    assert order.total_incl_tax > Decimal(0)


def _review(product, rng: random.Random) -> None:
    people = rng.sample([person for person in PEOPLE if not person.is_staff], 2)
    for person, (score, title, body) in zip(people, rng.sample(REVIEWS, 2), strict=True):
        user = get_user_model().objects.get(username=person.username)
        get_model("reviews", "ProductReview").objects.create(
            product=product, user=user, score=score, title=title, body=body
        )
    product.update_rating()
