"""Requests are counted by store only where the operator wants that."""

import re

import pytest

from tests.running import Client, running_service, settings_for


def count_requests(client: Client) -> dict[str, int]:
    text = client.get("/metrics").text
    return {
        name: round(float(number))
        for name, number in re.findall(r'^magistrate_store_requests_total{store="(.*)"} (.*)$', text, re.M)
    }


@pytest.mark.parametrize("is_labelled", [False, True])
def test_requests_are_counted_by_store_if_the_setting_says_so(database_url: str, is_labelled: bool) -> None:
    with running_service(settings_for(database_url, metrics_store_label=is_labelled)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "acme", "from": "default"}).raise_for_status()
        checked = {
            "warrants": [
                {
                    "objectType": "permission",
                    "objectId": "p",
                    "relation": "member",
                    "subject": {"objectType": "user", "objectId": "ann"},
                }
            ]
        }
        for _ in range(3):  # the first waits for the store, the others are answered by the fast path
            client.post("/stores/acme/v2/check", json=checked).raise_for_status()

        counts = count_requests(client)
        client.delete("/v2/stores/acme").raise_for_status()

        assert ("magistrate_store_requests_total" in client.get("/metrics").text) == is_labelled
        assert counts == ({"default": 1, "acme": 3} if is_labelled else {})
        assert "acme" not in client.get("/metrics").text
