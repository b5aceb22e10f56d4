"""`magistrate webhooks`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.running import KEY, Client, running_service, settings_for
from tests.waiting import wait_until
from tests.webhook_receiver import WebhookReceiver, answer_status, receiving

AWAY = "http://127.0.0.1:1/hook"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """That of a service which may send to this machine."""
    folder: Path = tmp_path_factory.mktemp("webhooks")
    settings = settings_for(f"sqlite:///{folder}/m.db", webhook_allow_networks="127.0.0.1/32")
    with running_service(settings) as served:
        yield served


@pytest.fixture
def magistrate(url: str) -> Iterator[Magistrate]:
    commands = Magistrate(url)
    yield commands
    named = [webhook["id"] for webhook in commands.json("webhooks", "list")["results"]]
    if named:
        commands.done("webhooks", "delete", *named)


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with receiving() as receiver:
        yield receiver


def test_a_webhook_is_created_listed_shown_and_deleted(magistrate: Magistrate) -> None:
    created = magistrate.done("webhooks", "create", AWAY, "--object-type", "document", "--relation", "viewer")
    [listed] = magistrate.json("webhooks", "list")["results"]
    shown = magistrate.done("webhooks", "show", listed["id"])
    deleted = magistrate.done("webhooks", "delete", listed["id"])

    assert created.splitlines()[-1].startswith("Secret, shown only this once: whsec_")
    assert (listed["url"], listed["objectType"], listed["relation"]) == (AWAY, ["document"], ["viewer"])
    assert "objectType=document relation=viewer" in shown
    assert "whsec_" not in shown
    assert deleted == f"deleted  {listed['id']}\n"
    assert magistrate.json("webhooks", "list")["results"] == []


def test_an_update_changes_what_its_options_name(magistrate: Magistrate) -> None:
    made = magistrate.json(
        "webhooks", "create", AWAY, "--object-type", "document", "--description", "search", "--disabled"
    )
    moved = magistrate.json("webhooks", "update", made["id"], "--to", f"{AWAY}/2")
    widened = magistrate.json("webhooks", "update", made["id"], "--object-type", "", "--description", "")
    fault = magistrate.failed("webhooks", "update", made["id"])

    assert (moved["url"], moved["objectType"], moved["description"]) == (f"{AWAY}/2", ["document"], "search")
    assert (widened["url"], "objectType" in widened, "description" in widened) == (f"{AWAY}/2", False, False)
    assert fault == "nothing is to be changed: give --to, --description or a filter"


def test_a_disabled_webhook_goes_on_where_it_was_when_it_is_enabled(
    magistrate: Magistrate, receiver: WebhookReceiver
) -> None:
    made = magistrate.json("webhooks", "create", receiver.url, "--object-type", "user")
    disabled = magistrate.json("webhooks", "disable", made["id"])
    magistrate.done("objects", "create", "user:ann")
    with Client(magistrate.url, KEY) as client:
        token = client.get("/v2/objects").headers["Warrant-Token"]
    enabled = magistrate.json("webhooks", "enable", made["id"])
    receiver.wait_for(1)

    assert (disabled["state"], enabled["state"]) == ("disabled", "enabled")
    assert receiver.tokens == [token]


def test_a_replay_sends_what_followed_a_token_again(magistrate: Magistrate, receiver: WebhookReceiver) -> None:
    with Client(magistrate.url, KEY) as client:
        token = client.get("/v2/objects").headers["Warrant-Token"]
    made = magistrate.json("webhooks", "create", receiver.url, "--object-type", "user")
    magistrate.done("objects", "create", "user:kim")
    receiver.wait_for(1)
    magistrate.done("webhooks", "replay", made["id"], "--since", token)
    receiver.wait_for(2)

    assert receiver.ids[0] == receiver.ids[1]
    # An attempt is recorded when its answer has come.
    wait_until(lambda: len(magistrate.json("webhooks", "deliveries", made["id"])["results"]) == 2)
    attempts = magistrate.json("webhooks", "deliveries", made["id"])["results"]
    assert [attempt["status"] for attempt in attempts] == [204, 204]


def test_a_test_fails_if_the_receiver_does_not_take_it(magistrate: Magistrate, receiver: WebhookReceiver) -> None:
    made = magistrate.json("webhooks", "create", receiver.url)
    taken = magistrate.json("webhooks", "test", made["id"])
    receiver.answers.append(answer_status(500))
    refused = magistrate("webhooks", "test", made["id"])

    assert taken["status"] == 204
    assert refused.exit_code == 1
    assert "the answer has the status 500" in refused.stdout


def test_a_rotated_secret_is_another_one(magistrate: Magistrate) -> None:
    made = magistrate.json("webhooks", "create", AWAY)
    rotated = magistrate.json("webhooks", "rotate", made["id"])

    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != made["secret"]
