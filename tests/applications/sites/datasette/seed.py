"""The database of a harbour, and Datasette's settings: who logs in, and which queries write."""

import json
import os
import sqlite3
from pathlib import Path

from datasette_auth_passwords.utils import hash_password

STATE = Path(os.environ["STATE"])
FLAGS = ("Norway", "Italy", "Ghana", "Chile")

with sqlite3.connect(STATE / "harbour.db") as database:
    database.execute("create table ships (id integer primary key, name text, flag text, tons integer)")
    database.executemany(
        "insert into ships (name, flag, tons) values (?, ?, ?)",
        [(f"Vessel {number:03}", FLAGS[number % 4], 100 + number * 37 % 900) for number in range(1, 241)],
    )

STAFF = {"id": "harbourmaster"}
QUERIES = {
    "add_ship": {
        "title": "Add a ship",
        "sql": "insert into ships (name, flag, tons) values (:name, :flag, :tons)",
        "write": True,
        "on_success_message": "The ship is in the register.",
        "allow": STAFF,
    },
    "rename_ship": {
        "title": "Rename a ship",
        "sql": "update ships set name = :name where id = :id",
        "write": True,
        "on_success_message": "The ship has its new name.",
        "allow": STAFF,
    },
    "delete_ship": {
        "title": "Delete a ship",
        "sql": "delete from ships where id = :id",
        "write": True,
        "on_success_message": "The ship has left the register.",
        "allow": STAFF,
    },
}
METADATA = {
    "title": "The harbour",
    "databases": {"harbour": {"queries": QUERIES}},
    "plugins": {
        "datasette-auth-passwords": {
            "harbourmaster_password_hash": hash_password("pilot"),
            "actors": {"harbourmaster": STAFF},
        }
    },
}
(STATE / "metadata.json").write_text(json.dumps(METADATA))
