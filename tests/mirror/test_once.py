"""A mirror of a real service that runs once."""

from pathlib import Path

import pytest

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import Mirror, MirrorOptions
from magistrate.mirror.open_target import choose_target
from magistrate.operations.watch import access_reader, revision_feed
from tests.mirror.tables import read_position, read_rows, row
from tests.running import KEY, Client


def test_it_ends_if_the_newest_writes_changed_no_access(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for a checkpoint that comes because a time has passed, which would break its stream off here."""
    for module in (access_reader, revision_feed):
        monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 3_600.0)
    client.define({"user": {}, "document": {"viewer": {}}, "folder": {"viewer": {}}})
    url, tokens = f"sqlite:///{tmp_path}/app.db", []
    for written in ("document:a#viewer@user:ann", "folder:f#viewer@user:ann"):
        client.grant(written)
        with ApiClient(str(client.base_url), KEY) as api:
            Mirror(api, choose_target(url, "access"), MirrorOptions(["document#viewer@user"], once=True)).run()
            tokens.append(api.read_model()[1])
        position = read_position(url)
        assert position is not None
        assert position[1] == tokens[-1]

    assert tokens[0] != tokens[1]
    assert read_rows(url) == {row("document:a#viewer@user:ann")}
