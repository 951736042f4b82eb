"""What is booked in the harbour's calendars."""

from __future__ import annotations

from dataclasses import dataclass

CALENDARS = (
    ("Crane", "crane"),
    ("Visitor berths", "visitor-berths"),
    ("Harbour office", "harbour-office"),
    ("Sailing school", "sailing-school"),
)


@dataclass(frozen=True)
class Window:
    """When an event may be in a seed: at one of these times, on one of these weekdays (Monday is 0)."""

    begins: tuple[str, ...]
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4)


EVERY_DAY, WEEKEND = (0, 1, 2, 3, 4, 5, 6), (5, 6)
LIFT = Window(tuple(f"{minutes // 60:02}:{minutes % 60:02}" for minutes in range(8 * 60 + 30, 15 * 60, 30)))
MORNING = Window(("08:30", "09:00", "09:30", "10:00", "10:30"))
AFTERNOON = Window(("13:30", "14:00", "14:30", "15:00", "16:00"))
EVENING = Window(("18:30", "19:00", "19:30"))
WEEKENDS = Window(("10:00", "10:30", "13:00", "14:00"), WEEKEND)
ARRIVAL = Window(("12:00", "14:00", "15:00", "16:00", "18:00"), EVERY_DAY)


@dataclass(frozen=True)
class Booking:
    """An event: times are `2026-03-18 09:00`."""

    calendar: str
    booked_by: str
    title: str
    description: str
    start: str
    end: str
    weekly: bool = False
    until: str | None = None
    """The last day of a weekly event; None if it has no end."""
    window: Window | None = None
    """When it may be in a seed, which may also leave it out; None if letters, news or topics name its time."""


@dataclass(frozen=True)
class Announced:
    """An event that a topic of the forum announces: on the first such weekday (Monday is 0) after the topic."""

    calendar: str
    booked_by: str
    title: str
    description: str
    topic: str
    weekday: int
    start: str
    end: str
    weekly: bool = False


