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
    fixed: bool = False
    """It is the same in every seed, because other texts refer to it; its date is in March."""
    whole: bool = False
    """It exists in every seed, with all its posts, and takes answers."""
    poll: tuple[str, ...] = ()
    """The options of its poll."""


# One record per line.
# fmt: off
TOPICS = (
    Topic("Announcements", "Water is off on Wednesday morning", (("dana", "The pipe on the east quay is replaced on Wednesday between seven and eleven. Fill your tanks on Tuesday."), ("greta", "Does that hold for the showers too?"), ("dana", "For the showers of the east quay. Those at the office stay open.")), fixed=True),
    Topic("Announcements", "Spring prices for berths", (("dana", "From the first of April a night costs $2.40 per metre. The first week stays at the old price."),), fixed=True),
    Topic("Announcements", "Lost and found, March", (("piet", "At the office: one glove (left, leather), a child's cap with an anchor, a bunch of four keys, and a very wet book about bees."), ("ines", "The book is mine. Keep it.")), fixed=True),
    Topic("Boats and gear", "Which anchor for mud?", (("bruno", "Our bower drags in the river. What do you use on soft ground?"), ("hugo", "A wide fluke and more chain than you think. Twenty metres of it, then talk about shapes."), ("esther", "Mine is a fisherman of fifteen kilos, older than I am. It has never moved."), ("bruno", "More chain it is. Thank you.")), fixed=True),
    Topic("Boats and gear", "Varnish in April: too early?", (("ines", "The days are warm, the nights are not. Does it cure at nine degrees?"), ("jonas", "It does, slowly. Start at noon and stop at four, or the dew will print on it."))),
    Topic("Boats and gear", "Compass shows ten degrees too much", (("alice", "Only on the port tack. Nothing near it was changed."), ("dmitri", "Is there a loudspeaker in the cabin behind it?"), ("alice", "There is, and it is not any more. Solved."))),
    Topic("Boats and gear", "Quiet blocks wanted", (("chiara", "The mainsheet blocks scream. Before I buy new ones: does dry spray help for long?"), ("bruno", "A month. Then wash them in fresh water, they are full of salt."))),
    Topic("Boats and gear", "How many fenders?", (("farid", "We have four for ten metres. The neighbour has eleven and sleeps better."), ("greta", "Six, and two long ropes. Fenders are for your own mistakes, ropes for the others'."))),
    Topic("Passages", "To the Head and back in two days", (("hugo", "Left at five with the ebb, round the Head at noon, anchored behind the island. Back with a following wind and no book to read."), ("esther", "Where did you anchor? The chart says foul ground."), ("hugo", "North of the jetty, in six metres, sand.")), fixed=True),
    Topic("Passages", "Fog in the Sound", (("greta", "Horn, radar, and a fishing boat that answered with a frying pan. Forty minutes for three miles."), ("dmitri", "The frying pan was me."))),
    Topic("Passages", "Night watch for two", (("alice", "We tried three hours on, three off. On the second night we did four and were better for it."), ("jonas", "Six and six with a third watch at dawn for coffee.")), fixed=True),
    Topic("Passages", "Harbours with a good breakfast", (("farid", "I begin: the café on the mole at Sandness, from six."), ("ines", "The bakery in Westport opens at four, for the fishermen. Ask nicely."))),
    Topic("Buy and sell", "For sale: rowing boat, 3.6 m", (("jonas", "Clinker, larch on oak, two pairs of oars. $850. Lies on the slipway under the green cover."), ("chiara", "Is the cover included?"), ("jonas", "It is.")), fixed=True),
    Topic("Buy and sell", "Wanted: storm jib, 5 m²", (("bruno", "For a sloop of 28 feet. Orange preferred."),), fixed=True),
    Topic("Buy and sell", "For sale: outboard, 4 hp", (("hugo", "Serviced in the autumn, $420 with the tank."), ("farid", "$380?"), ("hugo", "$400 and the spanner.")), fixed=True),
    Topic("Buy and sell", "To give away: charts of the lakes", (("esther", "Twelve sheets, 1998. Good for wrapping and for dreaming."),), fixed=True),
    Topic("The quay", "Who feeds the gulls?", (("ines", "They have learned to open my bag."), ("piet", "Nobody should. They learn faster than we do."))),
    Topic("The quay", "Film night in the sail loft", (("chiara", "Friday at eight. Bring a cushion."), ("alice", "What do we see?"), ("chiara", "It is about a lighthouse. I say no more.")), fixed=True),
    Topic("The quay", "Best knot for a hammock", (("dmitri", "I have fallen twice."), ("greta", "A round turn and two half hitches. And shorter evenings."))),
    Topic("The quay", "Language table on Mondays", (("esther", "Spanish at six, in the office. Beginners welcome, mistakes too."), ("jonas", "¡Allí estaré!")), fixed=True),
    Topic("Announcements", "The crane is checked on the 24th", (("piet", "The inspector comes at nine. No lifts before two in the afternoon, and none at all if he finds what I fear."), ("greta", "What do you fear?"), ("piet", "The brake. It sings."))),
    Topic("Announcements", "Rowing regatta: helpers wanted", (("dana", "On the second Saturday of May. We need six people for the marks, two for the clock and one who can shout."), ("hugo", "I can shout."), ("farid", "The school brings two boats for the marks."))),
    Topic("Announcements", "New locks at the gates", (("dana", "From Monday the old keys do not fit. New ones are at the office, one per berth, against the old one."), ("esther", "And if the old one is at the bottom of the harbour?"), ("dana", "Then it costs $5, as always."))),
    Topic("Announcements", "Speed in the harbour", (("piet", "Three knots. It is painted on the mole in letters of one metre. Please read it once more."),)),
    Topic("Boats and gear", "Sheets: how thick for small hands?", (("chiara", "Eight millimetres cut me, twelve do not run through the blocks. Is ten the answer, or gloves?"), ("ines", "Ten, with a fluffy cover. And gloves."))),
    Topic("Boats and gear", "Which oil for an old diesel?", (("hugo", "The book says a grade that is not made any more. What do you pour into yours?"), ("bruno", "Whatever is cheap, but every fifty hours. It is the changing that helps, not the tin."), ("jonas", "Mine gets 15W-40 and has not noticed."))),
    Topic("Boats and gear", "Solar panel on the hatch", (("dmitri", "Forty watts, flat, to be walked upon. Does it bear it?"), ("farid", "Mine bore it for a year. Then the neighbour's dog came, who has claws."), ("dmitri", "So beside the hatch, then."))),
    Topic("Boats and gear", "Leather on the oars", (("jonas", "Sewn or nailed? I have read both, and both swear."), ("esther", "Sewn. A nail is a place where water waits."), ("jonas", "Sewn it is. Baseball stitch, in the evening, with the radio."))),
    Topic("Boats and gear", "Holding tank smells", (("greta", "New hoses, new seals, new lid. It still smells like a harbour of the last century."), ("alice", "Vinegar, a litre, overnight."), ("greta", "Now it smells like a salad of the last century."))),
    Topic("Boats and gear", "Reefing before the mast", (("ines", "Our slab lines end at the mast, and I do not like to stand there. Has anyone led them back?"), ("bruno", "Two blocks at the foot and a clutch. An afternoon of work, and you will reef earlier for it."))),
    Topic("Boats and gear", "Paint on galvanised chain", (("farid", "My marks at ten, twenty and thirty metres last one month. What lasts?"), ("hugo", "Cable ties in colours. They pass the windlass and cost nothing."), ("chiara", "Mine are wool. It lasts a summer and is kind to the hands."))),
    Topic("Boats and gear", "Do I need a second anchor light?", (("esther", "The rule wants one. The ferries seem to want three."), ("dmitri", "One, but low. Up there it is a star among stars."))),
    Topic("Boats and gear", "Cleaning the log impeller", (("alice", "It stops after every still week. Do you pull it or paint it?"), ("jonas", "Pull it, put the blind in, be quick. You learn how much water a litre is."))),
    Topic("Boats and gear", "Old sails: cut or keep?", (("greta", "Two genoas from 1991. Too good for bags, too tired for the Sound."), ("ines", "Bags. I take one with a window."), ("hugo", "An awning first. Bags after that."))),
    Topic("Passages", "First time through the narrows", (("chiara", "Slack water at six in the morning, and I have never done it. What do you wish you had known?"), ("dmitri", "That the eddy behind the second buoy pulls to port. Stay right and smile."), ("chiara", "Done. I stayed right. Smiling came later."))),
    Topic("Passages", "Three days of east wind", (("alice", "We waited in Sandness and read every paper in the café, also those of last week."), ("farid", "The library there has a stove, and nobody minds wet boots."))),
    Topic("Passages", "Seals at the outer skerry", (("ines", "Eleven on Sunday, two of them very small. Please go round by the north."), ("greta", "They have been there since February. The big one snores."))),
    Topic("Passages", "With children to the island", (("farid", "Four hours with six children of nine years. We sang all of it."), ("esther", "How deep is the landing at low water?"), ("farid", "Seventy centimetres. They jump."))),
    Topic("Passages", "Log of a slow week", (("jonas", "Day one: no wind. Day two: no wind, but rain. Day three: I have cleaned everything that can be cleaned."), ("bruno", "Day four?"), ("jonas", "Wind, from ahead. I was grateful."))),
    Topic("Passages", "Alone around the Head", (("esther", "At seventy-one I have done it alone. It took nine hours and two thermos flasks."), ("hugo", "We saw you from the quay. We stood up."), ("alice", "So did the gulls."))),
    Topic("Buy and sell", "For sale: dinghy sail, 6 m²", (("farid", "From the school, tired but whole. $60, and you may choose the number on it."), ("jonas", "Is 7 free?"))),
    Topic("Buy and sell", "Wanted: trailer for a boat of 5 m", (("greta", "For one weekend in May, or for ever, if the price is right."), ("bruno", "You can have mine for the weekend. The left light has moods."))),
    Topic("Buy and sell", "For sale: sextant, in its box", (("dmitri", "My uncle's. $300 to a person who will use it, $500 to one who will put it on a shelf."), ("alice", "And to one who will try?"), ("dmitri", "$300 and a lesson."))),
    Topic("Buy and sell", "For sale: folding bicycles, a pair", (("ines", "Sixteen inches, some rust, good bells. $150 for both, they do not want to be parted."), ("chiara", "Do they fit a locker of 70 by 60?"), ("ines", "One does. The other sleeps on deck."))),
    Topic("Buy and sell", "Wanted: book on knots", (("chiara", "An old one with drawings. Photographs confuse me."), ("esther", "I have two and can spare the one with the coffee stain on the bowline."))),
    Topic("Buy and sell", "To give away: stove, needs love", (("hugo", "Cast iron, cracked door, heats like a steam engine. You carry it."),)),
    Topic("The quay", "Who owns the grey cat?", (("esther", "It sleeps in my sail bag and has opinions."), ("dana", "It belongs to the office, or the office to it. Its name is Bollard."), ("bruno", "It had breakfast with us. Twice."))),
    Topic("The quay", "Bread on Sundays", (("alice", "The bakery is closed on Sundays from November on. Does anyone bake on board?"), ("ines", "I do, in the frying pan. It is flat, but it is bread."))),
    Topic("The quay", "Choir: two basses missing", (("jonas", "Thursdays at seven above the chandlery. We sing what sailors sang, without the verses that dana hears."), ("dana", "I hear them all. The floor is thin."))),
    Topic("The quay", "Northern lights last night?", (("dmitri", "At two, green, over the mole. Or was it the fishing fleet?"), ("greta", "Both. The fleet does not wave."))),
    Topic("The quay", "Swimming before work", (("chiara", "Seven o'clock at the steps. The water has eight degrees, the tea has eighty."), ("hugo", "I come for the tea."), ("farid", "He did, and he stayed dry."))),
    Topic("The quay", "Names for a dinghy", (("bruno", "It is small, yellow and leaks. My daughter says Lemon."), ("esther", "Colander."), ("alice", "Lemon. One should not insult a boat before it has sunk."))),
    Topic("The quay", "Whose radio plays at five?", (("greta", "Accordion, at five in the morning, on the east quay. I like it, but not then."), ("piet", "It is the lamp-fitter. I have a word with him."))),
    Topic("The quay", "Chess in the waiting hall", (("farid", "There is a board now, by the heater. White has lost its queen since yesterday; a cork stands in for it."), ("jonas", "The cork played well against me."))),
)
# fmt: on
