"""What people wrote to the desk, and what they were answered."""

from __future__ import annotations

from dataclasses import dataclass

# One record per line.
# fmt: off
QUEUES = (("Orders", "orders"), ("Berths", "berths"), ("Workshop", "workshop"))
ARTICLES = (
    ("Returns", "How do I return an article?", "Within thirty days, unused, with the receipt. Write to the queue Orders and name the order's number; you get a label by mail."),
    ("Returns", "Who pays for the return?", "We do if the article was faulty or wrong. Otherwise the label costs $6.50, which we keep back from the refund."),
    ("Berths", "How long may a visitor stay?", "Seven nights from April to September, twenty-one in the other months. Longer stays need the harbour master's word."),
    ("Berths", "What is in the price of a berth?", "Water, showers and the waste station. Electricity is read from the meter at departure."),
    ("Workshop", "When is the crane free?", "Weekdays from eight to four, in half-hour slots. Book two days ahead, three in May."),
    ("Workshop", "May I sand my hull on the quay?", "Only with suction and a sheet below. Antifouling dust must not reach the water."),
    ("Returns", "When do I get my money back?", "Within five working days after the article is here, in the way in which you paid."),
    ("Orders", "Can I change an order?", "As long as it is Pending. When it is Being processed, the box is packed; then write to us at once and hope."),
    ("Orders", "Where is my parcel?", "Orders leave on the day after they are packed. In the harbour they are brought to the berth, elsewhere the carrier takes two days."),
    ("Berths", "Where may I leave a dinghy?", "On the racks behind the sailing school, with the berth's number on it. The slipway must stay free."),
    ("Workshop", "What does the workshop not do?", "Electronics and sails. The list of people who do hangs at the door."),
)
# fmt: on


@dataclass(frozen=True)
class Ticket:
    """A ticket: `answers` are (username, text). `{order}` in the text is the number of an order of its author."""

    queue: str
    username: str
    title: str
    text: str
    priority: int
    status: str
    """open, reopened, resolved or closed."""
    assigned: str | None = None
    answers: tuple[tuple[str, str], ...] = ()
    article: str = ""
    """The code of a good that the order contains."""
    order_status: str = ""
    """The status of that order."""
    fixed: bool = False
    """It exists in every seed, with this author, queue, status and answers, because letters refer to it."""


