"""Tasks about a customer's profile and address book."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.shop.queries import customers, pick
from components.worlds.city.tasks.shop.steps import account
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.effects import Added, Changed, Effect, Incidental, contains
from components.worlds.oracle import Step, choose, click, fill

LAST_NAMES = ("Abernathy", "Bergman", "Castellanos", "Duarte", "Eklund", "Fairweather", "Galloway", "Hollis")
MAILBOXES = ("post.test", "letterbox.test", "islandmail.test", "quayside.test")
STREETS = ("Sailmakers Yard", "Lower Pier Road", "Beacon Hill", "Oyster Row", "Chandlers Lane", "North Mole")
TOWNS = (("Westbrook", "04092"), ("Bath", "04530"), ("Rockland", "04841"), ("Camden", "04843"), ("Belfast", "04915"))


def _street(rng: random.Random) -> str:
    return f"{rng.randint(2, 89)} {rng.choice(STREETS)}"


class ChangeLastName(Template):
    """Change the last name in the profile."""

    name = "shop_change_name"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        "I have married. Change my last name in the shop from {old} to {new}.",
        "My name is now {first_name} {new}. Correct the last name in my profile.",
        "Update my shop profile: last name {new} instead of {old}. Everything else stays.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        return {
            "user": user["username"],
            "id": user["id"],
            "first_name": user["first_name"],
            "old": user["last_name"],
            "new": rng.choice(LAST_NAMES),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("auth_user", {"id": facts["id"]}, {"last_name": facts["new"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *account("Profile"),
            click("link", "Edit profile"),
            fill("Last name.*", facts["new"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The customer's last name is {facts['new']}.", "First name and e-mail address are as before."]


class ChangeEmail(Template):
    """Change the e-mail address in the profile."""

    name = "shop_change_email"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        "My e-mail address is now {email}. Change it in my profile.",
        "Please write to {email} from now on: update the e-mail address of my account.",
        "Set the e-mail address of my shop account to {email}.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        name = f"{user['first_name']}.{user['last_name']}".lower()
        mailbox = rng.choice((name, f"{user['username']}{rng.randint(11, 98)}", f"{user['last_name'].lower()}.boat"))
        return {
            "user": user["username"],
            "id": user["id"],
            "old": user["email"],
            "email": f"{mailbox}@{rng.choice(MAILBOXES)}",
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("auth_user", {"id": facts["id"]}, {"email": facts["email"]})]

    def incidental(self, facts: Facts) -> Sequence[Incidental]:
        return [Incidental("communication_email", {"user_id": facts["id"], "body_text": contains(facts["email"])})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *account("Profile"),
            click("link", "Edit profile"),
            fill("Email address.*", facts["email"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The customer's e-mail address is {facts['email']}.", "The name is as before."]


class MoveHouse(Template):
    """Change the street of the address in the address book."""

    name = "shop_change_address"
    sites = ("shop",)
    length = "medium"
    logins = {"shop": "{user}"}
    phrasings = (
        "I have moved to {street}. Change the first line of my address in the address book; the town is the same.",
        "In my address book, replace {old} by {street}.",
        "My new street and number are {street}. Edit my saved address, do not add another one.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        return {
            "user": user["username"],
            "address": user["address"],
            "old": user["street"],
            "street": _street(rng),
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        computed = ("hash", "search_text")
        return [Changed("address_useraddress", {"id": facts["address"]}, {"line1": facts["street"]}, computed)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *account("Address Book"),
            click("link", "Edit"),
            fill("First line of address.*", facts["street"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The saved address has the street {facts['street']}.", "There is no further address."]


class AddAddress(Template):
    """Add an address for parcels to the address book."""

    name = "shop_add_address"
    sites = ("shop",)
    length = "long"
    logins = {"shop": "{user}"}
    phrasings = (
        "Add the address of my workshop to my address book: {first_name} {last_name}, {street}, {town}, {state} "
        "{postcode}, United States.",
        "Save a second address for {first_name} {last_name} in the shop: {street}, {town} (state {state}), postcode "
        "{postcode}, United States.",
        "New entry for my address book, please. Name: {first_name} {last_name}. First line: {street}. City: {town}. "
        "State: {state}. Postcode: {postcode}. Country: United States.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = pick(customers(data), rng, "customer")
        town, postcode = rng.choice(TOWNS)
        return {
            "user": user["username"],
            "id": user["id"],
            "first_name": user["first_name"],
            "last_name": user["last_name"],
            "street": _street(rng),
            "town": town,
            "state": "ME",
            "postcode": postcode,
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {
            "user_id": facts["id"],
            "first_name": facts["first_name"],
            "last_name": facts["last_name"],
            "line1": facts["street"],
            "line2": "",
            "line3": "",
            "line4": facts["town"],
            "state": facts["state"],
            "postcode": facts["postcode"],
            "country_id": "US",
        }
        return [Added("address_useraddress", values)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *account("Address Book"),
            click("link", "Add a new address"),
            fill("First name.*", facts["first_name"]),
            fill("Last name.*", facts["last_name"]),
            fill("First line of address.*", facts["street"]),
            fill("City.*", facts["town"]),
            fill("State.*", facts["state"]),
            fill("Post.*", facts["postcode"]),
            choose("Country.*", "United States"),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"The address book has a second address for {facts['first_name']} {facts['last_name']}.",
            f"Its first line is {facts['street']}.",
            f"Its city is {facts['town']}, its state {facts['state']}, its postcode {facts['postcode']}.",
            "The first address is as before.",
        ]
