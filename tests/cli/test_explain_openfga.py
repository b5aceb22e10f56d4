"""`magistrate explain` and `check --explain` in a store of OpenFGA's API: its names are shown, ours are sent."""

import pytest

from tests.cli.cases import Magistrate
from tests.openfga.conversation import OpenFga, computed, define, model, this, union
from tests.openfga.requests import write
from tests.running import Client

MODEL = model(
    define("user"),
    define("team", member=(this(), ["user"])),
    define(
        "page",
        viewer=(this(), ["user", "team#member"]),
        **{"can.read": (union(this(), computed("viewer")), ["user"])},
    ),
)


@pytest.fixture
def openfga(shared_client: Client) -> OpenFga:
    store = OpenFga.create(shared_client)
    store.write_model(MODEL)
    write(store, "team:core member user:ann", "page:a* viewer team:core#member").raise_for_status()
    return store


def find_can_read(openfga: OpenFga) -> str:
    rows = openfga.get("v2/object-types").json()["results"]
    [name] = [name for row in rows for name in row["relations"] if name.startswith("relation_can__read-")]
    return str(name)


def test_the_tree_has_the_names_of_openfga(openfga: OpenFga, magistrate: Magistrate) -> None:
    can_read = find_can_read(openfga)

    shown = magistrate.done("explain", f"page:a%2A#{can_read}@user:ann", "--store", openfga.store_id)

    assert [line.strip() for line in shown.splitlines()] == [
        "allowed",
        "yes  page:a*#can.read@user:ann",
        "yes  team:core#member@user:ann  by page:a*#viewer@team:core#member",
        "yes  team:core#member@user:ann  by team:core#member@user:ann",
    ]


def test_a_denial_has_the_names_of_openfga_and_changes_have_both(openfga: OpenFga, magistrate: Magistrate) -> None:
    can_read = find_can_read(openfga)

    shown = magistrate("check", f"page:a%2A#{can_read}@user:zoe", "--explain", "--store", openfga.store_id).stdout

    assert "user:zoe is not can.read of page:a*; the closest it comes:" in shown
    assert "team:core#member  is viewer of      page:a*" in shown
    direct = "create  page:a%2A#direct_viewer@user:zoe  (in OpenFGA: page:a*#viewer@user:zoe; no effect on others)"
    assert direct in shown
    assert "with all else that team:core#member has" in shown
