"""Buttons, links and fields have other words for the same thing."""

from __future__ import annotations

import random
from collections.abc import Mapping

from city.modifiers import Modifier

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "Account": ("My account", "Your profile"),
    "Add": ("New", "Create"),
    "Add a poll option": ("Another choice",),
    "Add another file": ("One more file",),
    "Add to basket": ("Put in cart", "Buy this"),
    "Add to cart": ("Put in basket", "Buy this", "Take one"),
    "Add to wish list": ("Remember for later", "Save to my list"),
    "Address Book": ("Saved addresses", "My addresses"),
    "Advanced Search": ("More filters", "Detailed search"),
    "Advanced search": ("More filters", "Detailed search"),
    "All Tickets": ("Every ticket", "Ticket list"),
    "All products": ("Everything we sell", "Whole range"),
    "Apply": ("Use it", "Confirm"),
    "Archive": ("Put away", "File away"),
    "Address book": ("People", "Everyone here"),
    "Archives": ("Put away", "Filed"),
    "Attach File": ("Add a file", "Enclose a document"),
    "Book": ("Reserve", "Enter a date"),
    "Browse store": ("Departments", "What we sell"),
    "Cancel": ("Never mind", "Back out"),
    "Cart": ("Basket", "Bag"),
    "Cancel this date": ("Call it off", "Drop this date"),
    "Change or move": ("Edit", "Reschedule"),
    "Change password": ("New password", "Replace password"),
    "Change status": ("Set status", "Update state"),
    "Coupon code": ("Voucher", "Discount code"),
    "Continue": ("Next", "Go on"),
    "Continue shopping": ("Back to the shop", "Keep looking"),
    "Create new category": ("New category",),
    "Dashboard": ("Overview", "Control panel"),
    "Day": ("One day",),
    "Delete": ("Remove", "Discard"),
    "Delete event": ("Remove event", "Cancel event"),
    "Delete topic": ("Remove topic",),
    "Description": ("Details", "Text"),
    "Description of your issue": ("What happened?", "Tell us more"),
    "Due on": ("Deadline", "Needed by"),
    "Edit": ("Change", "Modify"),
    "Edit event": ("Change event",),
    "Email address": ("E-mail", "Mail address"),
    "Filter": ("Narrow down", "Show matching"),
    "Forum index": ("All forums", "Start"),
    "Go": ("Find", "Look"),
    "Inbox": ("Received", "Incoming"),
    "Knowledge Base": ("Help articles", "Answers"),
    "Knowledgebase": ("Help articles", "Answers"),
    "Last post": ("Latest entry",),
    "Lock topic": ("Close topic",),
    "Log In": ("Sign in", "Staff entrance"),
    "Log in": ("Sign in", "Enter"),
    "Log out": ("Sign out", "Leave"),
    "Login": ("Sign in", "Enter"),
    "Login or register": ("Sign in or join", "Your account"),
    "Logout": ("Sign out", "Leave"),
    "Mark forums read": ("I have read everything",),
    "Mark topics read": ("I have read everything",),
    "Message": ("Your text", "Text"),
    "Month": ("Whole month",),
    "Move topic": ("Put topic elsewhere",),
    "My Tickets": ("Assigned to me",),
    "New Ticket": ("Open a ticket", "Report a problem"),
    "New event": ("Add an event", "Book a time"),
    "New topic": ("Start a discussion", "Ask something"),
    "Order History": ("My purchases", "Past orders"),
    "Password": ("Secret word", "Pass phrase"),
    "Place order": ("Buy now", "Order and pay"),
    "Post reply": ("Answer", "Write an answer"),
    "Preview": ("See how it looks", "Look first"),
    "Priority": ("Urgency", "How urgent"),
    "Proceed to checkout": ("Pay now", "Go to the till"),
    "Product Alerts": ("Stock notices",),
    "Profile": ("Personal data", "About me"),
    "Publish": ("Put online", "Make public"),
    "Reply": ("Answer", "Write back"),
    "Reset": ("Start over", "Clear"),
    "Put back": ("Restore", "Take out again"),
    "Return to site": ("Back to the shop",),
    "Save": ("Keep", "Store"),
    "Save and add another": ("Keep and add one more",),
    "Save and continue editing": ("Keep and stay here",),
    "Search": ("Find", "Look up"),
    "Send": ("Mail it", "Dispatch"),
    "Send reply": ("Answer", "Mail the answer"),
    "Sent": ("Outgoing", "Sent by me"),
    "Sort by": ("Order by", "Arrange by"),
    "Subject": ("About", "Headline"),
    "Submit": ("Send", "Post it"),
    "Submit Ticket": ("Send report", "File ticket"),
    "Submit a Ticket": ("Report a problem", "Open a ticket"),
    "Subscribe": ("Follow", "Keep me posted"),
    "Subscriptions": ("What I follow",),
    "Summary of the problem": ("In short", "Headline"),
    "Trash": ("Bin", "Thrown away"),
    "Unsubscribe": ("Stop following",),
    "Update": ("Refresh", "Apply change"),
    "User name or e-mail": ("Account", "Your login"),
    "User name": ("Account name", "Your login"),
    "View cart": ("Show basket", "What you picked"),
    "View my posts": ("What I wrote",),
    "View unread topics": ("What is new",),
    "Week": ("Whole week",),
    "Wish Lists": ("Saved for later",),
    "Write": ("Compose", "New message"),
    "Write a review": ("Rate this", "Share your opinion"),
    "Write a letter": ("Compose", "New letter"),
    "Your E-Mail Address": ("How do we reach you?", "Mail address"),
}
"""What may stand for each label. Names that are data (the queue Orders, goods for Navigation) are not here."""


class Labels(Modifier):
    """Renames labels, the same way on all pages of an episode."""

    def __init__(self, rng: random.Random) -> None:
        self._labels = {label: rng.choice(SYNONYMS[label]) for label in sorted(SYNONYMS)}

    def labels(self) -> Mapping[str, str]:
        """The synonyms that the seed chose."""
        return self._labels


MODIFIER = Labels
