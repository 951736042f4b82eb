"""The ways to pay in the shop. Each is a row of `payment_sourcetype`, made with the image."""

from __future__ import annotations

METHODS = {
    "invoice": ("Invoice", "Pay within 14 days after the parcel has come."),
    "transfer": ("Bank transfer", "Pay in advance; the parcel leaves when the money is here."),
    "counter": ("At the counter", "Pay when you fetch the goods at the quay."),
}
"""Name and explanation by code."""


def seed() -> None:
    """Make the kinds of payment."""
    from oscar.core.loading import get_model

    for code, (name, _) in METHODS.items():
        get_model("payment", "SourceType").objects.create(code=code, name=name)
