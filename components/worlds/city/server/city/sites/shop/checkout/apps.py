"""Puts this package in the place of oscar's."""

from oscar.apps.checkout import apps


class CheckoutConfig(apps.CheckoutConfig):
    """Oscar's check-out, with the views of this package where it has some."""

    name = "city.sites.shop.checkout"
