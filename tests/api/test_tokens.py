"""Consistency tokens over HTTP (docs/compatibility.md#tokens)."""

from pathlib import Path

import pytest

from magistrate.engine.names import Revision
from magistrate.operations.consistency import write_token
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from magistrate.store.contract.stores import read_ulid
from tests.running import Client, running_service, settings_for

READS = [
    "/v2/objects",
    "/v2/object-types",
    "/v2/objects/d/x",
    "/v2/object-types/user",
    "/v2/warrants",
    "/v2/query?q=select+role+where+user:ann+is+member",
    "/v1/users",
    "/v1/users/ann/roles",
    "/v1/query?select=warrants&for=subject=user:ann",
    "/v1/query?select=warrants&for=subject=user:ann&where=subject=user:bob",
    "/v1/query?select=explicit+warrants",
    *[f"/{version}/{kind}-events" for version in ("v1", "v2") for kind in ("resource", "access")],
]
HEADERS = ["Service-Token", "Warrant-Token"]
OTHER_STORE = Identity("00" * 8, "00" * 16)
REVISION_LOST = {
    "code": "revision_lost",
    "message": "the write of this token is not in the store: it was restored, or failed over without it",
}


def write(client: Client) -> str:
    """A token of a write."""
    token: str = client.post("/v2/objects", json={"objectType": "d", "objectId": "x"}).headers["service-token"]
    return token


def test_every_write_answers_a_new_token_in_both_headers(client: Client) -> None:
    writes = [
        client.post("/v2/objects", json={"objectType": "d", "objectId": "x"}),
        client.post("/v2/objects", json=[{"objectType": "d", "objectId": "y"}, {"objectType": "d", "objectId": "z"}]),
        client.put("/v2/objects/d/x", json={"meta": {"a": 1}}),
        client.delete("/v2/objects/d/x"),
        client.delete_json("/v2/objects", [{"objectType": "d", "objectId": "y"}]),
        client.post("/v2/object-types", json={"type": "t", "relations": {}}),
        client.put("/v2/object-types", json=[{"type": "t", "relations": {"a": {}}}]),
        client.put("/v2/object-types/t", json={"relations": {}}),
        client.delete("/v2/object-types/t"),
    ]

    assert [answer.status_code for answer in writes] == [200] * len(writes)
    tokens = [answer.headers["service-token"] for answer in writes]
    assert tokens == [answer.headers["warrant-token"] for answer in writes]
    assert len(set(tokens)) == len(writes)


@pytest.mark.parametrize("path", READS)
def test_a_read_answers_the_token_of_its_revision(client: Client, path: str) -> None:
    token = write(client)

    first = client.get(path)
    assert first.headers["service-token"] == first.headers["warrant-token"] == token

    write_again = client.put("/v2/objects/d/x", json={"meta": {"a": 1}}).headers["service-token"]
    assert client.get(path).headers["service-token"] == write_again != token


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("header", HEADERS)
def test_a_read_accepts_its_own_tokens_and_latest_in_either_header(
    shared_client: Client, path: str, header: str
) -> None:
    old, new = write(shared_client), write(shared_client)

    for token in (old, new, "latest"):
        assert shared_client.get(path, headers={header: token}).status_code == 200
        both = {"Service-Token": token, "Warrant-Token": token}
        assert shared_client.get(path, headers=both).status_code == 200


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("header", HEADERS)
def test_a_token_of_another_store_is_refused(shared_client: Client, path: str, header: str) -> None:
    write(shared_client)

    refused = shared_client.get(path, headers={header: write_token(OTHER_STORE, RevisionId(Revision(1), None))})

    assert refused.status_code == 400
    assert refused.json() == {
        "code": "invalid_parameter",
        "message": "the token is of another store",
        "parameter": header,
    }


@pytest.mark.parametrize("path", READS)
def test_a_token_whose_revision_does_not_exist_is_refused(tmp_path: Path, path: str) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        import apsw

        [(ulid,)] = apsw.Connection(f"{tmp_path}/m.db").execute("SELECT id FROM store").fetchall()
        write(client)
        token = write_token(Identity(read_ulid(str(ulid))[-8:].hex(), "00" * 16), RevisionId(Revision(3), None))

        refused = client.get(path, headers={"Warrant-Token": token})
        write(client)
        accepted = client.get(path, headers={"Warrant-Token": token})

    assert (refused.status_code, refused.json()) == (409, REVISION_LOST)
    assert accepted.status_code == 200


@pytest.mark.parametrize("text", ["", "Latest", "MTs0MzI7MTcwMDAwMDAwMDAwMA==", "x" * 28, "x" * 5000, "<script>", "ü"])
def test_other_text_is_ignored_and_counted(shared_client: Client, text: str) -> None:
    def counted() -> float:
        line = next(
            line
            for line in shared_client.get("/metrics").text.splitlines()
            if line.startswith("magistrate_unknown_tokens_total")
        )
        return float(line.split()[1])

    before = counted()
    answer = shared_client.get("/v2/objects", headers={b"Warrant-Token": text.encode("latin-1")})

    assert answer.status_code == 200
    assert counted() == before + 1


def test_a_damaged_token_is_other_text(client: Client) -> None:
    token = write(client)

    for position in range(len(token)):
        damaged = token[:position] + ("A" if token[position] != "A" else "B") + token[position + 1 :]
        assert client.get("/v2/objects", headers={"Service-Token": damaged}).status_code == 200


def test_two_headers_that_differ_are_refused(client: Client) -> None:
    refused = client.get("/v2/objects", headers={"Service-Token": write(client), "Warrant-Token": "latest"})

    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid_request"


@pytest.mark.parametrize(
    "path", ["/v2/objects/page/none", "/v2/objects?limit=0", "/v2/difference?from=2020-01-01T00:00:00Z"]
)
def test_errors_carry_no_token(client: Client, path: str) -> None:
    write(client)

    refused = client.get(path)

    assert refused.status_code in (400, 404, 410)
    assert not {"service-token", "warrant-token"} & refused.headers.keys()
