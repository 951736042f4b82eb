"""The people of the city. All sites know them, so the customer who complains at the desk has that order in the shop."""

from __future__ import annotations

from dataclasses import dataclass

DOMAIN = "harbour.test"
PASSWORD = "sea-breeze"
"""The password of every account."""


@dataclass(frozen=True)
class Person:
    """A person with an account."""

    username: str
    first_name: str
    last_name: str
    street: str
    phone: str
    is_staff: bool = False

    @property
    def email(self) -> str:
        """The address that the shop's log-in takes."""
        return f"{self.username}@{DOMAIN}"


PEOPLE = (
    Person("alice", "Alice", "Moreno", "14 Lighthouse Lane", "555-0114"),
    Person("bruno", "Bruno", "Achterberg", "3 Ropewalk", "555-0103"),
    Person("chiara", "Chiara", "Lindqvist", "27 Gull Street", "555-0127"),
    Person("dmitri", "Dmitri", "Okafor", "8 Customs Quay", "555-0108"),
    Person("esther", "Esther", "Tanaka", "41 Mill Hill", "555-0141"),
    Person("farid", "Farid", "Novak", "5 Breakwater Road", "555-0105"),
    Person("greta", "Greta", "Silva", "19 Anchor Court", "555-0119"),
    Person("hugo", "Hugo", "Brennan", "2 Fishmarket", "555-0102"),
    Person("ines", "Ines", "Kowalski", "33 Chapel Rise", "555-0133"),
    Person("jonas", "Jonas", "Ferreira", "11 Pilot Row", "555-0111"),
    Person("dana", "Dana", "Whitlock", "1 Harbour Office", "555-0190", is_staff=True),
    Person("piet", "Piet", "Vermeer", "1 Harbour Office", "555-0191", is_staff=True),
)


def seed() -> None:
    """Give every person an account; `admin` may do everything."""
    from django.contrib.auth import get_user_model

    users = get_user_model().objects
    users.create_superuser("admin", f"admin@{DOMAIN}", PASSWORD, first_name="Ada", last_name="Mint")
    for person in PEOPLE:
        users.create_user(
            person.username,
            person.email,
            PASSWORD,
            first_name=person.first_name,
            last_name=person.last_name,
            is_staff=person.is_staff,
        )
