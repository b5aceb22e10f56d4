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
            "actions_endpoint": f"{base}/v2/object-types",
        }
        assert [client.get(other).status_code for other in others] == [404] * len(others)


@pytest.mark.parametrize("base", ["https://authz.example", "https://authz.example/base"])
@pytest.mark.parametrize("named", ["globex", "01KB0YV7N5XQ4M0F3T9R2ZC8EW", "no-such-store"])
def test_under_the_prefix_of_a_store_all_urls_are_those_of_the_store(base: str, named: str, tmp_path: Path) -> None:
    own_path = WELL_KNOWN + base.removeprefix("https://authz.example")
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", public_url=base)
    with running_service(settings) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "globex"}).raise_for_status()
        client.headers.pop("Authorization")

        answers = [client.get(path) for path in (f"/stores/{named}{own_path}", f"{own_path}/stores/{named}")]

        for answer in answers:
            assert answer.status_code == 200, answer.text
            urls = answer.json().values()
            assert answer.json()["policy_decision_point"] == f"{base}/stores/{named}"
            assert all(str(member).startswith(f"{base}/stores/{named}") for member in urls)
            assert answer.headers["Content-Type"] == "application/json"


def test_a_path_names_one_store_that_could_be_there(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", public_url="https://authz.example")
    with running_service(settings) as url, Client(url) as client:
        for path in (
            f"/stores/a{WELL_KNOWN}/stores/b",
            f"/stores/a%22b{WELL_KNOWN}",
            f"{WELL_KNOWN}/stores/a/b",
            f"{WELL_KNOWN}/stores/a%2Fb",
            f"{WELL_KNOWN}/stores/",
        ):
            assert client.get(path).status_code == 404, path


def test_without_a_public_url_there_is_no_metadata(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url, KEY) as client:
        answer = client.get(WELL_KNOWN)

    assert answer.status_code == 404
    assert "--public-url" in answer.json()["message"]


@pytest.mark.parametrize("text", ["authz.example", "ftp://authz.example", "https://", "https://a/?x=1", "https://a//b"])
def test_a_public_url_is_absolute_and_has_no_query(text: str) -> None:
    with pytest.raises(InvalidSetting, match="public_url"):
        read_settings({"public_url": text}, {})
