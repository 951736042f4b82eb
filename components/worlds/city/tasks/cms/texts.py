"""What people write on the town's web site."""

from __future__ import annotations

TEASERS = (
    "Read this before you come, and tell your neighbour.",
    "Three sentences, one of them good news.",
    "What has changed, since when, and whom you may ask.",
    "The office has been asked about this eleven times.",
    "Short, and with a number that you may want to note.",
    "It concerns everyone who lies on the east quay.",
    "Nothing to worry about, but good to know.",
    "Piet has explained it twice, and here it is in writing.",
    "With thanks to all who helped and to one who cooked.",
    "Please read it to the end. The end is the important part.",
)
MESSAGES = (
    ("Berths", "Is there a free berth for 9.5 metres in the second week of May?"),
    ("Berths", "We come on Friday after dark. Where do we find the key of the showers?"),
    ("Berths", "My neighbour's fender lies in the water between our boats."),
    ("Crane and workshop", "Can the crane lift 5.8 tonnes with the mast standing?"),
    ("Crane and workshop", "Do you have a socket for 16 amperes beside the washing place?"),
    ("Crane and workshop", "The handle of the pressure washer is loose again."),
    ("Lost and found", "I have lost a blue cap with a white anchor near the mole."),
    ("Lost and found", "I found a bunch of three keys on pontoon C and keep them for you."),
    ("Something else", "Please put the tide tables in a larger print into the window."),
    ("Something else", "Who decides on the music at the open day? I have an idea."),
)
"""Subjects of the contact form, and messages."""
