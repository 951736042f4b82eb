"""What people want to write in the forum."""

from __future__ import annotations

NEW_TOPICS = (
    ("Buy and sell", "For sale: pair of fenders", "Two fenders of 60 cm, washed, $30 for both. They lie at berth 12."),
    ("Buy and sell", "Wanted: tiller for a dinghy", "Ours broke yesterday. Ash or oak, about 90 cm long."),
    ("Buy and sell", "To give away: box of shackles", "Mixed sizes, some stiff. Please take the whole box."),
    (
        "Boats and gear",
        "Which glue for a wooden mast?",
        "The scarf has opened over the winter. Epoxy or something older?",
    ),
    ("Boats and gear", "Echo sounder shows zero", "It worked in the autumn. Where do I begin to look?"),
    ("Boats and gear", "How often do you grease seacocks?", "Mine have become stiff after one year. Is that normal?"),
    (
        "Passages",
        "Through the canal in one day",
        "We left at six and were through at nine in the evening. Bring sandwiches.",
    ),
    (
        "Passages",
        "Company for the trip to Sandness?",
        "I leave on Saturday with the morning tide and would like not to sail alone.",
    ),
    ("Passages", "A quiet bay behind the island", "Anchored in five metres, good mud, and no other boat for two days."),
    ("The quay", "Lost: red woollen hat", "It was last seen on the bench by the steps. My aunt knitted it."),
    ("The quay", "Who plays the accordion?", "We need music for the summer party and can pay in soup."),
    ("The quay", "Umbrella with a duck's head", "I have left it in the waiting hall. It is old, but it listens."),
    ("Passages", "Ice in the outer harbour", "On Tuesday there was a thin sheet from the mole to the third buoy."),
    ("Boats and gear", "Sewing a sail by hand", "Which needle do you take for four layers of heavy cloth?"),
    ("The quay", "Sunday walk along the mole", "We meet at three by the lamp. Children and dogs are welcome."),
)
REPLIES = (
    "Thank you, that helped me a lot.",
    "We had the same trouble last year and solved it with patience.",
    "I can bring it on Saturday, if somebody helps me carry.",
    "Please write here how it ends.",
    "Ask at the harbour office, they know more about this.",
    "I would do it again tomorrow.",
    "Count me in, with two friends.",
    "My neighbour says the opposite, but he has no boat.",
    "Could you add a picture?",
    "It worked for us in a strong wind too.",
)
CORRECTIONS = (
    "I was wrong about this, please forget it.",
    "This has been settled in the meantime, thank you all.",
    "I have asked at the office: it holds until the end of the month.",
    "Correction: it was Tuesday, not Monday.",
    "I have changed my mind after a night of sleep.",
    "Solved. The cause was smaller than I thought.",
    "See the notice at the office, it says all of this better.",
)
POLLS = (
    (
        "Where shall the new lamp stand?",
        "The office pays for one lamp. We choose the place.",
        ("On the mole", "By the steps"),
    ),
    ("Which soup for the work day?", "There will be one pot, so there must be one soup.", ("Pea soup", "Fish soup")),
    (
        "When shall we clean the slipway?",
        "It takes four people and two hours.",
        ("Saturday morning", "Sunday afternoon"),
    ),
    ("What colour for the club boat?", "The paint is bought next week.", ("Harbour blue", "Signal red")),
    (
        "Which film on Friday?",
        "The loft holds thirty people and one film.",
        ("The one about the lighthouse", "The one about the whale"),
    ),
    ("Do we row or sail the spring race?", "Both need the same number of boats.", ("We row", "We sail")),
    ("Which book for the reading evening?", "We read ten pages each, aloud.", ("A sea story", "A cookery book")),
)
SIGNATURES = (
    "Fair winds and full kettles.",
    "Berth 14, the green hull.",
    "Slow boat, patient crew.",
    "Sails when the wind allows.",
    "Always one rope too few.",
    "Ask me about old diesels.",
    "Half a sailor, whole a cook.",
    "Three knots and proud of it.",
    "Home is where the mooring is.",
    "Never further than the Head.",
    "Bread on board on Sundays.",
    "Reef early, sleep well.",
)
