"""What else may be booked in the calendars: each seed has some of these bookings, the image has none of them."""

from __future__ import annotations

from dataclasses import dataclass

from city.sites.calendar.bookings import AFTERNOON, ARRIVAL, EVENING, LIFT, MORNING, WEEKENDS, Window

OFFICE = ("dana", "piet")


@dataclass(frozen=True)
class Occasion:
    """A booking without its day: `people` are those who may have made it. A berth's title has no berth yet."""

    calendar: str
    people: tuple[str, ...]
    title: str
    description: str
    window: Window
    minutes: int = 0
    """How long it lasts; boats stay for some nights instead."""
    weekly: bool = False


OPEN_HOUR = Window(("14:00",), (3,))
"""The harbour master's, as her page on the town's web site says it."""
BEFORE_WORK = Window(("07:00", "07:15"))

# One record per line.
# fmt: off
POOL = (
    Occasion("crane", ("esther", "ines"), "Lift Lapwing, 2.7 t", "New anode and a look at the keel bolts. Back in the water within the hour.", LIFT, 60),
    Occasion("crane", ("greta", "chiara"), "Launch Redshank, 3.3 t", "The rudder is in again. Two people with lines, please.", LIFT, 60),
    Occasion("crane", ("ines", "jonas"), "Launch Turnstone, 1.9 t", "First time in the water after three winters. The pump is aboard.", LIFT, 30),
    Occasion("crane", ("dmitri", "alice"), "Lift Godwit, 4.4 t", "The log is blocked. Half an hour in the slings is enough.", LIFT, 30),
    Occasion("crane", ("bruno", "jonas"), "Step the mast of Whimbrel", "Nine metres. Someone must hold the forestay.", LIFT, 90),
    Occasion("crane", ("hugo", "chiara"), "Unstep the mast of Fulmar", "The lamp at the top is dead, and so is the aerial.", LIFT, 60),
    Occasion("crane", ("hugo", "esther"), "Engine out of Eider", "One diesel, 180 kg, onto the trolley. The boat stays in the water.", LIFT, 60),
    Occasion("crane", ("alice", "greta"), "Lift Skua, 5.6 t", "The pressure washer is booked, too. Long slings, the keel is deep.", LIFT, 90),
    Occasion("crane", ("farid",), "Launch two optimists of the school", "Thirty-five kilos each. Piet says that the crane feels honoured.", LIFT, 30),
    Occasion("crane", ("chiara", "dmitri"), "Lift Teal, 2.0 t", "A seacock drips. The new one is on board.", LIFT, 30),
    Occasion("crane", ("jonas", "ines"), "Launch Wigeon, 3.0 t", "Fresh varnish on both sides, so soft slings.", LIFT, 60),
    Occasion("visitor-berths", OFFICE, "yawl Hesper, 10.2 m", "Two adults and a baby. A quiet berth, if there is one.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "motor boat Otter, 6.8 m", "Stays night by night and pays each morning.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "sloop Caper, 7.9 m", "From Sandness, with engine trouble. Piet has a look.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "schooner Vesta, 15.4 m", "Six adults. Long ropes, and fenders as big as a child.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "catamaran Plume, 11.0 m", "Width 6.2 m, so on the outer side only.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "cutter Rosalind, 9.1 m", "One adult, who comes late. The key of the showers is in the box at the door.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "sloop Minnow, 6.4 m", "Two students. They asked for the price twice.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "ketch Aurora, 13.0 m", "From Westport. Takes 300 litres of diesel on the first day.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "motor boat Dorado, 8.8 m", "Four men of the angling club. They leave at five in the morning and come back for lunch.", ARRIVAL),
    Occasion("visitor-berths", OFFICE, "sloop Saltmarsh, 9.9 m", "Three adults and a dog that cannot climb ladders.", ARRIVAL),
    Occasion("harbour-office", ("piet",), "Chimney of the office is swept", "The stove stays cold until noon. Wear a coat.", MORNING, 60),
    Occasion("harbour-office", ("piet",), "Test of the fire pumps", "It will be wet between bollards 3 and 9.", MORNING, 60),
    Occasion("harbour-office", ("hugo", "dmitri"), "Chart corrections with tea", "Bring your charts and a violet pen.", EVENING, 90),
    Occasion("harbour-office", ("ines", "esther", "greta"), "Swap of books", "Two out, two in. No cookery from before 1970.", WEEKENDS, 120),
    Occasion("harbour-office", ("bruno", "jonas"), "Repair evening for small things", "Zips, torches, kettles. Bring the part that fell off.", EVENING, 120),
    Occasion("harbour-office", ("dana",), "Open hour of the harbour master", "Long stays, the order of the berths, and complaints about bagpipes.", OPEN_HOUR, 120),
    Occasion("harbour-office", OFFICE, "Lorry with gravel for the ramp", "No parking at the gate until it has left.", MORNING, 90),
    Occasion("harbour-office", ("dana",), "Diver checks the mooring chains", "A blue and white flag is up. Keep fifty metres away from it.", MORNING, 180),
    Occasion("harbour-office", ("chiara", "alice", "hugo"), "Photographs of old boats", "Slides, a sheet, and people who remember the names.", EVENING, 90),
    Occasion("harbour-office", ("ines",), "Visit of the fourth class", "Twenty-two children, one crane. Piet explains it from the ground.", MORNING, 90),
    Occasion("harbour-office", ("chiara", "bruno"), "Gymnastics on the quay", "Before work. In rain below the roof of the sail loft.", BEFORE_WORK, 30, weekly=True),
    Occasion("harbour-office", ("ines", "esther"), "Homework at the long table", "For children whose parents are still on the water.", AFTERNOON, 90, weekly=True),
    Occasion("sailing-school", ("farid", "esther"), "Right of way with toy boats", "In the large basin of the laundry. No splashing.", EVENING, 90),
    Occasion("sailing-school", ("alice", "dmitri"), "Night sailing, a briefing", "Red torches only. We look at the lights of the ferry from land first.", EVENING, 60),
    Occasion("sailing-school", ("ines", "esther"), "Wind and clouds for children", "With paper flags. Ages six to nine.", AFTERNOON, 90),
    Occasion("sailing-school", ("greta", "chiara"), "First aid on small boats", "Bandages, cold, and what to say on the radio.", EVENING, 120),
    Occasion("sailing-school", ("farid",), "Dinghies are painted", "Old clothes. The children have chosen the colours.", WEEKENDS, 240),
    Occasion("sailing-school", ("farid",), "Exam for the small licence", "Quiet, please. Pencils are there.", WEEKENDS, 180),
    Occasion("sailing-school", ("jonas", "hugo"), "Sculling over the stern", "One oar, one hour, many circles.", AFTERNOON, 60),
    Occasion("sailing-school", ("bruno", "dmitri"), "Signal flags, an afternoon", "Forty flags, and what they say when the radio is silent.", AFTERNOON, 90),
    Occasion("sailing-school", ("hugo", "farid"), "Towing and being towed", "With the safety boat, a long line and gloves.", AFTERNOON, 120),
    Occasion("sailing-school", ("alice", "greta"), "Rules for regattas", "The start, the marks, and how to protest politely.", EVENING, 90),
)
# fmt: on
