"""The shop: django-oscar with its staff dashboard, a chandler's in a harbour town."""

from typing import Any

from oscar import defaults

HOST = "shop.test"
APPS = (
    "oscar.config.Shop",
    "oscar.apps.analytics.apps.AnalyticsConfig",
    "city.sites.shop.checkout.apps.CheckoutConfig",
    "oscar.apps.address.apps.AddressConfig",
    "oscar.apps.shipping.apps.ShippingConfig",
    "oscar.apps.catalogue.apps.CatalogueConfig",
    "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
    "oscar.apps.communication.apps.CommunicationConfig",
    "oscar.apps.partner.apps.PartnerConfig",
    "oscar.apps.basket.apps.BasketConfig",
    "oscar.apps.payment.apps.PaymentConfig",
    "oscar.apps.offer.apps.OfferConfig",
    "oscar.apps.order.apps.OrderConfig",
    "oscar.apps.customer.apps.CustomerConfig",
    "oscar.apps.search.apps.SearchConfig",
    "oscar.apps.voucher.apps.VoucherConfig",
    "oscar.apps.wishlists.apps.WishlistsConfig",
    "oscar.apps.dashboard.apps.DashboardConfig",
    "oscar.apps.dashboard.reports.apps.ReportsDashboardConfig",
    "oscar.apps.dashboard.users.apps.UsersDashboardConfig",
    "oscar.apps.dashboard.orders.apps.OrdersDashboardConfig",
    "oscar.apps.dashboard.catalogue.apps.CatalogueDashboardConfig",
    "oscar.apps.dashboard.offers.apps.OffersDashboardConfig",
    "oscar.apps.dashboard.partners.apps.PartnersDashboardConfig",
    "oscar.apps.dashboard.pages.apps.PagesDashboardConfig",
    "oscar.apps.dashboard.ranges.apps.RangesDashboardConfig",
    "oscar.apps.dashboard.reviews.apps.ReviewsDashboardConfig",
    "oscar.apps.dashboard.vouchers.apps.VouchersDashboardConfig",
    "oscar.apps.dashboard.communications.apps.CommunicationsDashboardConfig",
    "oscar.apps.dashboard.shipping.apps.ShippingDashboardConfig",
    "widget_tweaks",
    "haystack",
    "treebeard",
    "sorl.thumbnail",
    "django_tables2",
)
MIDDLEWARE = ("oscar.apps.basket.middleware.BasketMiddleware",)
CONTEXT_PROCESSORS = (
    "oscar.apps.search.context_processors.search_form",
    "oscar.apps.checkout.context_processors.checkout",
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
)
SETTINGS: dict[str, Any] = {
    **{name: getattr(defaults, name) for name in dir(defaults) if name.startswith("OSCAR_")},
    "OSCAR_SHOP_NAME": "Harbour Chandlery",
    "OSCAR_SHOP_TAGLINE": "Boats, ropes and weatherproof things",
    "OSCAR_DEFAULT_CURRENCY": "USD",
    "OSCAR_CURRENCY_FORMAT": {"USD": {"locale": "en_US"}},  # in all languages of pages, as answers have them
    "OSCAR_SEARCH_FACETS": {"fields": {}, "queries": {}},
    "OSCAR_INITIAL_ORDER_STATUS": "Pending",
    "OSCAR_INITIAL_LINE_STATUS": "Pending",
    "OSCAR_ORDER_STATUS_PIPELINE": {
        "Pending": ("Being processed", "Cancelled"),
        "Being processed": ("Complete", "Cancelled"),
        "Complete": (),
        "Cancelled": (),
    },
    "AUTHENTICATION_BACKENDS": (
        "oscar.apps.customer.auth_backends.EmailBackend",
        "django.contrib.auth.backends.ModelBackend",
    ),
    "THUMBNAIL_KVSTORE": "sorl.thumbnail.kvstores.cached_db_kvstore.KVStore",
}
SEARCH: dict[str, dict[str, Any]] = {
    "catalogue.product": {
        "text": ("title", "description", "upc"),
        "fields": {
            "is_public": "is_public",
            "structure": "structure",
            "category": "categories",
            "price": "stockrecords__price",
            "rating": "rating",
            "date_created": "date_created",
            "title_exact": "title",
        },
        "default_order": "title",
    }
}
NOISE_TABLES = (
    "django_session",
    "analytics_*",
    "thumbnail_kvstore",
    "basket_basket",  # made when a page is read; what is in it are rows of basket_line
)
JOINED_COLUMNS = {
    "basket_line": {
        "cart_status": "SELECT status FROM basket_basket WHERE id = basket_id",
        "cart_owner": "SELECT username FROM basket_basket JOIN auth_user ON auth_user.id = owner_id WHERE"
        " basket_basket.id = basket_id",
    }
}
NOISE_COLUMNS: dict[str, tuple[str, ...]] = {
    "auth_user": ("last_login",),
    "catalogue_category": ("path",),  # it changes for those behind a new one
    "*": ("date_updated",),
}
