"""django-oscar: a visitor registers and orders; the owner ships the order and edits the goods in the dashboard."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.applications.journey import UPLOADS
from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, close_tab, done, goto, new_tab, press, scroll_to, switch_tab, write

BROKEN = Line("link", r"Small grey stove \(broken\)")

JOURNEY = (
    click("link", "Login or register", feedback="navigated to"),
    click("field", "Email address", beside=Line("field", "Confirm password")),
    write("ada@reader.test"),
    click("field", "Password", beside=Line("field", "Confirm password")),
    write("northern-lights-7"),
    click("field", "Confirm password"),
    write("northern-lights-7"),
    click("button", "Register", feedback="navigated to"),
    click("field", "Search"),
    write("tent"),
    click("button", "Search", feedback="navigated to"),
    scroll_to(Line("link", "Large red tent")),
    click("link", "Large red tent", feedback="navigated to"),
    click("button", "Add to cart", feedback="navigated to"),
    click("link", "View cart", feedback="navigated to"),
    click("field", "", value="1"),
    write("2"),
    click("button", "Update"),
    scroll_to(Line("link", "Proceed to checkout")),
    click("link", "Proceed to checkout", feedback="navigated to"),
    click("field", "First name"),
    write("Åse"),
    click("field", "Last name"),
    write("Ødegård"),
    click("field", "First line of address"),
    write("Quay 7"),
    click("field", "City"),
    write("Troms"),
    press("ø", sees=Line("field", "City", "Tromsø")),
    scroll_to(Line("button", "Continue")),
    click("field", "Post/Zip-code"),
    write("9008"),
    click("select", "Country.*"),
    write("Norway"),
    click("button", "Continue", feedback="navigated to"),
    click("link", "Continue", feedback="navigated to"),
    scroll_to(Line("button", "Place order")),
    click("button", "Place order", feedback="navigated to"),
    click("link", "The outfitter", feedback="navigated to"),
    click("link", "Logout", feedback="navigated to"),
    click("link", "Login or register", feedback="navigated to"),
    click("field", "Email address", beside=Line("button", "Log In")),
    write("owner@outfitter.test"),
    click("field", "Password", beside=Line("button", "Log In")),
    write("counter"),
    click("button", "Log In", feedback="navigated to"),
    click("button", "Fulfilment", sees=Line("link", "Orders")),
    click("link", "Orders", feedback="navigated to"),
    click("checkbox", "", beside=Line("link", "100001")),
    click("select", "-- choose new status --"),
    click("option", "Sent"),
    click("button", "Change status", feedback="navigated to"),
    click("button", "Catalog", sees=Line("link", "Products")),
    click("link", "Products", feedback="navigated to"),
    click("field", "Product title:"),
    write("Small grey stove"),
    click("button", "Search", feedback="navigated to"),
    scroll_to(Line("link", "Small grey stove")),
    click("link", "Small grey stove", feedback="navigated to"),
    click("field", "Title"),
    write("Small grey stove, repaired"),
    new_tab(),
    goto("/dashboard/orders/", feedback="navigated to", sees=Line("link", "100001")),
    switch_tab(0, sees=Line("field", "Title", "Small grey stove, repaired")),
    click("field", "Rich Text Area.*", value="A small stove."),
    write("It burns wood.\nIt was repaired."),
    click("link", "Stock and pricing", sees=Line("field", "", "20")),
    click("field", "", value="20"),
    write("7"),
    click("link", "Images", sees=Line("field", "Caption:")),
    click("field", "", value="", beside=Line("link", "Stock and pricing"), feedback="tent.png"),
    write("tent.png", feedback="chose"),
    click("button", "Save", feedback="navigated to"),
    switch_tab(1, sees=Line("link", "100001")),
    close_tab(feedback="Tab 0 .* is active"),
    scroll_to(BROKEN),
    click("button", "Actions", beside=BROKEN, sees=Line("link", "Delete")),
    click("link", "Delete", feedback="navigated to"),
    click("button", "Delete", feedback="navigated to"),
    done("Åse's order is sent, the stove is described anew and has a picture, and the broken one is gone."),
)


def check(running: Running) -> None:
    """The order as it was placed, the stove with its picture, and no broken one."""
    with sqlite3.connect(running.folder / "shop.sqlite3") as database:
        orders = database.execute(
            "select o.status, total_incl_tax, l.title, quantity, first_name, last_name, line1, line4, postcode, "
            "country_id from order_order o join order_line l on l.order_id = o.id "
            "join order_shippingaddress a on a.id = o.shipping_address_id"
        ).fetchall()
        stove = database.execute(
            "select title, description, num_in_stock from catalogue_product p "
            "join partner_stockrecord s on s.product_id = p.id where upc = 'OUT015'"
        ).fetchall()
        images = database.execute(
            "select upc, original from catalogue_productimage i join catalogue_product p on p.id = i.product_id"
        ).fetchall()
        goods = database.execute("select count(*), sum(title like '%broken%') from catalogue_product").fetchone()
    assert orders == [("Sent", 40, "Large red tent", 2, "Åse", "Ødegård", "Quay 7", "Tromsø", "9008", "NO")]
    assert [(title, text.replace("\r\n", ""), stock) for title, text, stock in stove] == [
        ("Small grey stove, repaired", "<p>It burns wood.</p><p>It was repaired.</p>", 7)
    ]
    ((upc, image),) = images
    assert (upc, (running.folder / "media" / image).read_bytes()) == ("OUT015", (UPLOADS / "tent.png").read_bytes())
    assert goods == (24, 0)


APPLICATION = Application(
    command=lambda running: [str(PYTHON), "-m", "django", "runserver", "--noreload", f"127.0.0.1:{running.port}"],
    prepare=lambda running: [
        [str(PYTHON), "-m", "django", "migrate", "-v0"],
        [str(PYTHON), "-m", "shop.seed"],
    ],
    environment=lambda running: {"DJANGO_SETTINGS_MODULE": "shop.settings"},
    code=Path(__file__).parent,
    journey=JOURNEY,
    check=check,
)
