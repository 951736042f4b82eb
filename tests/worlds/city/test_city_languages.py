"""The desk logs in the language of its visitor (modifier `language`); a task is done in any of them."""

from __future__ import annotations

import pytest

from components.records import RowChange
from components.worlds.city.instances import Instance
from components.worlds.city.tasks.registry import find
from components.worlds.city.wording import Wording


def added(table: str, key: str, **values: str) -> RowChange:
    return RowChange(table=table, key=key, before=None, after=values)


def followup(title: str) -> RowChange:
    """The desk's note on ticket 7, with the key 31."""
    return added("helpdesk_followup", "31", ticket_id="7", author="dana", title=title, comment="")


def changed(table: str, key: str, before: dict[str, str], after: dict[str, str]) -> RowChange:
    return RowChange(table=table, key=key, before={"id": key, **before}, after={"id": key, **after})


@pytest.mark.parametrize(
    ("title", "field"), [("Assigned to piet", "Owner"), ("piet zugeordnet", "Besitzer"), ("Asignado a piet", "Dueño")]
)
def test_a_ticket_is_assigned_in_any_language(title, field):
    facts = {"ticket": "7", "username": "piet", "user": "12", "title": "Lamp", "owner": "Piet"}
    changes = [
        changed("helpdesk_ticket", "7", {"assigned_to_id": "11"}, {"assigned_to_id": "12"}),
        followup(title),
        added("helpdesk_ticketchange", "5", followup_id="31", field=field, old_value="dana", new_value="piet"),
    ]
    check = find("desk_assign_ticket").check(facts, changes, None)
    assert (check.reward, check.missing, check.side_effects) == (1.0, [], [])


@pytest.mark.parametrize(
    ("title", "field"), [("Ticket placed on hold", "On Hold"), ("Ticket zurückgehalten", "Wartet")]
)
def test_a_ticket_is_held_in_any_language(title, field):
    changes = [
        changed("helpdesk_ticket", "7", {"on_hold": "False"}, {"on_hold": "True"}),
        followup(title),
        added("helpdesk_ticketchange", "5", followup_id="31", field=field, old_value="False", new_value="True"),
    ]
    check = find("desk_hold_ticket").check({"ticket": "7", "title": "Lamp"}, changes, None)
    assert (check.reward, check.missing, check.side_effects) == (1.0, [], [])


def test_a_changed_field_of_another_ticket_is_a_side_effect():
    changes = [
        changed("helpdesk_ticket", "7", {"on_hold": "False"}, {"on_hold": "True"}),
        followup("Ticket placed on hold"),
        added("helpdesk_ticketchange", "5", followup_id="32", field="On Hold", old_value="False", new_value="True"),
    ]
    check = find("desk_hold_ticket").check({"ticket": "7", "title": "Lamp"}, changes, None)
    assert (check.reward, len(check.missing), len(check.side_effects)) == (0.0, 1, 1)


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("High", True),
        ("Hoch", True),
        ("Die Priorität ist hoch.", True),
        ("2. Hoch", True),
        ("Sehr niedrig", False),
        ("Hoch oder niedrig", False),
        ("Hochsee", False),
    ],
)
def test_an_answer_may_be_in_the_language_of_the_site(answer, is_right):
    options = {"2. High": "2. Hoch", "4. Low": "4. Niedrig", "5. Very Low": "5. Sehr niedrig", "March": "März"}
    wording = Wording(options=options).needed([])
    facts = {"ticket": 7, "priority": "High"}
    task = Instance(find("desk_ticket_priority"), facts, 2, ("language",), wording)
    assert task.check([], answer, ["desk.test/tickets/7/"]).answer_ok is is_right


def test_a_date_may_be_in_the_language_of_the_site():
    months = Wording(options={"March": "marzo", "Monday": "lunes"}).needed([])
    assert months.usual("lunes, 30 de marzo de 2026") == "Monday, 30 March de 2026"
    assert months.usual("30 Marzo") == "30 March"
    assert months.usual("LUNE\N{LATIN SMALL LETTER LONG S}") == "LUNE\N{LATIN SMALL LETTER LONG S}"
    assert Wording().usual("30 de marzo") == "30 de marzo"
