"""The metadata of the AuthZEN API: URLs are those of --public-url, whatever a request says."""

from pathlib import Path

import pytest

from magistrate.config.settings import read_settings
from magistrate.errors import InvalidSetting
from tests.running import KEY, Client, running_service, settings_for

WELL_KNOWN = "/.well-known/authzen-configuration"
FORWARDED = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example;proto=http"}


@pytest.mark.parametrize(
    ("public_url", "base", "path"),
    [
        ("https://authz.example", "https://authz.example", WELL_KNOWN),
        ("https://authz.example:8443/", "https://authz.example:8443", WELL_KNOWN),
        ("https://authz.example/tenants/acme", "https://authz.example/tenants/acme", f"{WELL_KNOWN}/tenants/acme"),
    ],
)
def test_all_urls_begin_with_the_public_one(public_url: str, base: str, path: str, tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", public_url=public_url)
    with running_service(settings) as url, Client(url, "no-key") as client:
        answer = client.get(path, headers=FORWARDED)
        others = [other for other in (WELL_KNOWN, f"{WELL_KNOWN}/other", f"{path}/more") if other != path]

        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
        assert answer.json() == {
            "policy_decision_point": base,
            "access_evaluation_endpoint": f"{base}/access/v1/evaluation",
            "access_evaluations_endpoint": f"{base}/access/v1/evaluations",
            "search_subject_endpoint": f"{base}/access/v1/search/subject",
            "search_resource_endpoint": f"{base}/access/v1/search/resource",
            "search_action_endpoint": f"{base}/access/v1/search/action",
        }
        assert [client.get(other).status_code for other in others] == [404] * len(others)


def test_without_a_public_url_there_is_no_metadata(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url, KEY) as client:
        answer = client.get(WELL_KNOWN)

    assert answer.status_code == 404
    assert "--public-url" in answer.json()["message"]


@pytest.mark.parametrize("text", ["authz.example", "ftp://authz.example", "https://", "https://a/?x=1", "https://a//b"])
def test_a_public_url_is_absolute_and_has_no_query(text: str) -> None:
    with pytest.raises(InvalidSetting, match="public_url"):
        read_settings({"public_url": text}, {})
