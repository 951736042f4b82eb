"""Fills the shop: goods, customers' addresses, orders, reviews."""

from __future__ import annotations

import random

from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.utils import timezone
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.core.loading import get_class, get_model

from city.people import PEOPLE, Person
from city.sites.shop import carts, orders, reviews
from city.sites.shop.checkout import payment
from city.sites.shop.goods import GOODS, Good
from city.sites.shop.pictures import picture
from city.sites.shop.vary import write_stock


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
    payment.seed()
    products = {good.code: _product(good, kind, partner) for good in GOODS}
    for person in PEOPLE:
        if not person.is_staff:
            _address("UserAddress", person, country, is_default_for_shipping=True).save()
    now = timezone.now()
    dealt = orders.deal(rng, now)
    for order in dealt:
        _order(order, products, country)
    orders.write(dealt)
    free = {good.code: good.stock for good in GOODS}
    write_stock(free, dealt)
    written = reviews.deal(rng, now)
    get_model("reviews", "ProductReview").objects.create(
        product=products[written[0].code], user=get_user_model().objects.get(username="alice"), score=5
    )  # the other columns of all reviews
    reviews.write(written)
    for owner in carts.OWNERS:
        _cart(owner, products[GOODS[0].code])
    carts.write(carts.deal(rng, now, free))


def _product(good: Good, kind, partner):
    product = get_model("catalogue", "Product").objects.create(
        structure="standalone",
        upc=good.code,
        title=good.title,
        description=f"<p>{good.description}</p>",
        meta_description="",  # as the dashboard saves it
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


def _cart(owner: Person, product) -> None:
    """An open basket with one line, whose columns `carts.write` takes over."""
    user = get_user_model().objects.get(username=owner.username)
    basket = get_model("basket", "Basket").objects.create(owner=user)
    basket.strategy = get_class("partner.strategy", "Selector")().strategy(user=user)
    basket.add_product(product)


def _order(order: orders.Order, products: dict, country) -> None:
    """Place an order as the shop's checkout does; `orders.write` adds its status and date."""
    person = next(person for person in PEOPLE if person.username == order.username)
    user = get_user_model().objects.get(username=person.username)
    basket = get_model("basket", "Basket").objects.create(owner=user)
    basket.strategy = get_class("partner.strategy", "Selector")().strategy(user=user)
    for code, quantity in order.lines:
        basket.add_product(products[code], quantity)
    address = _address("ShippingAddress", person, country)
    address.save()
    method = get_class("shipping.methods", "Free")()
    charge = method.calculate(basket)
    total = get_class("checkout.calculators", "OrderTotalCalculator")().calculate(basket, charge)
    get_class("order.utils", "OrderCreator")().place_order(
        order_number=order.number, user=user, basket=basket, shipping_address=address, shipping_method=method,
        shipping_charge=charge, total=total, billing_address=None, status=order.status, date_placed=order.placed,
    )  # fmt: skip
    basket.delete()  # what was in it is known from the order, which differs by seed