ANNOUNCED = (
    Announced(
        "harbour-office",
        "dana",
        "Water off on the east quay",
        "The pipe is replaced. Showers at the office stay open; those of the east quay are closed.",
        "Water is off on Wednesday morning",
        2,
        "07:00",
        "11:00",
    ),
    Announced(
        "harbour-office",
        "chiara",
        "Film night in the sail loft",
        "It is about a lighthouse. Bring a cushion.",
        "Film night in the sail loft",
        4,
        "20:00",
        "22:30",
    ),
    Announced(
        "harbour-office",
        "esther",
        "Language table: Spanish",
        "In the office, at the long table by the window. Beginners welcome, mistakes too.",
        "Language table on Mondays",
        0,
        "18:00",
        "19:30",
        weekly=True,
    ),
)
BOOKINGS = (
    Booking(
        "crane",
        "piet",
        "Crane: grease and test run",
        "Before the first lift of the week. No boat in the slings.",
        "2026-03-02 08:00",
        "2026-03-02 08:30",
        weekly=True,
    ),
    Booking(
        "crane",
        "bruno",
        "Lift Bluebell, 2.4 t",
        "Antifouling. Stands on the trolley until Friday.",
        "2026-03-16 13:00",
        "2026-03-16 14:00",
    ),
    Booking(
        "crane",
        "hugo",
        "Launch Kittiwake, 4.8 t",
        "Piet listens to the engine afterwards, run it warm.",
        "2026-03-17 08:30",
        "2026-03-17 09:30",
    ),
    Booking(
        "crane",
        "jonas",
        "Step the mast of Sandpiper",
        "Mast of 11.4 m. Two helpers on deck.",
        "2026-03-17 14:00",
        "2026-03-17 15:30",
        window=LIFT,
    ),
    Booking(
        "crane",
        "alice",
        "Marigold, 3.6 t: propeller anode",
        "Hangs in the slings, twenty minutes of work. Tanks are empty.",
        "2026-03-18 09:00",
        "2026-03-18 09:30",
    ),
    Booking(
        "crane",
        "piet",
        "Inspection, crane out of service",
        "The inspector needs the slings too. No lift until four.",
        "2026-03-18 13:00",
        "2026-03-18 16:00",
    ),
    Booking(
        "crane",
        "farid",
        "Lift the school's safety boat, 1.1 t",
        "New propeller guard.",
        "2026-03-19 08:30",
        "2026-03-19 09:30",
        window=LIFT,
    ),
    Booking(
        "crane",
        "dmitri",
        "Lift to look at blisters, 5.2 t",
        "Piet measures how wet the hull is. Nothing is sanded before.",
        "2026-03-20 10:00",
        "2026-03-20 11:00",
    ),
    Booking(
        "crane",
        "farid",
        "Launch three rowing boats of the school",
        "0.2 t each, one after the other.",
        "2026-03-23 09:00",
        "2026-03-23 10:30",
        window=LIFT,
    ),
    Booking(
        "crane",
        "jonas",
        "Unstep the mast of Corrie",
        "Standing rigging of 1984. Bruno looks at the terminals.",
        "2026-03-25 11:00",
        "2026-03-25 12:00",
    ),
    Booking(
        "crane", "bruno", "Launch Bluebell, 2.4 t", "With two coats of red.", "2026-03-20 14:00", "2026-03-20 14:30"
    ),
    Booking(
        "visitor-berths",
        "dana",
        "Berth 31: ketch Halcyon, 12.1 m",
        "From Westport, two adults. Paid in advance.",
        "2026-03-14 15:00",
        "2026-03-19 11:00",
        window=ARRIVAL,
    ),
    Booking(
        "visitor-berths",
        "piet",
        "Berth 32: sloop Wren, 8.4 m",
        "One adult and a dog. Asked for the quiet end.",
        "2026-03-16 12:00",
        "2026-03-18 11:00",
        window=ARRIVAL,
    ),
    Booking(
        "visitor-berths",
        "dana",
        "Berth 33: cutter Anselm, 10.6 m",
        "Crew of four. Electricity by the meter, 412 kWh on arrival.",
        "2026-03-17 16:00",
        "2026-03-22 11:00",
        window=ARRIVAL,
    ),
    Booking(
        "visitor-berths",
        "piet",
        "Berth 34: motor boat Juno, 7.2 m",
        "Needs the socket near the steps.",
        "2026-03-20 14:00",
        "2026-03-23 11:00",
        window=ARRIVAL,
    ),
    Booking(
        "visitor-berths",
        "dana",
        "Berth 31: sloop Merganser, 11.3 m",
        "From Sandness. Draught 2.1 m, so not at low water.",
        "2026-03-20 15:00",
        "2026-03-27 11:00",
        window=ARRIVAL,
    ),
    Booking(
        "visitor-berths",
        "dana",
        "Berth 35: kept for the pilot boat",
        "Every Friday from six to six.",
        "2026-03-06 06:00",
        "2026-03-06 18:00",
        weekly=True,
    ),
    Booking(
        "visitor-berths",
        "bruno",
        "Berth 33: trimaran Loon, 9.8 m",
        "Bruno's cousins, over Easter. Still at the old price, $2.10 a metre.",
        "2026-04-03 14:00",
        "2026-04-06 12:00",
    ),
    Booking(
        "visitor-berths",
        "dana",
        "Berth 36: school ship Fair Isle, 18 m",
        "Twenty cadets. Water and the waste station on the first evening.",
        "2026-04-10 15:00",
        "2026-04-13 10:00",
        window=ARRIVAL,
    ),
    Booking(
        "harbour-office",
        "chiara",
        "Second film night in the sail loft",
        "There is a whale in it. Alice brings the projector.",
        "2026-03-20 20:00",
        "2026-03-20 22:30",
    ),
    Booking(
        "harbour-office",
        "dana",
        "Berth holders' meeting",
        "Prices, dinghies on the slipway, the new pipe. Coffee is there.",
        "2026-03-25 19:00",
        "2026-03-25 20:30",
        window=EVENING,
    ),
    Booking(
        "harbour-office",
        "ines",
        "Clean-up of the shore with the school",
        "Meet at the slipway. Gloves come from Bruno's loft.",
        "2026-03-28 10:00",
        "2026-03-28 13:00",
    ),
    Booking(
        "harbour-office",
        "piet",
        "Meters of all berths are read",
        "Please leave the boxes unlocked.",
        "2026-03-31 09:00",
        "2026-03-31 12:00",
        window=MORNING,
    ),
    Booking(
        "harbour-office",
        "dana",
        "Spring prices begin",
        "A night costs $2.40 per metre. The first week stays at the old price.",
        "2026-04-01 08:00",
        "2026-04-01 08:30",
    ),
    Booking(
        "harbour-office",
        "piet",
        "Electrician on berth 22",
        "The breaker does not stay in. After the crane's inspection.",
        "2026-03-18 16:00",
        "2026-03-18 17:00",
    ),
    Booking(
        "harbour-office",
        "piet",
        "Waste oil is collected",
        "At the waste station, in closed cans.",
        "2026-03-19 10:00",
        "2026-03-19 12:00",
        window=MORNING,
    ),
    Booking(
        "harbour-office",
        "piet",
        "Round of the quays",
        "Lines, fenders, extinguishers.",
        "2026-03-06 15:00",
        "2026-03-06 16:00",
        weekly=True,
        window=AFTERNOON,
    ),
    Booking(
        "sailing-school",
        "farid",
        "Youth dinghies, group A",
        "Eight boats, ages ten to fourteen. Life jackets from the shed.",
        "2026-03-04 16:00",
        "2026-03-04 18:00",
        weekly=True,
        until="2026-06-24",
        window=AFTERNOON,
    ),
    Booking(
        "sailing-school",
        "farid",
        "Beginners on the water",
        "Towels and a second pair of socks.",
        "2026-03-07 10:00",
        "2026-03-07 12:30",
        weekly=True,
        until="2026-05-30",
    ),
    Booking(
        "sailing-school",
        "dmitri",
        "Radio practice",
        "Spelling alphabet, distress calls, and when to be silent.",
        "2026-03-10 19:00",
        "2026-03-10 20:00",
        weekly=True,
        until="2026-03-31",
        window=EVENING,
    ),
    Booking(
        "sailing-school",
        "greta",
        "Knots and splices",
        "Bring two metres of three-strand rope.",
        "2026-03-19 18:30",
        "2026-03-19 20:00",
    ),
    Booking(
        "sailing-school",
        "hugo",
        "Charts and tides, an evening",
        "With the tide tables for the year and a sharp pencil.",
        "2026-03-24 19:00",
        "2026-03-24 21:00",
        window=EVENING,
    ),
    Booking(
        "sailing-school",
        "farid",
        "Check of the life jackets",
        "First day of the children's course. Ten new jackets, if they are there.",
        "2026-04-04 09:00",
        "2026-04-04 10:00",
    ),
    Booking(
        "sailing-school",
        "farid",
        "Capsize drill",
        "In the pool. Dry clothes for afterwards.",
        "2026-04-11 14:00",
        "2026-04-11 16:00",
        window=WEEKENDS,
    ),
)
