"""A real PostgreSQL server of Debian's packages, with data of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from components.ports import free_port

USER = "nobody"
"""Who runs the server where the tests run as root, which PostgreSQL refuses."""


def find_programs() -> Path | None:
    """The folder of PostgreSQL's programs; None if it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb")
    return folders[-1] if folders else (Path(found).parent if found else None)


@contextlib.contextmanager
def postgres(*databases: str) -> Iterator[str]:
    """Run a server with some databases; the address without a database: `waymark:secret@127.0.0.1:PORT`."""
    import psycopg

    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed: `make postgres` installs it"
    with tempfile.TemporaryDirectory(prefix="waymark-postgres-") as name:
        folder, port, user = Path(name), free_port(), USER if os.geteuid() == 0 else None
        password = folder / "password"
        password.write_text("secret")
        for path in (folder, password):
            if user:
                shutil.chown(path, user)
        options = ["--username=waymark", f"--pwfile={password}", "--auth=scram-sha-256", "--no-sync"]
        command = [programs / "initdb", "-D", folder / "data", *options]
        subprocess.run(command, check=True, capture_output=True, user=user, cwd=folder)
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-p", str(port), "-k", folder, "-h", "127.0.0.1"],
                stdout=log, stderr=log, user=user, cwd=folder,
            )  # fmt: skip
        try:
            for _ in range(100):
                try:
                    admin = psycopg.connect(f"postgresql://waymark:secret@127.0.0.1:{port}/postgres")
                    break
                except psycopg.OperationalError:
                    assert server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)
            admin.autocommit = True
            with admin.cursor() as cursor:
                for database in databases:
                    cursor.execute(f"CREATE DATABASE {database}")
            admin.close()
            yield f"waymark:secret@127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=30)