# fmt: off
TICKETS = (
    Ticket("orders", "alice", "The eye of my mooring rope is torn", "The rope of order {order} came on Friday. The splice opens when I pull it by hand, so it will not hold a boat. I would like another one, not the money.", 2, "open", "dana", article="RL-101", order_status="Complete", fixed=True),
    Ticket("orders", "bruno", "Invoice without our company's name", "We need the name Achterberg Rigging on the invoice for order {order}. The tax office is strict about it.", 4, "open", order_status="Pending", fixed=True),
    Ticket("orders", "chiara", "Wrong size of gloves", "I ordered medium, and in the parcel of order {order} I found small. They are unworn. Can you send medium before the weekend?", 3, "open", "piet", (("piet", "Medium is in stock. Please send the small pair back; I put a label into your account."),), article="CL-205", order_status="Complete", fixed=True),
    Ticket("orders", "dmitri", "Parcel left in the rain", "The driver put the box of order {order} on the steps although I had asked for the harbour office. The chart inside is wavy now.", 2, "reopened", "dana", (("dana", "We are sorry. We have asked the carrier."), ("dmitri", "That was a week ago. What did the carrier say?")), article="NV-303", order_status="Complete", fixed=True),
    Ticket("orders", "esther", "One kettle too many", "There is one kettle more in the box than I ordered, order {order}. The bill is right. What shall I do with it?", 3, "resolved", "dana", (("dana", "Our mistake. Keep it, and think of us at tea."),), article="GL-501", order_status="Complete"),
    Ticket("orders", "farid", "Discount for the sailing school", "We will buy ten child's life jackets in April. Is there a price for schools?", 4, "open", fixed=True),
    Ticket("orders", "greta", "Cancel my order", "The two-burner stove of order {order} does not fit between the lockers. Please cancel before it is sent.", 1, "open", article="GL-502", order_status="Pending"),
    Ticket("orders", "hugo", "Where is my order?", "Order {order} says Being processed, and has said nothing else since I wrote the cheque.", 3, "open", "piet", order_status="Being processed"),
    Ticket("orders", "ines", "Thank you", "The varnish of order {order} is as good as you said. No need to answer.", 5, "closed", "piet", article="PC-702", order_status="Complete"),
    Ticket("orders", "jonas", "Missing screws", "The folding anchor of order {order} came without the two screws of the shackle.", 3, "resolved", "piet", (("piet", "They were in the lid. Did you find them?"), ("jonas", "Yes, thank you.")), article="DH-605", order_status="Complete"),
    Ticket("orders", "bruno", "Block does not turn", "One of the blocks of order {order} sits tight on its axle. The others run. May I bring it by?", 3, "open", "piet", article="DH-603", order_status="Complete"),
    Ticket("orders", "farid", "Strap of a child's jacket", "The strap between the legs has come off one jacket of order {order}. I cannot use it with children like that.", 1, "open", "dana", (("dana", "Do not use it. A new one goes out today, and please send us a picture of the seam."),), article="SF-402", order_status="Complete"),
    Ticket("orders", "hugo", "Rod for a birthday", "Order {order} is still Being processed. The birthday is on Saturday. Can I fetch the rod at the counter?", 2, "open", article="FI-802", order_status="Being processed"),
    Ticket("orders", "greta", "Address for order {order}", "I typed my old street. Please send it to the address in my account.", 2, "open", order_status="Pending"),
    Ticket("orders", "bruno", "Street of order {order}", "I have moved since I bought it. Please send order {order} to 6 Sailmaker's Yard, the rest of the address stays.", 2, "open", order_status="Pending"),
    Ticket("orders", "chiara", "Wrong street on order {order}", "The page has filled in my old street. It should be 22 Tar Barrel Lane; the town is right.", 3, "open", order_status="Pending"),
    Ticket("orders", "hugo", "Please send order {order} to my mother", "She lives at 9 Widow's Walk, in Harbour as well. The name may stay mine, she knows me.", 3, "open", order_status="Being processed"),
    Ticket("orders", "ines", "Ordered twice", "I pressed the button twice. Please cancel order {order} and leave the other one.", 2, "open", order_status="Pending"),
    Ticket("orders", "jonas", "Refund has not arrived", "Order {order} was cancelled, but I have not seen the money.", 2, "reopened", "dana", (("dana", "It left us on Monday."), ("jonas", "It has not come here.")), order_status="Cancelled"),
    Ticket("orders", "esther", "Which oil for which oar?", "Do I take raw linseed oil for oars of spruce, or is it for ash alone?", 5, "resolved", "piet", (("piet", "It is good for both. Thin the first coat."),)),
    Ticket("orders", "chiara", "Gift wrapping", "Could you wrap order {order}? It is for my godson. No invoice in the box, please.", 4, "open", order_status="Being processed"),
    Ticket("orders", "dmitri", "Receipt for the insurance", "I need a receipt with the date for order {order}. The boat was broken into.", 3, "resolved", "dana", (("dana", "It is in your account now, below the order."),), order_status="Complete"),
    Ticket("orders", "alice", "Is the yellow jacket coming back?", "The shop says that size is gone. When do you expect it?", 4, "open"),
    Ticket("berths", "alice", "Berth for five nights in June", "We arrive on the 8th with 9.2 metres and a draught of 1.6. Is there a place near the showers?", 3, "open", fixed=True),
    Ticket("berths", "bruno", "Neighbour's halyard", "The halyard of the boat on berth 14 beats all night. Could somebody tie it down?", 4, "resolved", "dana", (("dana", "Done this morning. Sleep well."),)),
    Ticket("berths", "chiara", "Electricity on berth 22", "The socket is dead since Sunday. The breaker does not stay in.", 1, "open", fixed=True),
    Ticket("berths", "dmitri", "Longer stay in autumn", "We would like to leave the boat here for the whole of October while we are abroad. Does the harbour master agree?", 3, "open", "dana", fixed=True),
    Ticket("berths", "esther", "Lost key of the shower", "I think it went overboard. What does a new one cost?", 4, "resolved", "piet", (("piet", "$5, at the office."),)),
    Ticket("berths", "farid", "Dinghies on the slipway", "Six dinghies block it every evening. My students cannot land.", 2, "reopened", "dana", (("dana", "There is a sign now."), ("farid", "The sign is there, and so are the dinghies.")), fixed=True),
    Ticket("berths", "hugo", "Refund for two nights", "We left on the 3rd, but paid until the 5th because of the forecast. Is there a refund?", 4, "open", fixed=True),
    Ticket("berths", "ines", "Light on the east quay", "The third lamp from the stairs is out. I nearly walked into the water.", 2, "open", "piet", (("piet", "The bulb is ordered. Until then there is a lantern on the bollard."),)),
    Ticket("berths", "jonas", "Swap of berths 7 and 9", "My neighbour and I would like to swap, because he is longer and I am fatter. Whom do we ask?", 4, "open"),
    Ticket("berths", "greta", "Bill for electricity", "The meter said 118 when I left and 131 when I came. The bill says 31 units.", 3, "open", "dana", (("dana", "Thirteen it is. You get a new bill."),)),
    Ticket("berths", "esther", "Waste oil", "Where do I take four litres of old engine oil? The waste station is locked.", 3, "resolved", "piet", (("piet", "The key is at the office until five. Please do not leave it at the door."),)),
    Ticket("berths", "alice", "Ice on the pontoon", "It was like glass this morning. Is there sand?", 1, "closed", "dana", (("dana", "There is a box of it at each gate now."),)),
    Ticket("berths", "bruno", "Winter storage for a mast", "Eleven metres, on the rack below the roof if possible. From November to March.", 4, "open"),
    Ticket("berths", "dmitri", "Water tastes of rubber", "At berth 31, also after letting it run for ten minutes. The hose is my own and new.", 3, "reopened", "piet", (("piet", "We have flushed the line."), ("dmitri", "It tastes of flushed rubber now."))),
    Ticket("workshop", "greta", "Crane on Thursday", "I need the crane for 3.1 tonnes on Thursday at ten. The mast will be down.", 2, "open", "piet", fixed=True),
    Ticket("workshop", "hugo", "Noise from the engine", "A knocking at 1,800 turns, only when it is warm. Could somebody listen to it?", 2, "open", fixed=True),
    Ticket("workshop", "ines", "Winch sticks", "The port winch turns only one way. I have greased it already.", 3, "open", "piet", (("piet", "Bring it on Tuesday, it takes half an hour."),)),
    Ticket("workshop", "jonas", "Quote for a new standing rigging", "For a sloop of 28 feet, built in 1984. The wires are original.", 3, "open", fixed=True),
    Ticket("workshop", "alice", "Propeller anode", "Please change it at the next lift. The last one held two years.", 5, "closed", "piet"),
    Ticket("workshop", "bruno", "Trailer lights", "The left light flickers since you had it in.", 3, "reopened", "piet", (("piet", "We found nothing."), ("bruno", "It flickers again."))),
    Ticket("workshop", "dmitri", "Osmosis?", "Small blisters below the waterline, about thirty. I attach no picture, they are hard to see.", 2, "open", fixed=True),
    Ticket("workshop", "chiara", "Rudder has play", "Two fingers at the tip. It was one finger in autumn.", 2, "open", "dana"),
    Ticket("workshop", "farid", "Six trailers before Easter", "Bearings and tyres of all six, if you have a quiet week. They stand behind the school.", 3, "open", "piet", (("piet", "The week from the 23rd is quiet. Leave the keys at the office."),), fixed=True),
    Ticket("workshop", "esther", "Leak at the stern tube", "A cup a day at rest, a bucket under way. The packing was new in May.", 1, "open"),
    Ticket("workshop", "hugo", "Price of antifouling by the metre", "For 8.4 metres, one coat, with washing. I bring the paint.", 4, "resolved", "piet", (("piet", "$19 a metre, and the washing is in it."),)),
    Ticket("workshop", "greta", "Hatch does not close", "The hinge is bent since the last lift. It rained on my bunk.", 2, "reopened", "dana", (("dana", "We have straightened it."), ("greta", "It is straight and does not close."))),
    Ticket("workshop", "jonas", "Battery is flat every Monday", "It holds through the week and dies on Sundays, when I am not there. I suspect the pump.", 3, "open"),
    Ticket("workshop", "ines", "Sanding on Saturday", "May I use your suction hose on Saturday from ten to two? I bring my own sheet.", 4, "closed", "dana", (("dana", "Yes. The hose hangs on the left of the door."),)),
)
# fmt: on
