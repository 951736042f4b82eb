"""What people wrote to the desk, and what they were answered."""

from __future__ import annotations

from dataclasses import dataclass

QUEUES = (("Orders", "orders"), ("Berths", "berths"), ("Workshop", "workshop"))
ARTICLES = (
    (
        "Returns",
        "How do I return an article?",
        "Within thirty days, unused, with the receipt. Write to the queue Orders and name the order's number; you get a label by mail.",
    ),
    (
        "Returns",
        "Who pays for the return?",
        "We do if the article was faulty or wrong. Otherwise the label costs $6.50, which we keep back from the refund.",
    ),
    (
        "Berths",
        "How long may a visitor stay?",
        "Seven nights from April to September, twenty-one in the other months. Longer stays need the harbour master's word.",
    ),
    (
        "Berths",
        "What is in the price of a berth?",
        "Water, showers and the waste station. Electricity is read from the meter at departure.",
    ),
    (
        "Workshop",
        "When is the crane free?",
        "Weekdays from eight to four, in half-hour slots. Book two days ahead, three in May.",
    ),
    (
        "Workshop",
        "May I sand my hull on the quay?",
        "Only with suction and a sheet below. Antifouling dust must not reach the water.",
    ),
)


@dataclass(frozen=True)
class Ticket:
    """A ticket: `answers` are (username, text)."""

    queue: str
    username: str
    title: str
    text: str
    priority: int
    status: str
    """open, reopened, resolved or closed."""
    assigned: str | None = None
    answers: tuple[tuple[str, str], ...] = ()


TICKETS = (
    Ticket(
        "orders",
        "alice",
        "The eye of my mooring rope is torn",
        "The rope came on Friday. The splice opens when I pull it by hand, so it will not hold a boat. I would like another one, not the money.",
        2,
        "open",
        "dana",
    ),
    Ticket(
        "orders",
        "bruno",
        "Invoice without our company's name",
        "We need the name Achterberg Rigging on the invoice for the last order. The tax office is strict about it.",
        4,
        "open",
    ),
    Ticket(
        "orders",
        "chiara",
        "Wrong size of gloves",
        "I ordered medium and got small. They are unworn. Can you send medium before the weekend?",
        3,
        "open",
        "piet",
        (("piet", "Medium is in stock. Please send the small pair back; I put a label into your account."),),
    ),
    Ticket(
        "orders",
        "dmitri",
        "Parcel left in the rain",
        "The driver put the box on the steps although I had asked for the harbour office. The charts inside are wavy now.",
        2,
        "reopened",
        "dana",
        (
            ("dana", "We are sorry. We have asked the carrier."),
            ("dmitri", "That was a week ago. What did the carrier say?"),
        ),
    ),
    Ticket(
        "orders",
        "esther",
        "Two kettles instead of one",
        "I find two kettles in the box and on the bill. I ordered one.",
        3,
        "resolved",
        "dana",
        (("dana", "Our mistake. Keep the second one, the money is on its way back."),),
    ),
    Ticket(
        "orders",
        "farid",
        "Discount for the sailing school",
        "We will buy ten child's life jackets in April. Is there a price for schools?",
        4,
        "open",
    ),
    Ticket(
        "orders",
        "greta",
        "Cancel my order",
        "I ordered the two-burner stove yesterday, but it does not fit. Please cancel before it is sent.",
        1,
        "open",
    ),
    Ticket("orders", "hugo", "Where is my order?", "It says Being processed for nine days now.", 3, "open", "piet"),
    Ticket(
        "orders", "ines", "Thank you", "The varnish is as good as you said. No need to answer.", 5, "closed", "piet"
    ),
    Ticket(
        "orders",
        "jonas",
        "Missing screws",
        "The folding anchor came without the two screws of the shackle.",
        3,
        "resolved",
        "piet",
        (("piet", "They were in the lid. Did you find them?"), ("jonas", "Yes, thank you.")),
    ),
    Ticket(
        "berths",
        "alice",
        "Berth for five nights in June",
        "We arrive on the 8th with 9.2 metres and a draught of 1.6. Is there a place near the showers?",
        3,
        "open",
    ),
    Ticket(
        "berths",
        "bruno",
        "Neighbour's halyard",
        "The halyard of the boat on berth 14 beats all night. Could somebody tie it down?",
        4,
        "resolved",
        "dana",
        (("dana", "Done this morning. Sleep well."),),
    ),
    Ticket(
        "berths",
        "chiara",
        "Electricity on berth 22",
        "The socket is dead since Sunday. The breaker does not stay in.",
        1,
        "open",
    ),
    Ticket(
        "berths",
        "dmitri",
        "Longer stay in autumn",
        "We would like to leave the boat here for the whole of October while we are abroad. Does the harbour master agree?",
        3,
        "open",
        "dana",
    ),
    Ticket(
        "berths",
        "esther",
        "Lost key of the shower",
        "I think it went overboard. What does a new one cost?",
        4,
        "resolved",
        "piet",
        (("piet", "$5, at the office."),),
    ),
    Ticket(
        "berths",
        "farid",
        "Dinghies on the slipway",
        "Six dinghies block it every evening. My students cannot land.",
        2,
        "reopened",
        "dana",
        (("dana", "There is a sign now."), ("farid", "The sign is there, and so are the dinghies.")),
    ),
    Ticket(
        "berths",
        "hugo",
        "Refund for two nights",
        "We left on the 3rd, but paid until the 5th because of the forecast. Is there a refund?",
        4,
        "open",
    ),
    Ticket(
        "workshop",
        "greta",
        "Crane on Thursday",
        "I need the crane for 3.1 tonnes on Thursday at ten. The mast will be down.",
        2,
        "open",
        "piet",
    ),
    Ticket(
        "workshop",
        "hugo",
        "Noise from the engine",
        "A knocking at 1,800 turns, only when it is warm. Could somebody listen to it?",
        2,
        "open",
    ),
    Ticket(
        "workshop",
        "ines",
        "Winch sticks",
        "The port winch turns only one way. I have greased it already.",
        3,
        "open",
        "piet",
        (("piet", "Bring it on Tuesday, it takes half an hour."),),
    ),
    Ticket(
        "workshop",
        "jonas",
        "Quote for a new standing rigging",
        "For a sloop of 28 feet, built in 1984. The wires are original.",
        3,
        "open",
    ),
    Ticket(
        "workshop",
        "alice",
        "Propeller anode",
        "Please change it at the next lift. The last one held two years.",
        5,
        "closed",
        "piet",
    ),
    Ticket(
        "workshop",
        "bruno",
        "Trailer lights",
        "The left light flickers since you had it in.",
        3,
        "reopened",
        "piet",
        (("piet", "We found nothing."), ("bruno", "It flickers again.")),
    ),
    Ticket(
        "workshop",
        "dmitri",
        "Osmosis?",
        "Small blisters below the waterline, about thirty. I attach no picture, they are hard to see.",
        2,
        "open",
    ),
)
