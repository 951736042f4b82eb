"""What people wrote in the forum."""

from __future__ import annotations

from dataclasses import dataclass

FORUMS = (
    ("Announcements", "From the harbour office"),
    ("Boats and gear", "What we sail, and what holds it together"),
    ("Passages", "Where we went, and how it was"),
    ("Buy and sell", "Boats, parts and the rest"),
    ("The quay", "Everything else"),
)


@dataclass(frozen=True)
class Topic:
    """A topic: `posts` are (username, text); the first opens it."""

    forum: str
    subject: str
    posts: tuple[tuple[str, str], ...]


TOPICS = (
    Topic(
        "Announcements",
        "Water is off on Wednesday morning",
        (
            (
                "dana",
                "The pipe on the east quay is replaced on Wednesday between seven and eleven. Fill your tanks on Tuesday.",
            ),
            ("greta", "Does that hold for the showers too?"),
            ("dana", "For the showers of the east quay. Those at the office stay open."),
        ),
    ),
    Topic(
        "Announcements",
        "Spring prices for berths",
        (("dana", "From the first of April a night costs $2.40 per metre. The first week stays at the old price."),),
    ),
    Topic(
        "Announcements",
        "Lost and found, March",
        (
            (
                "piet",
                "At the office: one glove (left, leather), a child's cap with an anchor, a bunch of four keys, and a very wet book about bees.",
            ),
            ("ines", "The book is mine. Keep it."),
        ),
    ),
    Topic(
        "Boats and gear",
        "Which anchor for mud?",
        (
            ("bruno", "Our bower drags in the river. What do you use on soft ground?"),
            ("hugo", "A wide fluke and more chain than you think. Twenty metres of it, then talk about shapes."),
            ("esther", "Mine is a fisherman of fifteen kilos, older than I am. It has never moved."),
            ("bruno", "More chain it is. Thank you."),
        ),
    ),
    Topic(
        "Boats and gear",
        "Varnish in April: too early?",
        (
            ("ines", "The days are warm, the nights are not. Does it cure at nine degrees?"),
            ("jonas", "It does, slowly. Start at noon and stop at four, or the dew will print on it."),
        ),
    ),
    Topic(
        "Boats and gear",
        "Compass shows ten degrees too much",
        (
            ("alice", "Only on the port tack. Nothing near it was changed."),
            ("dmitri", "Is there a loudspeaker in the cabin behind it?"),
            ("alice", "There is, and it is not any more. Solved."),
        ),
    ),
    Topic(
        "Boats and gear",
        "Quiet blocks wanted",
        (
            ("chiara", "The mainsheet blocks scream. Before I buy new ones: does dry spray help for long?"),
            ("bruno", "A month. Then wash them in fresh water, they are full of salt."),
        ),
    ),
    Topic(
        "Boats and gear",
        "How many fenders?",
        (
            ("farid", "We have four for ten metres. The neighbour has eleven and sleeps better."),
            ("greta", "Six, and two long ropes. Fenders are for your own mistakes, ropes for the others'."),
        ),
    ),
    Topic(
        "Passages",
        "To the Head and back in two days",
        (
            (
                "hugo",
                "Left at five with the ebb, round the Head at noon, anchored behind the island. Back with a following wind and no book to read.",
            ),
            ("esther", "Where did you anchor? The chart says foul ground."),
            ("hugo", "North of the jetty, in six metres, sand."),
        ),
    ),
    Topic(
        "Passages",
        "Fog in the Sound",
        (
            (
                "greta",
                "Horn, radar, and a fishing boat that answered with a frying pan. Forty minutes for three miles.",
            ),
            ("dmitri", "The frying pan was me."),
        ),
    ),
    Topic(
        "Passages",
        "Night watch for two",
        (
            ("alice", "We tried three hours on, three off. On the second night we did four and were better for it."),
            ("jonas", "Six and six with a third watch at dawn for coffee."),
        ),
    ),
    Topic(
        "Passages",
        "Harbours with a good breakfast",
        (
            ("farid", "I begin: the café on the mole at Sandness, from six."),
            ("ines", "The bakery in Westport opens at four, for the fishermen. Ask nicely."),
        ),
    ),
    Topic(
        "Buy and sell",
        "For sale: rowing boat, 3.6 m",
        (
            ("jonas", "Clinker, larch on oak, two pairs of oars. $850. Lies on the slipway under the green cover."),
            ("chiara", "Is the cover included?"),
            ("jonas", "It is."),
        ),
    ),
    Topic("Buy and sell", "Wanted: storm jib, 5 m²", (("bruno", "For a sloop of 28 feet. Orange preferred."),)),
    Topic(
        "Buy and sell",
        "For sale: outboard, 4 hp",
        (
            ("hugo", "Serviced in the autumn, $420 with the tank."),
            ("farid", "$380?"),
            ("hugo", "$400 and the spanner."),
        ),
    ),
    Topic(
        "Buy and sell",
        "To give away: charts of the lakes",
        (("esther", "Twelve sheets, 1998. Good for wrapping and for dreaming."),),
    ),
    Topic(
        "The quay",
        "Who feeds the gulls?",
        (("ines", "They have learned to open my bag."), ("piet", "Nobody should. They learn faster than we do.")),
    ),
    Topic(
        "The quay",
        "Film night in the sail loft",
        (
            ("chiara", "Friday at eight. Bring a cushion."),
            ("alice", "What do we see?"),
            ("chiara", "It is about a lighthouse. I say no more."),
        ),
    ),
    Topic(
        "The quay",
        "Best knot for a hammock",
        (("dmitri", "I have fallen twice."), ("greta", "A round turn and two half hitches. And shorter evenings.")),
    ),
    Topic(
        "The quay",
        "Language table on Mondays",
        (("esther", "Spanish at six, in the office. Beginners welcome, mistakes too."), ("jonas", "¡Allí estaré!")),
    ),
)
