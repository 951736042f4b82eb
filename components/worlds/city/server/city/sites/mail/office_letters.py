"""What the harbour office and its customers write to each other."""

from __future__ import annotations

from city.sites.mail.conversations import Conversation, Purchase

OFFICE = (
    Conversation(
        "Your order {order}",
        (
            (
                "alice",
                "dana",
                "Dana, the parcel of order {order} came today, {article} and all. Only the invoice is missing. Could you send it to me here?",
            ),
            (
                "dana",
                "alice",
                "I am sorry, the printer swallowed it. You find it in your account at the shop, under order {order}, as a page to print.",
            ),
            ("alice", "dana", "Found it. Thank you for the quick answer."),
        ),
        days=40,
        order=Purchase("alice", "Complete"),
        archived_by=("dana",),
    ),
    Conversation(
        "The torn eye",
        (
            (
                "dana",
                "alice",
                "Alice, I have your ticket {ticket} in front of me. Please cut the eye off and bring it to the office, the maker wants to see the splice. The new rope is on the shelf behind me.",
            ),
            ("alice", "dana", "I can come on Tuesday after work. Is the office open until five?"),
            ("dana", "alice", "Until half past, on Tuesdays. Ask for Piet if I am on the quay."),
        ),
        days=4,
        ticket="The eye of my mooring rope is torn",
        unread=True,
    ),
    Conversation(
        "Wet charts",
        (
            (
                "dmitri",
                "dana",
                "The carrier has written to me now: they want a picture of the box, which I have burned. Does ticket {ticket} keep the pictures from February?",
            ),
            (
                "dana",
                "dmitri",
                "It has none, I looked. I will tell them that I saw the box myself, which is true. You get two new charts from us either way.",
            ),
            ("dmitri", "dana", "That is generous. I take them at the counter, not by parcel."),
        ),
        days=8,
        ticket="Parcel left in the rain",
        archived_by=("dmitri",),
    ),
    Conversation(
        "Order {order} was sent",
        (("piet", "ines", "Ines, order {order} left this morning: {article}. You should have it by Thursday."),),
        days=4,
        order=Purchase("ines", "Complete"),
        unread=True,
    ),
    Conversation(
        "The stove does not fit",
        (
            (
                "dmitri",
                "piet",
                "About order {order}: the fenders are fine. The gimbals of the stove are eleven millimetres wider than my galley. May I bring it back in its box?",
            ),
            (
                "piet",
                "dmitri",
                "Within thirty days and with the receipt, yes. Measure once more at the hinge: the arms can be turned inwards, and then it is twenty millimetres narrower.",
            ),
            ("dmitri", "piet", "Turned inwards it fits. I keep it."),
        ),
        days=4,
        order=Purchase("dmitri", "Complete", "Two-burner stove"),
    ),
    Conversation(
        "Where is order {order}?",
        (
            (
                "jonas",
                "piet",
                "The shop says Being processed since last week. I want to varnish on the first dry day, so: is it on its way, or shall I borrow a brush?",
            ),
            ("piet", "jonas", "The brushes are here, the shock cord is not. Shall I send them apart?"),
            ("jonas", "piet", "Yes, please. The brushes first."),
        ),
        days=3,
        order=Purchase("jonas", "Being processed", "Badger brush, 50 mm"),
        unread=True,
    ),
    Conversation(
        "Your book about bees",
        (
            (
                "piet",
                "ines",
                "The book has been on the radiator for two days. You may have it back as soon as it closes again.",
            ),
            ("ines", "piet", "I said keep it. But if you read it: chapter four is about smoke."),
            ("piet", "ines", "I am at chapter six now. Did you know that they dance?"),
        ),
        topic="Lost and found, March",
    ),
    Conversation(
        "October",
        (
            (
                "dmitri",
                "dana",
                "Have you spoken with the harbour master about our October ({ticket})? The flights are cheap until Friday.",
            ),
            (
                "dana",
                "dmitri",
                "He agrees if you leave a key and the name of a person who looks after the lines. Twenty-one nights are the rule, so please do not tell the whole quay.",
            ),
            ("dmitri", "dana", "Greta will look after the lines, and has the key. Thank you both."),
        ),
        days=7,
        ticket="Longer stay in autumn",
    ),
    Conversation(
        "Six dinghies",
        (
            ("farid", "piet", "It is six again this evening ({ticket}). The sign is now used to tie up the seventh."),
            (
                "piet",
                "farid",
                "I come by at half past five with the trolley. What is not gone by then spends the night behind the office, at $5 a boat.",
            ),
        ),
        days=3,
        ticket="Dinghies on the slipway",
    ),
    Conversation(
        "Crane on Thursday the 19th",
        (
            (
                "greta",
                "piet",
                "Piet, the desk has my ticket {ticket}, and it is still open. Thursday at ten would be best: 3.1 tonnes, and the mast will be down. Is that half hour free?",
            ),
            (
                "piet",
                "greta",
                "The calendar shows nothing at ten. Bring your own slings, ours go to the inspection on Wednesday. I will book the slot when Dana has said yes.",
            ),
            (
                "greta",
                "piet",
                "I have two of five metres. Please do not forget the booking, the painter comes at noon.",
            ),
        ),
        days=3,
        ticket="Crane on Thursday",
        unread=True,
    ),
    Conversation(
        "Name on the invoice",
        (
            (
                "bruno",
                "dana",
                "My ticket {ticket} is still without an answer, and the tax office has sent a second letter. It is Achterberg Rigging, 3 Ropewalk, on the invoice for order {order}.",
            ),
            (
                "dana",
                "bruno",
                "Understood. I change it by hand and send it on paper, because the shop knows people and no companies.",
            ),
        ),
        days=6,
        order=Purchase("bruno", "Pending"),
        ticket="Invoice without our company's name",
    ),
    Conversation(
        "Medium or large?",
        (
            (
                "chiara",
                "piet",
                "Before you send the medium gloves: they run small, says the catalogue. I have the hands of a pianist. Medium or large?",
            ),
            (
                "piet",
                "chiara",
                "Medium. If they are still too small, change them again, the label is good for two parcels.",
            ),
        ),
        days=5,
        ticket="Wrong size of gloves",
    ),
    Conversation(
        "Ten life jackets",
        (
            (
                "farid",
                "dana",
                "The course for children begins on the 4th of April with the check of the life jackets. I have asked the desk for a price ({ticket}). Can you tell me by the 25th?",
            ),
            (
                "dana",
                "farid",
                "I can offer twelve per cent on ten child's jackets, not on the rest. Answer on the ticket, so that the shop's people see it too.",
            ),
        ),
        days=2,
        ticket="Discount for the sailing school",
        unread=True,
    ),
    Conversation(
        "Socket on berth 22",
        (
            (
                "chiara",
                "dana",
                "Still no electricity on berth 22 ({ticket}). I charge my telephone at the bakery, and I have begun to smell of bread.",
            ),
            (
                "dana",
                "chiara",
                "The electrician comes on Wednesday after the crane's inspection. Until then take the socket of berth 24, it is paid for and empty.",
            ),
        ),
        days=2,
        ticket="Electricity on berth 22",
        unread=True,
    ),
    Conversation(
        "Two nights back?",
        (
            (
                "hugo",
                "dana",
                "About ticket {ticket}: at which price do you count the two nights, the old one or that of April?",
            ),
            (
                "dana",
                "hugo",
                "At the price that you have paid. The new one of $2.40 a metre begins on the first of April, and we do not gain by your bad weather.",
            ),
        ),
        days=4,
        ticket="Refund for two nights",
    ),
    Conversation(
        "The knocking",
        (
            (
                "piet",
                "hugo",
                "I could listen to your engine on Tuesday the 17th, after the launch of Kittiwake. Run it warm before I come, half an hour at least.",
            ),
            (
                "hugo",
                "piet",
                "It will be warm. Bring the long screwdriver, the knocking is behind the second cylinder, or in front of the third.",
            ),
        ),
        days=2,
        ticket="Noise from the engine",
    ),
    Conversation(
        "Blisters",
        (
            (
                "piet",
                "dmitri",
                "Ticket {ticket}: you have the crane on Friday the 20th from ten to eleven. Do not sand anything before I have measured how wet the hull is.",
            ),
        ),
        days=1,
        ticket="Osmosis?",
        unread=True,
    ),
    Conversation(
        "Berth in June",
        (
            (
                "alice",
                "piet",
                "Is there news of the berth for five nights from the 8th of June ({ticket})? My mother comes along, and she asks for the showers every day.",
            ),
            (
                "piet",
                "alice",
                "June is not in the calendar yet. I would give you berth 33, it is forty steps from the showers, if Dana agrees.",
            ),
        ),
        days=2,
        ticket="Berth for five nights in June",
        unread=True,
    ),
    Conversation(
        "Slings and inspection",
        (
            (
                "dana",
                "piet",
                "The inspector comes on Wednesday at one and stays until four. Please put a note on the crane's gate, and keep Alice's slot at nine.",
            ),
            (
                "piet",
                "dana",
                "Note is up. Alice has nine to half past for the anode, Marigold weighs 3.6 tonnes with the tanks empty.",
            ),
        ),
        days=2,
    ),
)
