"""What the shop sells, in the words of its own catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Good:
    """A product."""

    code: str
    title: str
    category: str
    drawing: str
    """What its picture shows (`pictures`)."""
    colour: str
    price: Decimal
    stock: int
    description: str


def _goods(category: str, *rows: tuple[str, str, str, str, str, int, str]) -> list[Good]:
    return [
        Good(code, title, category, drawing, colour, Decimal(price), stock, description)
        for code, title, drawing, colour, price, stock, description in rows
    ]


# One record per line.
# fmt: off
GOODS: tuple[Good, ...] = (
    *_goods(
        "Ropes and lines",
        ("RL-101", "Mooring rope, 10 mm, 15 m", "rope", "#c8a165", "24.50", 40, "Three-strand polyester with a spliced eye at one end. Sinks, so that no propeller catches it."),
        ("RL-102", "Mooring rope, 14 mm, 20 m", "rope", "#8a6d3b", "46.00", 22, "The same lay for boats of up to nine tonnes. The eye is protected by leather."),
        ("RL-103", "Braided halyard, 8 mm, 30 m", "rope", "#2f5d8a", "58.90", 15, "Low stretch and easy on the hands. A red fleck tells it from the sheets at night."),
        ("RL-104", "Floating heaving line, 25 m", "rope", "#e0a82e", "19.95", 60, "Light polypropylene that stays on the surface. The weighted end flies straight."),
        ("RL-105", "Shock cord, 6 mm, by 10 m", "spool", "#3c3c3c", "9.80", 120, "Rubber core in a woven cover. For sail covers, fenders and anything that rattles."),
        ("RL-106", "Whipping twine, waxed", "spool", "#d9cbb0", "4.25", 200, "Keeps rope ends from fraying. One spool does about eighty ends."),
        ("RL-107", "Dock line with snubber, 12 mm, 8 m", "rope", "#1f3a5f", "38.00", 18, "A rubber snubber takes the jerk out of a swell. For berths that face the ferry's wake."),
        ("RL-108", "Anchor rode, 12 mm, 40 m", "rope", "#b9b3a3", "79.00", 12, "Nylon that gives under load, spliced to two metres of chain. Marked every five metres."),
        ("RL-109", "Signal line, 3 mm, 20 m", "spool", "#b5382a", "7.60", 85, "For flags, lanyards and the hundred small things that want tying."),
        ("RL-110", "Cargo net, 1.5 m", "mesh", "#7b6a4d", "33.50", 9, "Hung below the foredeck it holds sails, fenders and one tired child."),
    ),
    *_goods(
        "Clothing",
        ("CL-201", "Offshore jacket, yellow", "jacket", "#e6b800", "189.00", 12, "Taped seams, a high collar and cuffs that close over gloves. Cut long enough to sit on wet decks."),
        ("CL-202", "Offshore jacket, navy", "jacket", "#22375e", "189.00", 9, "The yellow jacket's quieter brother. Reflective tape on both shoulders."),
        ("CL-203", "Fleece pullover, grey", "jacket", "#7d8590", "54.00", 31, "Warm when damp, dry in an hour. The zip reaches the breastbone."),
        ("CL-204", "Wool watch cap", "cap", "#4a2f27", "17.50", 75, "Knitted from undyed sheep's wool. It folds down over the ears."),
        ("CL-205", "Sailing gloves, short finger", "gloves", "#3a3a3a", "28.00", 44, "Amara palms with a second layer where the sheet runs. Sizes run small."),
        ("CL-206", "Deck boots, green", "boots", "#3f6b46", "72.00", 18, "Natural rubber with a sole that does not mark. A loop behind helps pulling them on."),
        ("CL-207", "Oilskin trousers, yellow", "trousers", "#e6b800", "96.00", 14, "High at the chest, with braces. The knees and the seat are doubled."),
        ("CL-208", "Sea socks, knee-high", "boots", "#39506b", "16.90", 66, "Merino outside, loops inside. They stay up without a tight band."),
        ("CL-209", "Sun hat with chin cord", "hat", "#c9b27c", "24.00", 29, "A wide brim, dark below, so that the water does not dazzle. The cord holds in a gale."),
        ("CL-210", "Buoyancy smock, red", "vest", "#b3332b", "128.00", 7, "Fifty newtons of foam sewn into a smock. For dinghies, not for the open sea."),
    ),
    *_goods(
        "Navigation",
        ("NV-301", "Hand bearing compass", "compass", "#c0392b", "64.00", 14, "Floats, glows for six hours and reads to one degree. Comes with a lanyard."),
        ("NV-302", "Bulkhead compass, 90 mm", "compass", "#202a36", "142.00", 6, "A slow card for quick boats. The light draws a tenth of a watt."),
        ("NV-303", "Paper chart of the Sound", "chart", "#9ec5d8", "29.00", 25, "Corrected to January. Printed on paper that survives coffee."),
        ("NV-304", "Parallel ruler, 46 cm", "ruler", "#d8d4c8", "23.50", 20, "Acrylic with brass arms. The edges are bevelled and do not smear ink."),
        ("NV-305", "Brass dividers", "dividers", "#b8893b", "18.75", 33, "Opened and closed with one hand. The points can be replaced."),
        ("NV-306", "Tide tables for the year", "book", "#2d6a6a", "12.00", 80, "Twelve ports from the Sound to the Head, with tidal streams and sunrise."),
        ("NV-307", "Cabin barometer, brass", "gauge", "#b8893b", "57.00", 11, "Set it once to the height of your berth. A falling needle is all the forecast you need."),
        ("NV-308", "Handheld radio, VHF", "radio", "#2a2f36", "154.00", 8, "Five watts, floats, and lights up when it falls into the water. All harbour channels."),
        ("NV-309", "Log book, hard cover", "book", "#7b2d26", "14.50", 52, "A hundred double pages with columns for course, wind, log and what went wrong."),
        ("NV-310", "Binoculars, 7 × 50", "binoculars", "#23303a", "176.00", 5, "Filled with nitrogen, so that they do not mist. A compass is in the left half."),
    ),
    *_goods(
        "Safety",
        ("SF-401", "Life jacket, adult, 150 N", "vest", "#d7451d", "98.00", 27, "Inflates by itself five seconds after it meets water. Spare cylinder sold apart."),
        ("SF-402", "Life jacket, child, 100 N", "vest", "#f07f2e", "62.00", 16, "Foam, so that nothing can fail. A handle behind the neck and a strap between the legs."),
        ("SF-403", "Horseshoe buoy with light", "lifebuoy", "#f2c230", "84.50", 8, "The light comes on when the buoy turns over. Mounting bracket included."),
        ("SF-404", "Flare kit, coastal", "flares", "#b22222", "119.00", 10, "Four hand flares, two smokes and two parachutes in a drum that keeps dry. Valid for three years."),
        ("SF-405", "First-aid box, boats to 12 m", "firstaid", "#2e7d4f", "76.00", 13, "Packed for a crew of four and two days from help. The list is on the inside of the lid."),
        ("SF-406", "Fog horn, no gas", "horn", "#c9c9c9", "21.00", 35, "Blown by mouth, heard at one mile, never empty."),
        ("SF-407", "Boarding ladder, four steps", "ladder", "#9aa3ab", "67.00", 10, "Hooks over the stern. The last step hangs far enough below the water to be of use."),
        ("SF-408", "Torch, floating", "torch", "#e0631f", "25.90", 41, "Shines for thirty hours on two cells and upwards when it floats."),
        ("SF-409", "Fire blanket, 1.2 m", "box", "#c62828", "31.00", 17, "Pull both tapes, cover the pan, turn off the burner, leave it there."),
        ("SF-410", "Safety line with two hooks", "rope", "#e8862b", "58.00", 13, "Two metres, elastic, with hooks that open by one hand and never by themselves."),
    ),
    *_goods(
        "Galley",
        ("GL-501", "Whistling kettle, 1.5 l", "kettle", "#b7bcc2", "34.00", 29, "A wide base that stays put when the boat does not. It whistles in a minor third."),
        ("GL-502", "Two-burner stove", "stove", "#5b6168", "265.00", 4, "Spirit stove on gimbals with pot holders. Needs no gas locker."),
        ("GL-503", "Enamel mug, blue", "mug", "#2b5c9e", "8.50", 150, "Holds a third of a litre and bounces. Chips are part of its charm."),
        ("GL-504", "Thermos flask, 1 l", "flask", "#37474f", "31.50", 38, "Tea at breakfast, tea at midnight. The cup doubles as a lid."),
        ("GL-505", "Sharp knife with sheath", "knife", "#8c6239", "27.00", 24, "Carbon steel that takes an edge. Oil it after fish."),
        ("GL-506", "Non-slip plates, set of four", "plates", "#e4e0d6", "36.00", 19, "A rubber ring below each. Stack without rattling."),
        ("GL-507", "Frying pan, 24 cm", "pan", "#2f2f33", "29.50", 22, "Forged iron with a handle that folds. It gets better with every mackerel."),
        ("GL-508", "Water can, folding, 10 l", "can", "#8fb7cc", "13.90", 47, "Stands when full, fits a drawer when empty. The tap is at the bottom."),
        ("GL-509", "Oil lamp for the cabin", "lamp", "#b8893b", "48.00", 9, "Swings on its own gimbals and warms the cabin a little. The wick is included."),
        ("GL-510", "Tea towel, code flags", "flag", "#c0392b", "9.50", 72, "Linen, printed with all forty signal flags. It dries plates and settles arguments."),
    ),
    *_goods(
        "Deck hardware",
        ("DH-601", "Horn cleat, 200 mm, bronze", "cleat", "#a8742a", "33.00", 26, "Cast in one piece and polished by hand. Fastens with four bolts."),
        ("DH-602", "Snap shackle, 70 mm", "shackle", "#c4c7cc", "41.00", 30, "Opens under load when it must. Stainless steel."),
        ("DH-603", "Single block, 57 mm", "block", "#3b3f46", "29.90", 34, "Ball bearings and a swivel that can be locked. For lines of up to 10 mm."),
        ("DH-604", "Fender, 60 cm, white", "fender", "#f1f1ec", "26.00", 48, "Blow it up to 0.15 bar. The eyes are reinforced at both ends."),
        ("DH-605", "Folding anchor, 3.2 kg", "anchor", "#70757c", "45.00", 11, "For dinghies and for lunch. Folds flat under a thwart."),
        ("DH-606", "Winch handle, floating", "handle", "#20242a", "39.50", 21, "Ten inches, locking, and it comes back up when you drop it."),
        ("DH-607", "Boat hook, 1.2 to 2.1 m", "hook", "#8a9097", "34.90", 23, "Locks at every length. The tip is soft, for the sake of your neighbour's paint."),
        ("DH-608", "Bilge pump, by hand", "pump", "#51606d", "52.00", 15, "Forty litres a minute if you are afraid enough. It takes apart without tools."),
        ("DH-609", "Bucket with rope", "bucket", "#2b3a45", "17.00", 58, "Rubber that survives being stood upon. The handle is spliced, not screwed."),
        ("DH-610", "Harbour flag, 30 × 45 cm", "flag", "#1f5f8b", "11.90", 36, "Blue with a white gull, sewn on both sides. Visitors fly it to starboard."),
    ),
    *_goods(
        "Paint and care",
        ("PC-701", "Antifouling, red, 2.5 l", "tin", "#9c2a23", "88.00", 17, "One tin does two coats on eight metres. Launch within sixty days."),
        ("PC-702", "Deck varnish, gloss, 1 l", "tin", "#c98a2b", "42.00", 23, "Keeps the yellow out of spruce and the grey out of teak. Six coats and patience."),
        ("PC-703", "Deck paint, non-slip, grey", "tin", "#8d949c", "51.00", 14, "Fine grit that knees forgive. Covers ten square metres."),
        ("PC-704", "Teak cleaner, 1 l", "bottle", "#6b8f4e", "18.90", 40, "Wet, brush along the grain, rinse. Plants below the mooring do not mind it."),
        ("PC-705", "Hull polish, 500 ml", "bottle", "#3f78b5", "22.40", 37, "Takes off the chalk of ten summers. Use a soft wheel."),
        ("PC-706", "Badger brush, 50 mm", "brush", "#5a3d28", "24.00", 28, "Lays varnish without bubbles. Lives for years if it is washed the same evening."),
        ("PC-707", "Epoxy filler, 400 g", "tin", "#4f7f7a", "27.50", 26, "Two parts, one to one. It is hard by the evening and can be sanded in the morning."),
        ("PC-708", "Sanding block with ten sheets", "block_of_wood", "#b58a56", "15.00", 44, "Cork below beech. The sheets go from 80 to 320 and clip in without screws."),
        ("PC-709", "Linseed oil, raw, 1 l", "bottle", "#b5862a", "16.50", 31, "For oars, tillers and boat sheds. Wash the rags before you put them away."),
        ("PC-710", "Sail repair tape, 5 m", "tape", "#e9e6dc", "12.80", 63, "Sticks on dry Dacron and holds until you are home, or until next year."),
    ),
    *_goods(
        "Fishing",
        ("FI-801", "Mackerel line with six hooks", "fish", "#3d7ea6", "6.90", 90, "Feathers in three colours. Lower, wait for the tug, pull up supper."),
        ("FI-802", "Boat rod, 2.1 m", "rod", "#33424f", "68.00", 12, "Two parts, quick to rig, stiff enough for cod."),
        ("FI-803", "Reel, right-handed", "reel", "#a9adb3", "79.00", 9, "A drag that does not stick. Holds 250 metres of 0.35."),
        ("FI-804", "Landing net, folding", "net", "#4f8f6a", "32.00", 20, "Rubber mesh that spares the fish. The handle reaches 1.4 metres."),
        ("FI-805", "Crab pot", "pot", "#8b3f2b", "37.50", 15, "Two doors, one way in. Weighted, with a marker float."),
        ("FI-806", "Bait box with ice pack", "box", "#d06a2c", "19.00", 33, "Keeps bait cold and its smell inside."),
        ("FI-807", "Squid jigs, set of five", "fish", "#a0527a", "14.20", 34, "They glow after a minute in the sun. Fish them at slack water below a lamp."),
        ("FI-808", "Filleting knife, 18 cm", "knife", "#45606e", "38.50", 16, "Thin enough to bend around a spine. The sheath drains."),
        ("FI-809", "Shrimp net for children", "net", "#d0862c", "10.50", 49, "A handle of bamboo and a mesh that holds shrimps, crabs and treasure."),
        ("FI-810", "Rod holder, clamp-on", "holder", "#70757c", "26.50", 20, "Grips rails from 20 to 32 mm. Turns, tilts and does not let go."),
    ),
)
# fmt: on
