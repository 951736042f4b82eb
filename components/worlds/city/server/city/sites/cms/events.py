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
    weekly: bool = False
    days: tuple[dt.date, ...] = ()
    """Those on which it may be in a seed, which may also keep it as a draft; none if other sites know its day."""
    fees: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    organisers: tuple[str, ...] = ()
    """Others that a seed may name."""


def _days(first: dt.date, last: dt.date, *weekdays: int) -> tuple[dt.date, ...]:
    """The days of these weekdays; Monday is 0."""
    days = [first + dt.timedelta(days=number) for number in range((last - first).days + 1)]
    return tuple(day for day in days if day.weekday() in weekdays)


SPRING, MAY_ENDS = dt.date(2026, 3, 17), dt.date(2026, 5, 31)
WEEKDAYS, WEEKEND = (0, 1, 2, 3, 4), (5, 6)
JUNE = _days(dt.date(2026, 6, 6), dt.date(2026, 6, 28), *WEEKEND)


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
        weekly=True,
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
        days=_days(dt.date(2026, 4, 11), MAY_ENDS, *WEEKEND),
    ),
    Event(
        "chart-evening", _at(4, 23, 19), _at(4, 23, 21), "Harbour office", "Hugo Brennan", "4.00", "dana",
        "Round the Head in two days", "lighthouse",
        "Hugo Brennan tells with charts and pictures how he left with the ebb and came back with the wind.",
        """
Hugo Brennan left at five with the ebb, was round the Head at noon, and anchored behind the island, north of the jetty, in six metres on sand. He shows on the chart where the ground is foul, and why he would leave an hour earlier today.

The fee goes to the lifeboat.
""",
        days=_days(dt.date(2026, 4, 7), MAY_ENDS, *WEEKDAYS), fees=("3.00", "4.00", "5.00"), places=("Harbour office", "Sail loft"),
    ),
    Event(
        "crane-safety", _at(4, 29, 17), _at(4, 29, 18), "Workshop", "Piet Vermeer", "0", "piet",
        "Under the crane: what to know", "crane",
        "An hour on slings, signals, and where not to stand.",
        """
Before the busy weeks of May, Piet Vermeer shows how slings are laid, what his hand signals mean, and the three places in which you must never stand.

Those who have lifted their boat for years are welcome as well. They are the ones who stand there.
""",
        days=_days(dt.date(2026, 4, 7), dt.date(2026, 4, 30), *WEEKDAYS),
    ),
    Event(
        "midsummer-regatta", _at(6, 20, 11), _at(6, 20, 18), "Outer harbour", "Ada Mint", "15.00", "dana",
        "Midsummer regatta", "boat",
        "Once round the two marks and the gull rock, for everything that has a sail.",
        """
The start is at eleven between the mole and the harbour master's launch. Boats sail by handicap; the list hangs in the office from the first of June.

The fee is for the boat, however many sail in it. It pays the soup, the prizes, and the fuel of the launch.
""",
        days=JUNE, fees=("12.00", "15.00", "18.00", "20.00"),
    ),
    Event(
        "net-mending", _at(3, 24, 17), _at(3, 24, 19), "Sail loft", "Greta Silva", "2.00", "dana",
        "How a net is mended", "rope",
        "One needle, one knot, and a hole that becomes smaller while you talk.",
        """
A net tears where you do not look. You learn the knot that holds the mesh, the measure that keeps it square, and when to cut a hole larger before you close it.

Needles and twine are there. Bring a net if you have one, washed.
""",
        days=_days(SPRING, MAY_ENDS, *WEEKDAYS), fees=("0", "2.00", "3.50"), places=("Sail loft", "Workshop", "Fishmarket"),
        organisers=("Greta Silva", "Esther Tanaka", "Hugo Brennan"),
    ),
    Event(
        "engine-morning", _at(4, 12, 10), _at(4, 12, 12), "Workshop", "Piet Vermeer", "0", "piet",
        "Listen to your engine", "boat",
        "What a healthy diesel says, and what it says a week before it stops.",
        """
Three old engines run one after the other, and each has a fault. The group listens, guesses and opens the lid. The person who has guessed best may choose which one is mended first.

Wear something that may become black.
""",
        days=_days(SPRING, MAY_ENDS, *WEEKEND), fees=("0", "4.00", "5.00"), places=("Workshop", "Slipway"),
    ),
    Event(
        "star-evening", _at(4, 16, 21), _at(4, 16, 22, 30), "Slipway", "Dmitri Okafor", "0", "dana",
        "Stars for sailors", "lighthouse",
        "Seven stars by which you find north, the time, and the way to the kettle.",
        """
Under a clear sky you learn seven stars and what each is good for. Under clouds we stay below the roof and look at them on paper, which is warmer.

Bring a torch with a red glass. Telephones stay in the pocket.
""",
        days=_days(SPRING, MAY_ENDS, *WEEKDAYS), places=("Slipway", "Sail loft", "Mole"),
        organisers=("Dmitri Okafor", "Alice Moreno", "Ada Mint"),
    ),
    Event(
        "soup-and-songs", _at(3, 27, 19), _at(3, 27, 21, 30), "Harbour office", "Jonas Ferreira", "3.00", "dana",
        "Soup and songs", "quay",
        "One pot, twelve songs, and nobody has to know the third verse.",
        """
The pot is on the stove from six o'clock on. Songs are sung from a sheet, and those who cannot sing may stir.

Bring a bowl and a spoon. Bread is there as long as it lasts.
""",
        days=_days(SPRING, MAY_ENDS, 3, 4), fees=("2.00", "3.00", "4.00"), places=("Harbour office", "Sail loft", "Fishmarket"),
        organisers=("Jonas Ferreira", "Chiara Lindqvist", "Bruno Achterberg"),
    ),
    Event(
        "tar-and-varnish", _at(4, 25, 10), _at(4, 25, 13), "Slipway", "Ines Kowalski", "4.00", "dana",
        "Tar, oil and varnish", "boat",
        "Three pieces of wood, three tins, and the answer to what lasts.",
        """
Everyone gets three pieces of larch and treats each in another way. They hang at the gate until autumn, with names, and then we know.

Brushes and tins are there, and gloves in two sizes.
""",
        days=_days(SPRING, MAY_ENDS, *WEEKEND), fees=("3.00", "4.00", "6.50"), places=("Slipway", "Workshop"),
        organisers=("Ines Kowalski", "Bruno Achterberg", "Jonas Ferreira"),
    ),
    Event(
        "harbour-for-children", _at(5, 9, 14), _at(5, 9, 16, 30), "Slipway", "Farid Novak", "0", "dana",
        "The harbour for children", "gull",
        "With a walk to the light, a race of paper boats, and a gull that answers questions.",
        """
Children from six to eleven walk to the light on the mole, fold a boat and race it across the basin. The gull is a person in a costume, and the children are not told who.

Parents may come along or drink coffee in the office. Each child wears a life jacket; the school lends them.
""",
        days=_days(dt.date(2026, 4, 11), MAY_ENDS, *WEEKEND), fees=("0", "1.50", "2.50"), places=("Slipway", "Harbour office"),
        organisers=("Farid Novak", "Ines Kowalski", "Chiara Lindqvist"),
    ),
)  # fmt: skip
