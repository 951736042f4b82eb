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


def _goods(category: str, drawing: str, *rows: tuple[str, str, str, str, int, str]) -> list[Good]:
    return [
        Good(code, title, category, drawing, colour, Decimal(price), stock, description)
        for code, title, colour, price, stock, description in rows
    ]


GOODS: tuple[Good, ...] = (
    *_goods(
        "Ropes and lines",
        "rope",
        (
            "RL-101",
            "Mooring rope, 10 mm, 15 m",
            "#c8a165",
            "24.50",
            40,
            "Three-strand polyester with a spliced eye at one end. Sinks, so that no propeller catches it.",
        ),
        (
            "RL-102",
            "Mooring rope, 14 mm, 20 m",
            "#8a6d3b",
            "46.00",
            22,
            "The same lay for boats of up to nine tonnes. The eye is protected by leather.",
        ),
        (
            "RL-103",
            "Braided halyard, 8 mm, 30 m",
            "#2f5d8a",
            "58.90",
            15,
            "Low stretch and easy on the hands. A red fleck tells it from the sheets at night.",
        ),
        (
            "RL-104",
            "Floating heaving line, 25 m",
            "#e0a82e",
            "19.95",
            60,
            "Light polypropylene that stays on the surface. The weighted end flies straight.",
        ),
        (
            "RL-105",
            "Shock cord, 6 mm, by 10 m",
            "#3c3c3c",
            "9.80",
            120,
            "Rubber core in a woven cover. For sail covers, fenders and anything that rattles.",
        ),
        (
            "RL-106",
            "Whipping twine, waxed",
            "#d9cbb0",
            "4.25",
            200,
            "Keeps rope ends from fraying. One spool does about eighty ends.",
        ),
    ),
    *_goods(
        "Clothing",
        "jacket",
        (
            "CL-201",
            "Offshore jacket, yellow",
            "#e6b800",
            "189.00",
            12,
            "Taped seams, a high collar and cuffs that close over gloves. Cut long enough to sit on wet decks.",
        ),
        (
            "CL-202",
            "Offshore jacket, navy",
            "#22375e",
            "189.00",
            9,
            "The yellow jacket's quieter brother. Reflective tape on both shoulders.",
        ),
        (
            "CL-203",
            "Fleece pullover, grey",
            "#7d8590",
            "54.00",
            31,
            "Warm when damp, dry in an hour. The zip reaches the breastbone.",
        ),
        (
            "CL-204",
            "Wool watch cap",
            "#4a2f27",
            "17.50",
            75,
            "Knitted from undyed sheep's wool. It folds down over the ears.",
        ),
        (
            "CL-205",
            "Sailing gloves, short finger",
            "#3a3a3a",
            "28.00",
            44,
            "Amara palms with a second layer where the sheet runs. Sizes run small.",
        ),
        (
            "CL-206",
            "Deck boots, green",
            "#3f6b46",
            "72.00",
            18,
            "Natural rubber with a sole that does not mark. A loop behind helps pulling them on.",
        ),
    ),
    *_goods(
        "Navigation",
        "compass",
        (
            "NV-301",
            "Hand bearing compass",
            "#c0392b",
            "64.00",
            14,
            "Floats, glows for six hours and reads to one degree. Comes with a lanyard.",
        ),
        (
            "NV-302",
            "Bulkhead compass, 90 mm",
            "#202a36",
            "142.00",
            6,
            "A slow card for quick boats. The light draws a tenth of a watt.",
        ),
        (
            "NV-303",
            "Paper chart of the Sound",
            "#9ec5d8",
            "29.00",
            25,
            "Corrected to January. Printed on paper that survives coffee.",
        ),
        (
            "NV-304",
            "Parallel ruler, 46 cm",
            "#d8d4c8",
            "23.50",
            20,
            "Acrylic with brass arms. The edges are bevelled and do not smear ink.",
        ),
        (
            "NV-305",
            "Brass dividers",
            "#b8893b",
            "18.75",
            33,
            "Opened and closed with one hand. The points can be replaced.",
        ),
        (
            "NV-306",
            "Tide tables for the year",
            "#2d6a6a",
            "12.00",
            80,
            "Twelve ports from the Sound to the Head, with tidal streams and sunrise.",
        ),
    ),
    *_goods(
        "Safety",
        "lifebuoy",
        (
            "SF-401",
            "Life jacket, adult, 150 N",
            "#d7451d",
            "98.00",
            27,
            "Inflates by itself five seconds after it meets water. Spare cylinder sold apart.",
        ),
        (
            "SF-402",
            "Life jacket, child, 100 N",
            "#f07f2e",
            "62.00",
            16,
            "Foam, so that nothing can fail. A handle behind the neck and a strap between the legs.",
        ),
        (
            "SF-403",
            "Horseshoe buoy with light",
            "#f2c230",
            "84.50",
            8,
            "The light comes on when the buoy turns over. Mounting bracket included.",
        ),
        (
            "SF-404",
            "Flare kit, coastal",
            "#b22222",
            "119.00",
            10,
            "Four hand flares, two smokes and two parachutes in a drum that keeps dry. Valid for three years.",
        ),
        (
            "SF-405",
            "First-aid box, boats to 12 m",
            "#2e7d4f",
            "76.00",
            13,
            "Packed for a crew of four and two days from help. The list is on the inside of the lid.",
        ),
        ("SF-406", "Fog horn, no gas", "#c9c9c9", "21.00", 35, "Blown by mouth, heard at one mile, never empty."),
    ),
    *_goods(
        "Galley",
        "kettle",
        (
            "GL-501",
            "Whistling kettle, 1.5 l",
            "#b7bcc2",
            "34.00",
            29,
            "A wide base that stays put when the boat does not. It whistles in a minor third.",
        ),
        (
            "GL-502",
            "Two-burner stove",
            "#5b6168",
            "265.00",
            4,
            "Spirit stove on gimbals with pot holders. Needs no gas locker.",
        ),
        (
            "GL-503",
            "Enamel mug, blue",
            "#2b5c9e",
            "8.50",
            150,
            "Holds a third of a litre and bounces. Chips are part of its charm.",
        ),
        (
            "GL-504",
            "Thermos flask, 1 l",
            "#37474f",
            "31.50",
            38,
            "Tea at breakfast, tea at midnight. The cup doubles as a lid.",
        ),
        (
            "GL-505",
            "Sharp knife with sheath",
            "#8c6239",
            "27.00",
            24,
            "Carbon steel that takes an edge. Oil it after fish.",
        ),
        (
            "GL-506",
            "Non-slip plates, set of four",
            "#e4e0d6",
            "36.00",
            19,
            "A rubber ring below each. Stack without rattling.",
        ),
    ),
    *_goods(
        "Deck hardware",
        "cleat",
        (
            "DH-601",
            "Horn cleat, 200 mm, bronze",
            "#a8742a",
            "33.00",
            26,
            "Cast in one piece and polished by hand. Fastens with four bolts.",
        ),
        ("DH-602", "Snap shackle, 70 mm", "#c4c7cc", "41.00", 30, "Opens under load when it must. Stainless steel."),
        (
            "DH-603",
            "Single block, 57 mm",
            "#3b3f46",
            "29.90",
            34,
            "Ball bearings and a swivel that can be locked. For lines of up to 10 mm.",
        ),
        (
            "DH-604",
            "Fender, 60 cm, white",
            "#f1f1ec",
            "26.00",
            48,
            "Blow it up to 0.15 bar. The eyes are reinforced at both ends.",
        ),
        (
            "DH-605",
            "Folding anchor, 3.2 kg",
            "#70757c",
            "45.00",
            11,
            "For dinghies and for lunch. Folds flat under a thwart.",
        ),
        (
            "DH-606",
            "Winch handle, floating",
            "#20242a",
            "39.50",
            21,
            "Ten inches, locking, and it comes back up when you drop it.",
        ),
    ),
    *_goods(
        "Paint and care",
        "tin",
        (
            "PC-701",
            "Antifouling, red, 2.5 l",
            "#9c2a23",
            "88.00",
            17,
            "One tin does two coats on eight metres. Launch within sixty days.",
        ),
        (
            "PC-702",
            "Deck varnish, gloss, 1 l",
            "#c98a2b",
            "42.00",
            23,
            "Keeps the yellow out of spruce and the grey out of teak. Six coats and patience.",
        ),
        (
            "PC-703",
            "Deck paint, non-slip, grey",
            "#8d949c",
            "51.00",
            14,
            "Fine grit that knees forgive. Covers ten square metres.",
        ),
        (
            "PC-704",
            "Teak cleaner, 1 l",
            "#6b8f4e",
            "18.90",
            40,
            "Wet, brush along the grain, rinse. Plants below the mooring do not mind it.",
        ),
        (
            "PC-705",
            "Hull polish, 500 ml",
            "#3f78b5",
            "22.40",
            37,
            "Takes off the chalk of ten summers. Use a soft wheel.",
        ),
        (
            "PC-706",
            "Badger brush, 50 mm",
            "#5a3d28",
            "24.00",
            28,
            "Lays varnish without bubbles. Lives for years if it is washed the same evening.",
        ),
    ),
    *_goods(
        "Fishing",
        "fish",
        (
            "FI-801",
            "Mackerel line with six hooks",
            "#3d7ea6",
            "6.90",
            90,
            "Feathers in three colours. Lower, wait for the tug, pull up supper.",
        ),
        ("FI-802", "Boat rod, 2.1 m", "#33424f", "68.00", 12, "Two parts, quick to rig, stiff enough for cod."),
        (
            "FI-803",
            "Reel, right-handed",
            "#a9adb3",
            "79.00",
            9,
            "A drag that does not stick. Holds 250 metres of 0.35.",
        ),
        (
            "FI-804",
            "Landing net, folding",
            "#4f8f6a",
            "32.00",
            20,
            "Rubber mesh that spares the fish. The handle reaches 1.4 metres.",
        ),
        ("FI-805", "Crab pot", "#8b3f2b", "37.50", 15, "Two doors, one way in. Weighted, with a marker float."),
        ("FI-806", "Bait box with ice pack", "#d06a2c", "19.00", 33, "Keeps bait cold and its smell inside."),
    ),
)
