"""The news of the harbour office, in Markdown."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True)
class News:
    """A piece of news: `author` is the user name of its owner, `drawing` the name of its picture (`pictures`)."""

    slug: str
    date: dt.date
    author: str
    title: str
    drawing: str
    intro: str
    body: str
    movable: bool = False
    """Whether its date, its author, and whether it is published differ by seed: no other text depends on them."""


NEWS = (
    News(
        "winter-storm-damage", dt.date(2026, 1, 19), "piet", "What the January storm has left us", "boat",
        "The breakwater held. Two pontoons, eleven lamps and the office's weather vane did not.",
        """
The gale of the 14th blew for nine hours from the south-west. At four in the morning the gauge at the mole showed 1.3 metres above the highest spring tide of last year. The breakwater held, and nothing that was moored with four ropes moved.

## The damage

- Pontoons C and D have lost their walkways. We have closed both until new planks are here.
- Eleven lamps on the west quay are out. Carry a torch.
- The weather vane of the office was found on the roof of the fishmarket. It points to the ground now and will be kept as a souvenir.

Thank you to Dmitri Okafor and Hugo Brennan, who went out at three to put new ropes on a yacht whose owner was in the mountains.
""",
    ),
    News(
        "pontoon-c-open", dt.date(2026, 2, 2), "piet", "Pontoon C is open again", "boat",
        "The new walkway is larch, two hands wider than the old one, and does not squeak yet.",
        """
Berths 60 to 71 may be used again. Pontoon D follows when the second load of planks has come; the sawmill says in the middle of April.

The planks are not painted and will be slippery until they have weathered. Children wear life jackets on it, as the [rules of the harbour](/harbour/rules/) say anyway.
""",
    ),
    News(
        "west-quay-lamps", dt.date(2026, 2, 9), "piet", "Light on the west quay", "lighthouse",
        "All eleven lamps burn again. They are warmer, lower, and leave the stars alone.",
        """
Since Friday all lamps of the west quay are on again. They have shades now, so that they light the stones and not the cabins, and they go down to a third between eleven and five.

If one flickers, tell the workshop its number. It stands on the post at the height of your knee.
""",
    ),
    News(
        "spring-prices", dt.date(2026, 3, 3), "dana", "Spring prices for berths", "quay",
        "From the first of April a night costs $2.40 per metre. The first week of April stays at the old price.",
        """
From the first of April a night on a visitors' berth costs **$2.40** per metre of length. In the first week of April, to the 7th, we still charge the old price of $2.10.

Water, showers and the waste station stay in the price. Electricity is read from the meter when you leave. All other prices are unchanged; the [list](/harbour/prices/) has them.

## Why it costs more

The new walkways of pontoons C and D cost $38,000, of which the insurance pays half. Thirty cents per metre bring in the rest in four summers.
""",
    ),
    News(
        "water-off", dt.date(2026, 3, 2), "dana", "Water is off on Wednesday morning", "tap",
        "The pipe on the east quay is replaced on Wednesday, 4 March, between seven and eleven.",
        """
The pipe on the east quay is sixty years old and has earned its rest. It is replaced on Wednesday, 4 March, **between seven and eleven in the morning**. Fill your tanks on Tuesday.

The showers of the east quay are closed for these hours too. Those at the office stay open, and there is coffee.
""",
    ),
    News(
        "lost-and-found", dt.date(2026, 3, 4), "piet", "Lost and found, March", "gull",
        "One glove, a child's cap with an anchor, and a bunch of four keys wait at the office.",
        """
These things were brought to the office and wait on the shelf behind the door:

- one glove, left, leather, nearly new;
- a child's cap with an anchor;
- a bunch of four keys, one of them for a padlock.

The very wet book about bees has found its owner: Ines Kowalski has asked us to keep it. It dries on the radiator and may be read there.

After three months we give things to the sailing school. Keys go to the police.
""",
    ),
    News(
        "new-pipe", dt.date(2026, 3, 5), "dana", "The east quay has its water back", "tap",
        "It was done at half past nine, an hour and a half early. Let the tap run for a minute.",
        """
The new pipe was closed at half past nine on Wednesday, an hour and a half before the time that we had named. Let the tap run for a minute until the air and the brown water are out.

The pressure is higher than before. Please hold the hose before you open the tap; the first three boats did not.
""",
    ),
    News(
        "slipway-sign", dt.date(2026, 3, 9), "dana", "The slipway is for landing, not for parking", "boat",
        "There is a sign now. Dinghies that lie on the slipway at half past five spend the night behind the office.",
        """
Every evening up to six dinghies lie on the slipway, and Farid Novak's students cannot land. There is a sign now, and since a sign alone has changed little, there is also a new rule.

Piet Vermeer comes by at half past five with the trolley. What is not gone by then spends the night behind the office, at $5 a boat. Whoever thinks that this is unjust may [write to us](/contact/).
""",
    ),
    News(
        "crane-calendar", dt.date(2026, 3, 11), "piet", "Book the crane early this spring", "crane",
        "The crane works on weekdays from eight to four. Book two days ahead, in May three.",
        """
