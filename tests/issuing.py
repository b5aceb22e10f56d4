"""Keys for tests, made by the API."""

import time

from tests.running import Client


def issue_key(client: Client, name: str, *scopes: str, **members: object) -> str:
    """The secret of a new key, which the service of the client knows by now; a former one of this name is revoked."""
    for row in client.get("/v2/keys", params={"limit": 1000}).json()["results"]:
        if row["name"] == name:
            client.delete(f"/v2/keys/{row['id']}").raise_for_status()
    issued = client.post("/v2/keys", json={"name": name, "scopes": scopes, **members})
    assert issued.status_code == 200, issued.text
    secret: str = issued.json()["key"]
    wait_for_key(client, secret)
    return secret


def wait_for_key(client: Client, secret: str, is_good: bool = True, seconds: float = 30) -> None:
    """Until the service takes the key or, if it is not to be good, refuses it."""
    deadline = time.monotonic() + seconds
    with Client(str(client.base_url), secret) as other:
        while (other.get("/v2/keys").status_code not in (401, 429)) != is_good:
            assert time.monotonic() < deadline, "the change of the key was not taken over"
            time.sleep(0.02)
