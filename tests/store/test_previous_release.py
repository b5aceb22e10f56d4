"""A database that the previous release has written is served as it is."""

import sqlite3
from pathlib import Path

from tests.running import Client, running_service, settings_for

DUMP = Path(__file__).with_name("previous_release.sql")


def test_a_database_of_the_previous_release_is_opened_read_and_written(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "m.db") as database:
        database.executescript(DUMP.read_text())
    database.close()

    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        listed = client.get("/v2/objects?objectType=document").json()["results"]
        results = [
            client.ask(written).json()["result"]
            for written in (
                "document:plan#viewer@user:ann",
                "document:plan#viewer@user:bob",
                "document:plan#viewer@user:eve",
            )
        ]
        found = client.get("/v2/query?q=select viewer of type user for document:plan").json()["results"]
        client.grant("document:/a,b{c}#viewer@user:x+y@z.org")
        longer = client.ask("document:/a,b{c}#viewer@user:x+y@z.org").json()["result"]

    assert [row["objectId"] for row in listed] == ["..", "plan"]
    assert results == ["Authorized", "Authorized", "Not Authorized"]
    assert [row["objectId"] for row in found] == ["ann", "bob"]
    assert longer == "Authorized"
