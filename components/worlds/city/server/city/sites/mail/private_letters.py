"""What people write to each other, without the harbour office."""

from __future__ import annotations

from city.sites.mail.conversations import Conversation, Purchase

PRIVATE = (
    Conversation(
        "Rowing boat",
        (
            (
                "chiara",
                "jonas",
                "I saw your rowing boat under its green cover. Would you take $800, and may I try the oars on Sunday?",
            ),
            ("jonas", "chiara", "Try as long as you like. The price is $850, because the cover alone was sixty."),
            ("chiara", "jonas", "Let us talk on the slipway, at eleven."),
        ),
        topic="For sale: rowing boat, 3.6 m",
    ),
    Conversation(
        "The outboard",
        (
            (
                "farid",
                "hugo",
                "$400 and the spanner: agreed. I can pay in cash on Saturday after the beginners have gone home.",
            ),
            (
                "hugo",
                "farid",
                "Saturday at one, at my shed behind the fish market. Bring a bucket, so that you hear it run.",
            ),
            (
                "farid",
                "hugo",
                "It runs like a sewing machine. Here is the receipt that you asked for: $400, one outboard, 4 hp, one spanner.",
            ),
        ),
        topic="For sale: outboard, 4 hp",
        archived_by=("farid", "hugo"),
    ),
    Conversation(
        "Charts of the lakes",
        (
            (
                "dmitri",
                "esther",
                "If the twelve charts are still there, I would like them for the wall of my hall. I pay with fish.",
            ),
            (
                "esther",
                "dmitri",
                "They are yours. Two are stained with tea, which improves them. Leave the fish with Greta, I am at the school until six.",
            ),
        ),
        topic="To give away: charts of the lakes",
    ),
    Conversation(
        "Storm jib",
        (
            (
                "jonas",
                "bruno",
                "My brother in Westport has a storm jib of 5.2 m², orange, with hanks. He asks $120. Shall he bring it on the 28th?",
            ),
            (
                "bruno",
                "jonas",
                "Yes. I would like to see the luff before I pay, hanks tear first. On the 28th I am at the clean-up until one.",
            ),
        ),
        topic="Wanted: storm jib, 5 m²",
        unread=True,
    ),
    Conversation(
        "Anchor north of the jetty",
        (
            (
                "esther",
                "hugo",
                "Could you send me the position where you anchored behind the island? I want to go there at Easter with my sister.",
            ),
            (
                "hugo",
                "esther",
                "Two cables north of the jetty, the white mark over the boat house. Six metres, sand. Stay out of the west corner, there the chart is right.",
            ),
        ),
        topic="To the Head and back in two days",
    ),
    Conversation(
        "Coffee at dawn",
        (
            (
                "alice",
                "jonas",
                "We tried your third watch. The coffee was good, the steering was not. Do you sleep before it or after it?",
            ),
            ("jonas", "alice", "Both. It is the only reason for the third watch."),
        ),
        topic="Night watch for two",
        deleted_by=("jonas",),
    ),
    Conversation(
        "Spanish on Monday",
        (
            (
                "jonas",
                "esther",
                "I shall be twenty minutes late on Monday, the ferry is in dock. Please keep me a chair and the past tense.",
            ),
            (
                "esther",
                "jonas",
                "Llegaste, llegabas, habías llegado: all three are waiting for you. We are at the long table by the window.",
            ),
        ),
        days=5,
    ),
    Conversation(
        "Second film night",
        (
            (
                "chiara",
                "alice",
                "The second film night is on Friday the 20th at eight, again in the sail loft. Can you bring the projector from the school? Farid has the key.",
            ),
            (
                "alice",
                "chiara",
                "I can. Last time the cable was three metres too short, so I bring mine as well. What do we see?",
            ),
            ("chiara", "alice", "There is a whale in it. I say no more."),
        ),
        days=4,
        unread=True,
    ),
    Conversation(
        "Key of the projector cupboard",
        (
            (
                "alice",
                "farid",
                "Chiara says that you have the key of the cupboard with the projector. May I fetch it on Friday at five?",
            ),
            (
                "farid",
                "alice",
                "It hangs behind the door of the sailing school, under the yellow jacket. Put it back there, please, not on the table.",
            ),
        ),
        days=3,
    ),
    Conversation(
        "Looking after our lines",
        (
            (
                "dmitri",
                "greta",
                "Would you look after our boat in October? Two bow lines, one spring, and a bilge that is dry except when it is not.",
            ),
            ("greta", "dmitri", "With pleasure, for one smoked eel a week."),
        ),
        days=8,
    ),
    Conversation(
        "Rigging from 1984",
        (
            (
                "jonas",
                "bruno",
                "You see more wire than I do: what would you ask for new standing rigging on a sloop of 28 feet? The workshop is thinking about it ({ticket}).",
            ),
            (
                "bruno",
                "jonas",
                "For 28 feet about $1,450 with the turnbuckles, if the chain plates are sound. Take off the mast first: the upper terminals of 1984 are what breaks.",
            ),
            ("jonas", "bruno", "The mast of Corrie comes down on the 25th at eleven. Would you look at it with me?"),
        ),
        days=4,
        ticket="Quote for a new standing rigging",
        unread=True,
    ),
    Conversation(
        "Lunch",
        (("hugo", "greta", "Mussels at my place on Sunday, one o'clock. Bring nothing, or the white one."),),
        days=1,
        unread=True,
    ),
    Conversation(
        "Harbour clean-up on the 28th",
        (
            (
                "ines",
                "bruno",
                "Twenty-two children come to the clean-up on the 28th, and I have eleven pairs of gloves. Has your loft old ones?",
            ),
            ("bruno", "ines", "A box of thirty, all left-handed. The children will not mind."),
        ),
        days=6,
    ),
    Conversation(
        "Fenders",
        (
            (
                "greta",
                "farid",
                "You asked how many. Six, and I own eight: borrow my old pair for the summer. They hang in the shed, beside the box from order {order}.",
            ),
        ),
        days=9,
        order=Purchase("greta", "Being processed"),
        deleted_by=("farid",),
    ),
)
