"""What `--verify` finds, by full queries of a real service."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import MirrorOptions
from magistrate.mirror.open_target import choose_target
from magistrate.mirror.rows import MirroredAccess, MirrorPosition
from magistrate.mirror.target import MirrorTarget
from magistrate.mirror.verification import Verification, verify_mirror
from tests.cli.cases import Magistrate
from tests.mirror.tables import row, run_on
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

CONTEXT_POLICY = 'tier == "gold"'
TYPES = {"user": {}, "team": {"member": {}}, "page": {"blocked": {}, "viewer": {}, "reader": {"inheritIf": "viewer"}}}
OF = "page#reader@user,page#viewer@user"
TRUTH = {
    row(f"page:{page}#{relation}@user:{user}")
    for relation in ("reader", "viewer")
    for page, user in (("a,b", "ann"), ("home", "*"), ("home", "ann"), ("home", "é"), ("日本", "ann"), ("日本", "é"))
} | {
    row(f"page:{page}#{relation}@user:é", is_conditional=True)
    for relation in ("reader", "viewer")
    for page in ("a,b", "draft", "shown")
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/app.db"


@pytest.fixture
def position(client: Client) -> MirrorPosition:
    client.define(TYPES)
    client.grant("team:eng#member@user:ann", "page:a,b#viewer@user:ann", "page:home#viewer@user:*")
    client.grant("page:日本#viewer@team:eng#member", "team:eng#member@user:é")
    grant_with_context(client, "page:a,b#viewer@user:é", "page:draft#viewer@user:é", "page:shown#viewer@user:é")
    with ApiClient(str(client.base_url), KEY) as api:
        model, token = api.read_model()
    assert model
    client.grant("page:later#viewer@user:ann", "page:shown#viewer@user:é")
    grant_with_context(client, "page:later#viewer@user:é")
    client.delete_json("/v2/objects", [{"objectType": "page", "objectId": "draft"}])
    return MirrorPosition(OF, token, token, "2025-11-27T10:00:00.000000Z", True)


def grant_with_context(client: Client, *written: str) -> None:
    client.write([warrant_body(each) | {"policy": CONTEXT_POLICY} for each in written])


def verify(client: Client, url: str, position: MirrorPosition, access: set[MirroredAccess]) -> Verification:
    target: MirrorTarget = choose_target(url, "access")
    target.open()
    target.begin_load()
    target.add_rows([*access])
    target.finish_load(position)
    with ApiClient(str(client.base_url), KEY) as api:
        verification = verify_mirror(api, target, MirrorOptions(OF.split(","), position.has_wildcards))
    target.close()
    assert verification is not None
    return verification


def test_a_table_agrees_as_of_its_position(client: Client, url: str, position: MirrorPosition) -> None:
    verification = verify(client, url, position, TRUTH)

    assert verification.agrees
    assert verification.rows == len(TRUTH)


def test_a_position_is_not_that_of_a_later_write_that_was_made_before_its_time(
    client: Client, url: str, position: MirrorPosition
) -> None:
    later = datetime.now(UTC)
    time = later.isoformat(timespec="microseconds").replace("+00:00", "Z")
    reached = f"{position.token}.{(later - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)}"

    assert verify(client, url, replace(position, id=reached, time=time), TRUTH).agrees


def test_rows_that_differ_are_counted_and_named(client: Client, url: str, position: MirrorPosition) -> None:
    lacking, other = row("page:home#reader@user:é"), row("page:gone#viewer@user:zoe")
    conditional = row("page:home#viewer@user:ann")
    lacking_with_context, unconditional = (
        row(f"page:{page}#viewer@user:é", is_conditional=True) for page in ("draft", "shown")
    )
    access = TRUTH - {lacking, lacking_with_context, conditional, unconditional}
    access |= {other, conditional._replace(is_conditional=True), unconditional._replace(is_conditional=False)}

    verification = verify(client, url, position, access)

    assert verification.missing == [lacking_with_context.key, lacking.key]
    assert verification.unexpected == [other.key]
    assert verification.not_conditional == [conditional.key]
    assert verification.only_conditional == [unconditional.key]
    assert verification.total == 5


def test_conditional_rows_that_are_lost_since_are_no_difference_and_later_ones_are(
    client: Client, url: str, position: MirrorPosition
) -> None:
    later = row("page:later#viewer@user:é", is_conditional=True)

    assert verify(client, url, position, TRUTH).agrees
    assert verify(client, url, position, TRUTH | {later}).unexpected == [later.key]


def test_wildcards_that_are_left_out_are_no_difference(client: Client, url: str, position: MirrorPosition) -> None:
    own = MirrorPosition(OF, position.token, position.id, position.time, False)

    assert verify(client, url, own, {each for each in TRUTH if not each.key.has_wildcard}).agrees
    assert verify(client, url, own, TRUTH).total == 2


def test_the_command_exits_with_1_if_rows_differ(client: Client, url: str, position: MirrorPosition) -> None:
    magistrate = Magistrate(str(client.base_url))
    arguments = ("mirror", "--of", OF, "--to", url, "--verify")
    verify(client, url, position, TRUTH)
    assert magistrate.done(*arguments) == f"{len(TRUTH)} rows are compared as of {position.time}: all agree\n"

    run_on(url, "DELETE FROM access WHERE object_id = 'a,b' AND relation = 'viewer'")
    result = magistrate(*arguments)

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "missing  page:a,b#viewer@user:ann"
    assert magistrate.json_of(*arguments)["missing"] == ["page:a,b#viewer@user:ann", "page:a,b#viewer@user:é"]


def test_a_table_with_other_access_is_not_compared(client: Client, url: str, position: MirrorPosition) -> None:
    verify(client, url, position, TRUTH)

    failed = Magistrate(str(client.base_url)).failed("mirror", "--of", "page#viewer@user", "--to", url, "--verify")

    assert f"the table has the access {OF}" in failed
