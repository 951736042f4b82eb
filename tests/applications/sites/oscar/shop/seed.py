"""The staff and the goods. Run in the project's settings."""

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from oscar.apps.catalogue.categories import create_from_breadcrumbs  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402

Product, ProductClass = get_model("catalogue", "Product"), get_model("catalogue", "ProductClass")
Partner, StockRecord = get_model("partner", "Partner"), get_model("partner", "StockRecord")
Country = get_model("address", "Country")

User.objects.create_superuser("owner", "owner@outfitter.test", "counter")
for code, name in (("NO", "Norway"), ("IT", "Italy"), ("GH", "Ghana")):
    Country.objects.create(
        iso_3166_1_a2=code, iso_3166_1_a3=f"{code}X", printable_name=name, name=name, is_shipping_country=True
    )
goods = ProductClass.objects.create(name="Goods")
partner = Partner.objects.create(name="The outfitter", code="outfitter")
number = 0
for category in ("Tents", "Stoves", "Packs"):
    shelf = create_from_breadcrumbs(category)
    for colour in ("red", "green", "blue", "grey"):
        for size in ("small", "large"):
            number += 1
            thing = category.removesuffix("s").lower()
            product = Product.objects.create(
                title=f"{size.capitalize()} {colour} {thing}",
                upc=f"OUT{number:03}",
                product_class=goods,
                description=f"<p>A {size} {thing}.</p>",
            )
            product.categories.add(shelf)
            StockRecord.objects.create(
                product=product, partner=partner, partner_sku=f"SKU{number:03}", price_currency="EUR",
                price=10 * number, num_in_stock=20,
            )  # fmt: skip
Product.objects.create(title="Small grey stove (broken)", upc=f"OUT{number + 1:03}", product_class=goods)
