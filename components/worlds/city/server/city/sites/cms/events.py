"""The notices of events, in Markdown."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


def _at(month: int, day: int, hour: int, minute: int = 0) -> dt.datetime:
    return dt.datetime(2026, month, day, hour, minute, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Event:
    """A notice: `author` is the user name of its owner, `drawing` the name of its picture (`pictures`)."""

    slug: str
    begins: dt.datetime
    ends: dt.datetime
    place: str
    organiser: str
    fee: str
    author: str
    title: str
    drawing: str
    intro: str
    body: str


EVENTS = (
    Event(
        "first-film-night", _at(3, 6, 20), _at(3, 6, 22, 30), "Sail loft", "Chiara Lindqvist", "0", "dana",
        "Film night in the sail loft", "film",
        "Friday at eight. The film is about a lighthouse; more is not told.",
        """
Chiara Lindqvist brings the film, the sail loft has the screen: the old mainsail of a ketch, washed. The film is about a lighthouse, and she says no more.

Bring a cushion. The floor is swept but it is a floor.
""",
    ),
    Event(
        "knots", _at(3, 19, 18, 30), _at(3, 19, 20), "Sail loft", "Greta Silva", "0", "dana",
        "Knots and splices", "rope",
        "Six knots and a splice in an hour and a half, and one that holds a hammock.",
        """
Greta Silva shows the six knots with which she has sailed for thirty years. Each has one use, and you will tie each behind your back before you leave. The sailing school invites everyone.

Bring two metres of three-strand rope.
""",
    ),
    Event(
        "language-table", _at(3, 16, 18), _at(3, 16, 19, 30), "Harbour office", "Esther Tanaka", "0", "dana",
        "Language table: Spanish", "quay",
        "Every Monday at six in the office. Beginners are welcome, mistakes too.",
        """
Esther Tanaka sets the table every Monday at six in the harbour office: Spanish for an hour and a half, with biscuits. Beginners are welcome, and so are mistakes.

Nothing has to be booked. Ring twice, the door is locked after five.
""",
    ),
    Event(
        "film-night", _at(3, 20, 20), _at(3, 20, 22, 30), "Sail loft", "Chiara Lindqvist", "0", "dana",
        "Second film night in the sail loft", "film",
        "Friday at eight, again. There is a whale in it.",
        """
After the lighthouse comes the whale. Alice Moreno brings the projector, and the screen is the old mainsail again, mended where the light came through.

Bring a cushion, and a second one for whoever forgot theirs last time.
""",
    ),
    Event(
        "clean-up", _at(3, 28, 10), _at(3, 28, 13), "Slipway", "Ines Kowalski", "0", "dana",
        "Clean-up of the shore", "quay",
        "With the school's children. Say beforehand that you come, so that the soup is enough.",
        """
Once a year we take out of the harbour what does not belong in it. Last year that was four bicycles, a sink, and 210 kilograms of rope.

We meet at ten at the slipway, with the children of the school. Gloves come from Bruno Achterberg's loft, bags and nets from the workshop. At one there is soup for all who have [registered](/clean-up-registration/).
""",
    ),
    Event(
        "sailing-school", _at(4, 18, 13), _at(4, 18, 17), "Slipway", "Farid Novak", "0", "dana",
        "Open day of the sailing school", "boat",
        "Six dinghies, ten life jackets for children, and a teacher who has seen every mistake.",
        """
Farid Novak opens the season of the sailing school. Who is at least eight years old and can swim may sail across the basin and back. Ten life jackets for children are there, and the students look after the beginners.

In rain we sail, in wind above force five we do not.
""",
    ),
    Event(
        "chart-evening", _at(4, 23, 19), _at(4, 23, 21), "Harbour office", "Hugo Brennan", "4.00", "dana",
        "Round the Head in two days", "lighthouse",
        "Hugo Brennan tells with charts and pictures how he left with the ebb and came back with the wind.",
        """
Hugo Brennan left at five with the ebb, was round the Head at noon, and anchored behind the island, north of the jetty, in six metres on sand. He shows on the chart where the ground is foul, and why he would leave an hour earlier today.

The four dollars go to the lifeboat.
""",
    ),
    Event(
        "crane-safety", _at(4, 29, 17), _at(4, 29, 18), "Workshop", "Piet Vermeer", "0", "piet",
        "Under the crane: what to know", "crane",
        "An hour on slings, signals, and where not to stand.",
        """
Before the busy weeks of May, Piet Vermeer shows how slings are laid, what his hand signals mean, and the three places in which you must never stand.

Those who have lifted their boat for years are welcome as well. They are the ones who stand there.
""",
    ),
    Event(
        "midsummer-regatta", _at(6, 20, 11), _at(6, 20, 18), "Outer harbour", "Ada Mint", "15.00", "dana",
        "Midsummer regatta", "boat",
        "Once round the two marks and the gull rock, for everything that has a sail.",
        """
The start is at eleven between the mole and the harbour master's launch. Boats sail by handicap; the list hangs in the office from the first of June.

The fee is for the boat, however many sail in it. It pays the soup, the prizes, and the fuel of the launch.
""",
    ),
)  # fmt: skip
