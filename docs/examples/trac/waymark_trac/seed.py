"""Adds tickets to the environment in the folder `env`, in Trac's own Python."""

from trac.env import Environment
from trac.ticket.model import Ticket

TICKETS = [
    ("Timetable shows the winter ferry in June", "timetable", "major", "defect"),
    ("Passengers cannot print the return ticket", "booking", "critical", "defect"),
    ("Sort the departures by pier", "timetable", "minor", "enhancement"),
    ("Booking page forgets the bicycle", "booking", "major", "defect"),
    ("Translate the safety notes into Finnish", "documents", "minor", "task"),
    ("Group discount is counted twice", "booking", "critical", "defect"),
    ("Map of pier 4 is upside down", "documents", "trivial", "defect"),
    ("Warn of storms on the start page", "timetable", "major", "enhancement"),
    ("Order new forms for lost luggage", "documents", "trivial", "task"),
    ("Refund of a cancelled trip takes a week", "booking", "major", "task"),
]

environment = Environment("env")
for summary, component, priority, kind in TICKETS:
    ticket = Ticket(environment)
    ticket.populate({"summary": summary, "component": component, "priority": priority, "type": kind})
    ticket["status"], ticket["reporter"], ticket["milestone"] = "new", "ada", ""
    ticket.insert()
