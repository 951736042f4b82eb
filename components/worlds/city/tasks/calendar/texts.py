"""What people want to book, and what they write about it."""

from __future__ import annotations

LIFTS = (
    "Lift Gannet, 3.1 t",
    "Launch Petrel, 2.2 t",
    "Lift Curlew, 4.0 t",
    "Launch Puffin, 1.6 t",
    "Lift Tern to clean the hull",
    "Step the mast of Plover",
    "Unstep the mast of Heron",
    "Lift Dunlin, new propeller",
    "Launch Avocet, 2.8 t",
    "Lift Shearwater, 5.5 t",
)
GATHERINGS = (
    ("Harbour office", "Key swap", "Old keys against new ones. Bring both of yours."),
    ("Harbour office", "Visit of the fire brigade", "They look at the extinguishers and would like coffee."),
    ("Harbour office", "New lamp on the mole", "The electrician needs ten metres of quay kept free."),
    ("Harbour office", "Talk about insurance", "One hour, and half an hour for questions."),
    ("Harbour office", "First aid for crews", "On the floor of the sail loft, so wear old trousers."),
    ("Sailing school", "Sewing a sail", "Needles and palm are there. Bring your own tear."),
    ("Sailing school", "Engines for beginners", "Oil, filter, belt. Hugo brings an old diesel."),
    ("Sailing school", "Weather, an evening", "How to read clouds before they read you."),
    ("Sailing school", "Man overboard, practice", "In the basin, with the dummy. Life jackets are there."),
    ("Sailing school", "Rowing for parents", "While the children are on the water."),
)
COURSES = (
    "Youth dinghies, group B",
    "Evening sailing for women",
    "Rowing before breakfast",
    "Theory for the licence",
    "Model boats",
    "Maintenance of dinghies",
)
REMARKS = ("paid", "to be confirmed", "bring a torch", "two helpers needed", "open to all", "new: with Piet")
DETAILS = (
    "Please be there ten minutes early.",
    "Moved by agreement with all who come.",
    "The gate is open from half past seven.",
    "Dana has the list of names.",
    "Only in dry weather. Ask Piet on the day before.",
    "Bring gloves and something to drink.",
    "No parking on the quay on this day.",
)
