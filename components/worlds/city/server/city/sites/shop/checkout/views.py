"""The payment step: a choice, which the session remembers and the order records."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from oscar.apps.checkout import exceptions, views
from oscar.apps.payment.exceptions import UnableToTakePayment
from oscar.core.loading import get_model

from city.copies import current
from city.modifiers import refusal
from city.sites.shop.checkout.payment import METHODS


class PaymentDetailsView(views.PaymentDetailsView):
    """Asks how to pay, then shows the order, then places it."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Adds the methods and the one that was chosen."""
        chosen = self.checkout_session.payment_method()
        methods = [(code, name, text, code == chosen) for code, (name, text) in METHODS.items()]
        return {
            **super().get_context_data(**kwargs),
            "payment_methods": methods,
            "payment_name": METHODS[chosen][0] if chosen in METHODS else "",
        }

    def check_payment_data_is_captured(self, request: HttpRequest) -> None:
        """Lead back to the choice if there was none."""
        is_choosing = request.method == "POST" and request.POST.get("action") != "place_order"
        if not is_choosing and self.checkout_session.payment_method() not in METHODS:
            raise exceptions.FailedPreCondition(
                url=reverse("checkout:payment-details"), message=_("Please choose how to pay.")
            )

    def handle_payment_details_submission(self, request: HttpRequest) -> HttpResponse:
        """Remember the choice."""
        method = request.POST.get("payment_method")
        if method not in METHODS:
            return self.render_payment_details(request, error=_("Please choose how to pay."))
        self.checkout_session.pay_by(method)
        return redirect("checkout:preview")

    def handle_payment(self, order_number: str, total: Any, **kwargs: Any) -> None:
        """Record how the order is paid.

        Raises:
            UnableToTakePayment: the payment is declined.
        """
        reason = refusal(current(), "payment")
        if reason is not None:
            raise UnableToTakePayment(reason)
        kind = get_model("payment", "SourceType").objects.get(code=self.checkout_session.payment_method())
        source = get_model("payment", "Source")(
            source_type=kind, currency=total.currency, amount_allocated=total.incl_tax, reference=order_number
        )
        self.add_payment_source(source)
