"""What people want to write in letters."""

from __future__ import annotations

LETTERS = (
    ("Ladder", "May I borrow your long ladder on Saturday? I bring it back before dark."),
    ("Soup on Sunday", "There is pea soup at our place on Sunday at one. Bring a spoon."),
    ("Your jacket", "You left your blue jacket on the bench by the steps. It is dry now, and I have it."),
    ("Keys", "The spare key hangs on the second hook in the shed. Please lock the door twice."),
    ("Photographs", "I have twelve photographs of your boat under sail. Shall I bring them on Friday?"),
    ("Bilge pump", "Your bilge pump ran the whole night. I think that the float is stuck."),
    ("Lift to Westport", "I drive to Westport on Wednesday at eight, and there is a seat free."),
    ("Paint", "Half a tin of the red paint is left. Do you want it before it dries?"),
    ("Choir", "We sing on Thursday at seven and still need a low voice. You have one."),
    ("Bicycle", "Your bicycle stands in front of the loft with a flat tyre. I have a pump."),
    ("Tide tables", "I have two copies of the tide tables for this year. One of them is yours."),
    ("Bread", "I am baking on Tuesday. Tell me by Monday evening how many loaves you would like."),
)
REPLIES = (
    "Thank you, that suits me well.",
    "I have read it and will answer in full tomorrow evening.",
    "Yes, gladly. I bring the tea.",
    "Sorry, I cannot make it before Friday.",
    "Good. Please remind me the day before.",
    "I have asked at the office, and they agree.",
    "No need to hurry, next week is early enough.",
    "That is kind of you. I owe you a loaf.",
    "Understood. I will be on the quay at nine.",
    "Could you send me the details once more?",
)
NOTES = (
    ("Your booking", "Please call at the office before it begins, there is a question about the key."),
    ("About your booking", "May I watch? I bring cake and keep out of the way."),
    ("A question", "How many people do you expect, and do you need chairs?"),
    ("Weather", "They say rain for that day. Do you stay with your plan?"),
    ("Help", "I have time on that day and two strong arms. Shall I come?"),
    ("The trolley", "If you need the trolley, tell me a day before. It has a flat tyre."),
)
STRANGERS = (
    "Theodora Marsh",
    "Ruben Castellan",
    "Oskar Lindgren",
    "Philippa Stone",
    "Mateo Brandt",
    "Wilma Harker",
    "Cedric Vane",
    "Yusuf Halloran",
)
"""People who have no account, unless the data say otherwise."""
