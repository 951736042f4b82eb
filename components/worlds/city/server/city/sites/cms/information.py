"""The pages that change little: the harbour, its staff, its forms; in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

HOME_INTRO = "A small harbour with deep water, a crane, and two people in the office who answer the telephone."
HOME_BODY = """
You find us behind the breakwater, east of the Head, with 140 berths on two quays and five pontoons. Visitors lie on the east quay, near the showers.

If you come by sea, call the office at 555-0190 or on channel 12. If you come by land, follow Customs Quay to its end, where the road is wet.
"""


@dataclass(frozen=True)
class Information:
    """A page of text below the section `harbour`."""

    slug: str
    author: str
    title: str
    drawing: str | None
    intro: str
    body: str


INFORMATION = (
    Information(
        "rules", "dana", "Rules of the harbour", None,
        "Eleven rules. The tenth was added after the summer of 2019.",
        """
1. Three knots inside the breakwater, for everyone, also when you are late.
2. Report to the office within an hour of your arrival, or leave a note in the box at the door.
3. Visitors stay seven nights at most from April to September, and twenty-one in the other months. Longer stays need the harbour master's word.
4. Four ropes and a fender on each side are the least.
5. Tie down your halyards. The harbour sleeps from eleven to six.
6. Nothing goes over the side: no oil, no paint, no food. All of it belongs to the waste station.
7. Hulls are sanded on the quay only with suction and with a sheet below. Antifouling dust must not reach the water.
8. The slipway is kept free for landing. A dinghy that lies on it at half past five spends the night behind the office, at $5.
9. Children under twelve wear life jackets on quays and pontoons.
10. Fireworks, drones and bagpipes need the consent of the harbour master.
11. Help when you are called. You will be the one who calls.
""",
    ),
    Information(
        "visitors", "dana", "For visitors", "quay",
        "Where you may lie, for how long, and what is in the price.",
        """
Visitors' berths are numbered 31 to 44 and lie on the east quay. A green plate means free, a red one means that the owner is back tonight.

## How long you may stay

Seven nights from April to September, twenty-one in the other months. If you want to stay longer, write to the harbour master before you come; she says yes more often than people think.

## What is in the price

Water, showers and the waste station. Electricity is read from the meter at departure. The key of the showers is at the office; a lost one costs $5.

The current price per metre is on the [list of prices](/harbour/prices/).
""",
    ),
    Information(
        "crane", "piet", "Crane and slipway", "crane",
        "What the crane lifts, when it works, and how you book it.",
        """