The first boats want to go in, and everyone wants to go in on the Friday before Easter. The crane works **on weekdays from eight to four, in half-hour slots**. Book two days ahead, and three days ahead in May.

A lift takes one slot if the mast is down and the slings are where they belong. If either is not so, book two. All that you need to know is on the page [crane and slipway](/harbour/crane/).

On Wednesday, 18 March, the inspector comes: no lift from one to four.
""",
    ),
    News(
        "gulls", dt.date(2026, 3, 13), "piet", "Please do not feed the gulls", "gull",
        "They can open bags, boxes and, since Tuesday, the door of the fishmarket.",
        """
The gulls learn faster than we do. They can open bags, lunch boxes and, since Tuesday, the sliding door of the fishmarket, which has a handle at the wrong height.

Feeding them is not forbidden, only unwise. Put your rubbish into the bins with the heavy lids, and eat with your back to a wall.
""",
    ),
    News(
        "shower-tiles", dt.date(2026, 1, 26), "dana", "New tiles in the showers", "tap",
        "They are blue, rough under the foot, and the drain is where the water goes at last.",
        """
The showers of the east quay have new tiles. They are blue and rough under the foot, and the floor leans towards the drain and no longer towards the door.

The joints need some weeks to harden. Please use no bleach on them, and tell the office if one comes loose.
""",
        movable=True,
    ),
    News(
        "library-shelf", dt.date(2026, 1, 30), "dana", "A shelf of books in the office", "quay",
        "Take one, bring one. Eleven are about whales, and one is about taxes.",
        """
Esther Tanaka has filled the shelf beside the heater of the office with 62 books. You may take one home without a form, as long as another one takes its place.

Eleven are about whales. The one about taxes has been there longest.
""",
        movable=True,
    ),
    News(
        "depth-soundings", dt.date(2026, 2, 4), "piet", "How deep the harbour is now", "boat",
        "We have measured at 48 places. Two of them are not what the chart says.",
        """
Piet Vermeer and Hugo Brennan have measured the depth at 48 places, with a lead line and at the lowest tide that they could get. In front of the fuel berth there are 2.6 metres, and at the root of pontoon E only 1.4.

The list hangs in the office. The chart will follow, as it does, in two years.
""",
        movable=True,
    ),
    News(
        "bicycle-racks", dt.date(2026, 2, 13), "dana", "Racks for bicycles at both gates", "quay",
        "Twenty places, under a roof, and a pump on a chain.",
        """
There are ten places at each gate now, under a roof. The pump hangs on a chain, because the last one went to sea.

Bicycles without air and without an owner are collected in May. We tie a ribbon to each of them before.
""",
        movable=True,
    ),
    News(
        "new-trolley", dt.date(2026, 2, 18), "piet", "A trolley that goes where you push it", "boat",
        "It carries 300 kilograms, has four wheels, and all of them turn.",
        """
The new trolley stands at the gate of the east quay. It carries 300 kilograms and wants to be brought back, with the handle up, so that the next one sees it.

The old trolley has retired to the sailing school, where going in circles is a part of the lesson.
""",
        movable=True,
    ),
    News(
        "seal-on-pontoon", dt.date(2026, 2, 23), "piet", "A seal sleeps on pontoon E", "gull",
        "It weighs more than you, it was there before you, and it leaves with the tide.",
        """
A young seal has chosen the end of pontoon E for the hours around low water. Walk on the other side, keep dogs on a leash, and do not take its picture from nearer than five metres.

It leaves by itself when the water comes. If it seems ill, call the office and not the fishmarket.
""",
        movable=True,
    ),
    News(
        "quiet-hours", dt.date(2026, 2, 27), "dana", "Generators are silent from eight", "lighthouse",
        "The harbour master has read nineteen letters about one generator.",
        """
The harbour master has read nineteen letters about one generator. From now on generators are silent from eight in the evening to eight in the morning, on all quays.

There is a socket at every second berth. Those who have no cable may borrow one at the office against a signature.
""",
        movable=True,
    ),
    News(
        "weather-screen", dt.date(2026, 3, 6), "piet", "The weather is in the window", "lighthouse",
        "Wind, pressure and tide, on a screen that can be read in the rain.",
        """
In the window of the office hangs a screen with wind, pressure and tide. It is read from the mast on the mole and renews itself every ten minutes, also at night.

The barometer of the harbour master still hangs beside it. If the two differ, believe the barometer.
""",
        movable=True,
    ),
    News(
        "rope-recycling", dt.date(2026, 3, 10), "dana", "Old ropes become doormats", "rope",
        "Bring what you no longer trust. The fourth class knots mats from it.",
        """
A box for old ropes stands in the hall of the office. The fourth class knots doormats from them and sells these at the open day, for a trip to the island.

Ropes must be dry, and free of tar and hooks. Wire goes to the workshop.
""",
        movable=True,
    ),
)  # fmt: skip