The crane lifts **six tonnes** and works on weekdays from eight to four, in half-hour slots. Book two days ahead, three in May: in the [calendar](http://calendar.test/), or at the [desk](http://desk.test/), in the queue Workshop, with the weight of your boat and the word on the mast.

## Before the lift

- The mast is down, or you have told us that it is not.
- You know where the slings go. If there is no mark on the rail, we make one.
- The crew stands where Piet Vermeer tells them to.

## The slipway

Trailers up to 1.5 tonnes may use it at half tide and above, without booking. It is free of charge, and it must stay free: no dinghies in the evening.
""",
    ),
    Information(
        "waste", "piet", "Waste and waste water", None,
        "What goes where, and where the key is.",
        """
The station stands at the root of the east quay. The bins and the pump can be used day and night; the shed is locked.

- **Oil and filters:** the blue drum in the shed, lid closed. The key is at the office.
- **Batteries, flares, paint:** hand them over at the workshop. Flares must not go into any bin.
- **Waste water:** the pump is beside berth 1. It is free of charge; rinse it for the next boat.
- **Glass, paper, the rest:** the bins with the heavy lids. They are heavy because of the gulls.
""",
    ),
    Information(
        "getting-here", "dana", "Getting here", "lighthouse",
        "By sea, by train, and on foot from the station in eleven minutes.",
        """
## By sea

The light on the mole shows one white flash in five seconds. Keep it on your port side and stay clear of the gull rock, which is wider below than above. In the entrance there are 3.2 metres at the lowest tide.

## By land

From the station go down Mill Hill to Chapel Rise, past the fishmarket, and along Customs Quay to its end. The office is the yellow house, 1 Harbour Office. There are nine parking places; they are taken.
""",
    ),
    Information(
        "firms", "dana", "Firms on the quay", "rope",
        "Who sells, mends and teaches between the fishmarket and the mole.",
        """
- **Harbour Chandlery:** boats, ropes and weatherproof things, also [by mail](http://shop.test/).
- **Achterberg Rigging:** Bruno Achterberg, 3 Ropewalk, 555-0103. Standing and running rigging.
- **Sailing school:** Farid Novak, 5 Breakwater Road, 555-0105. Courses for children and for those who thought it too late.
- **Harbour workshop:** engines, winches, the crane. Ask Piet Vermeer.

Boats and gear of all kinds change hands in the [forum](http://forum.test/), under *Buy and sell*.
""",
    ),
)  # fmt: skip

HOURS_INTRO = "Outside these hours call channel 12; someone is always on watch."
HOURS_BODY = "On public holidays the office opens at ten and the crane rests. The fuel berth takes cards and cash, but no cheques."
HOURS = (
    ("Harbour office", "Monday to Friday", "08:00", "17:00", ""),
    ("Harbour office", "Saturday", "09:00", "12:00", ""),
    ("Harbour office", "Sunday", None, None, "From May to September nine to twelve"),
    ("Workshop", "Monday to Friday", "08:00", "16:00", "Lunch from twelve to half past"),
    ("Crane", "Monday to Friday", "08:00", "16:00", "In half-hour slots, booked ahead"),
    ("Fuel berth", "Every day", "07:00", "19:00", "Diesel and petrol"),
    ("Showers, east quay", "Every day", "06:00", "23:00", "With a key from the office"),
)
"""Place, days, opens, closes (None: closed), note."""

PRICES_INTRO = "In dollars, with tax. Water, showers and the waste station are in the price of a berth."
PRICES_BODY = (
    "Owners of a yearly berth pay half for the crane in October and November. Pay at the office, by card or in cash."
)
PRICES = (
    ("Visitors' berth, to 7 April", "2.10", "per metre and night", ""),
    ("Visitors' berth, from 8 April", "2.40", "per metre and night", "The new spring price"),
    ("Yearly berth", "195.00", "per metre and year", "There is a list of waiting"),
    ("Electricity", "0.34", "per kWh", "Read from the meter at departure"),
    ("Crane", "45.00", "per half-hour slot", "Up to six tonnes"),
    ("Pressure washer", "20.00", "per half hour", "On the washing place only"),
    ("Lost key of the showers", "5.00", "each", ""),
    ("Dinghy taken from the slipway", "5.00", "per boat and night", "Fetch it behind the office"),
    ("Antifouling, one coat", "19.00", "per metre", "Washing is in it; you bring the paint"),
    ("Storage of a mast", "3.50", "per metre and month", "October to April"),
)
"""Service, amount, unit, note."""


@dataclass(frozen=True)
class Staff:
    """A page on a person of the office; `username` is the account."""

    slug: str
    username: str
    name: str
    job_title: str
    phone: str
    colours: tuple[str, str]
    """Of hair and pullover, in the portrait."""
    intro: str
    body: str


STAFF = (
    Staff(
        "ada-mint", "admin", "Ada Mint", "Harbour master", "555-0189", ("#8d8f94", "#1f3d5c"),
        "Sailed cargo for twenty years and has had enough of clocks that strike at night.",
        """
Ada Mint came to the harbour in 2014 with one suitcase and a barometer. She decides on long stays, on the order of the berths, and on fireworks, drones and bagpipes.

Her door is open on Thursdays from two to four. At other times she is on the launch, where she can be waved at.
""",
    ),
    Staff(
        "dana-whitlock", "dana", "Dana Whitlock", "Harbour office", "555-0190", ("#5b3a21", "#b5503c"),
        "Knows which boat lies where, who owes for electricity, and whose parcel stands behind the door.",
        """
Dana Whitlock answers the telephone, the radio, the desk, and the questions that children ask through the window. She keeps the berths, the bills and this web site.

She was born on the east quay, or as near to it as the tide allowed, and rows to work when the bridge is up.
""",
    ),
    Staff(
        "piet-vermeer", "piet", "Piet Vermeer", "Workshop and crane", "555-0191", ("#c9a24b", "#3f6b4f"),
        "Lifts boats, listens to engines, and finds the screw that was in the lid.",
        """
Piet Vermeer has driven the crane since it was painted green. He mends winches, trailers and engines, and lends tools to those who bring the last one back.

In the workshop from eight to four. Do not speak to him while a boat is in the air.
""",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A form: `fields` are (label, kind, required, choices)."""

    slug: str
    title: str
    intro: str
    thanks: str
    fields: tuple[tuple[str, str, bool, str], ...]


FORMS = (
    Form(
        "contact", "Contact",
        "Write to us. We answer within two working days, in the season within three. In an emergency do not write: call channel 12.",
        "Thank you. Your message lies on the desk of the office, on top.",
        (
            ("Name", "singleline", True, ""),
            ("Email", "email", True, ""),
            ("Subject", "dropdown", True, "Berths,Crane and workshop,Lost and found,Something else"),
            ("Message", "multiline", True, ""),
        ),
    ),
    Form(
        "clean-up-registration", "Clean-up: say that you come",
        "Saturday, 28 March, at ten, at the slipway. We need the number for the soup.",
        "Thank you. The soup grows with you.",
        (
            ("Name", "singleline", True, ""),
            ("Persons", "number", True, ""),
            ("Vegetarian soup", "checkbox", False, ""),
        ),
    ),
)  # fmt: skip
