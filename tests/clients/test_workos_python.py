"""workos, as installed from its registry, against /fga/v1 (docs/warrant-sdks.md#workos)."""

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from workos import WorkOSClient
from workos.exceptions import AuthenticationException, BadRequestException, NotFoundException
from workos.fga import FGA
from workos.types.fga.warnings import MissingContextKeysWarning

from tests.clients.methods import WORKOS_PYTHON, is_request, method_names
from tests.clients.workos_types import TYPES
from tests.running import KEY, Client

Requests = list[str]
Scenario = Callable[[FGA, str], None]


def checked(page_id: str, relation: str, user: str) -> Any:
    """What is checked or written: the SDK has a type for either."""
    subject = {"resource_type": "user", "resource_id": user}
    return {"resource_type": "report", "resource_id": page_id, "relation": relation, "subject": subject}


def show_resources(fga: FGA, name: str) -> None:
    made = fga.create_resource(resource_type="report", resource_id=f"{name}-1", meta={"n": 1})
    changed = fga.update_resource(resource_type="report", resource_id=f"{name}-1", meta={"n": 2})
    fga.create_resource(resource_type="report", resource_id=f"{name}-2")
    page = fga.list_resources(resource_type="report", search=name, limit=1)
    fga.delete_resource(resource_type="report", resource_id=f"{name}-2")

    assert (made.resource_id, made.meta, changed.meta) == (f"{name}-1", {"n": 1}, {"n": 2})
    assert fga.get_resource(resource_type="report", resource_id=f"{name}-1") == changed
    assert [one.resource_id for one in page.data] == [f"{name}-2"]
    assert [one.resource_id for one in page] == [f"{name}-2", f"{name}-1"]
    with pytest.raises(NotFoundException):
        fga.get_resource(resource_type="report", resource_id=f"{name}-2")
    with pytest.raises(NotFoundException):
        fga.delete_resource(resource_type="report", resource_id=f"{name}-2")


def show_resource_types(fga: FGA, name: str) -> None:
    types = {one.type: one.relations for one in fga.list_resource_types(order="asc", limit=2)}

    assert types == {one["type"]: one.get("relations", {}) for one in TYPES}


def show_warrants(fga: FGA, name: str) -> None:
    token = fga.write_warrant(
        op="create", resource_type="report", resource_id=name, relation="owner", subject_type="user", subject_id="ann"
    ).warrant_token
    batch: list[Any] = [
        {"op": "create", **checked(name, "owner", "bob"), "policy": "hour < 17"},
        {"op": "delete", **checked(name, "owner", "ann")},
    ]
    later = fga.batch_write_warrants(batch=batch).warrant_token
    [left] = fga.list_warrants(resource_type="report", resource_id=name, warrant_token="latest").data

    assert token != later
    assert (left.subject.resource_id, left.policy) == ("bob", "hour < 17")
    with pytest.raises(NotFoundException):
        fga.batch_write_warrants(batch=batch)
    with pytest.raises(BadRequestException) as raised:
        fga.write_warrant(
            op="create", resource_type="report", resource_id="x", relation="author", subject_type="user", subject_id="a"
        )
    assert (raised.value.code, raised.value.response_json["parameter"]) == ("invalid_parameter", "relation")  # type: ignore[index]  # it is a dict


def show_checks(fga: FGA, name: str) -> None:
    write = {"resource_type": "report", "resource_id": name, "subject_type": "user"}
    fga.write_warrant(op="create", relation="owner", subject_id="ann", **write)
    token = fga.write_warrant(
        op="create", relation="owner", subject_id="bob", policy="hour < 17", **write
    ).warrant_token  # fmt: skip
    ann, bob = (checked(name, "reader", user) for user in ("ann", "bob"))

    assert fga.check(checks=[ann], warrant_token=token).authorized()
    assert fga.check(checks=[bob | {"context": {"hour": 9}}]).authorized()
    assert not fga.check(op="all_of", checks=[ann, bob]).authorized()
    assert fga.check(op="any_of", checks=[bob, ann], warrant_token="latest").authorized()
    assert [one.result for one in fga.check_batch(checks=[ann, bob])] == ["authorized", "not_authorized"]
    debugged = fga.check(checks=[bob], debug=True)
    assert debugged.debug_info is not None
    assert debugged.debug_info.decision_tree.check.subject.resource_id == "bob"
    assert debugged.debug_info.decision_tree.children
    [warning] = debugged.warnings or ()
    assert isinstance(warning, MissingContextKeysWarning)
    assert warning.keys == ["hour"]


def show_queries(fga: FGA, name: str) -> None:
    for number in range(3):
        fga.write_warrant(
            op="create", resource_type="report", resource_id=f"{name}-{number}", relation="owner",
            subject_type="user", subject_id=name, policy="hour < 17",
        )  # fmt: skip
    q = f"select report where user:{name} is reader"

    found = fga.query(q=q, limit=2, order="asc", context={"hour": 9}, warrant_token="latest")

    assert [one.resource_id for one in found] == [f"{name}-{number}" for number in range(3)]
    assert {(one.is_implicit, one.warrant.relation) for one in found.data} == {(True, "owner")}
    assert fga.query(q=q, context={"hour": 20}).data == []


SCENARIOS: dict[str, Scenario] = {
    "resources": show_resources,
    "resource_types": show_resource_types,
    "warrants": show_warrants,
    "checks": show_checks,
    "queries": show_queries,
}


@pytest.fixture(scope="module")
def service(shared_client: Client) -> Client:
    shared_client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    return shared_client


@pytest.fixture
def client(service: Client) -> Iterator[WorkOSClient]:
    with_slash = str(service.base_url).rstrip("/") + "/"
    client = WorkOSClient(api_key=KEY, client_id="client", base_url=with_slash)
    yield client
    client._http_client.close()


def watch(client: WorkOSClient, fga: FGA) -> dict[str, Requests]:
    """What each method sends from now on, by its name."""
    sent: dict[str, Requests] = {}
    current: Requests = []

    def note(request: httpx.Request) -> None:
        suffix = " (array)" if request.method == "POST" and request.content.startswith(b"[") else ""
        current.append(f"{request.method} {urlsplit(str(request.url)).path}{suffix}")

    def watched(name: str, method: Callable[..., object]) -> Callable[..., object]:
        def call(**given: object) -> object:
            before = len(current)
            try:
                return method(**given)
            finally:
                sent.setdefault(name, []).extend(current[before:])

        return call

    client._http_client._client.event_hooks["request"].append(note)
    for name in public_methods():
        attribute = name.partition(".")[2]
        setattr(fga, attribute, watched(name, getattr(fga, attribute)))
    return sent


def public_methods() -> list[str]:
    members = inspect.getmembers(FGA, lambda member: isinstance(member, FunctionType))
    return [f"FGA.{name}" for name, _ in members if not name.startswith("_")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_goes_as_its_users_expect(name: str, client: WorkOSClient) -> None:
    fga = client.fga
    sent = watch(client, fga)

    SCENARIOS[name](fga, f"py-{name}")

    assert set(sent) >= set(WORKOS_PYTHON[name])
    for method, request in WORKOS_PYTHON[name].items():
        assert sent[method]
        assert all(is_request(request, one) for one in sent[method]), (method, sent[method])


def test_every_public_method_is_in_one_scenario() -> None:
    assert sorted(method_names(WORKOS_PYTHON)) == sorted(public_methods())
    assert set(WORKOS_PYTHON) == set(SCENARIOS)


def test_a_wrong_key_is_refused(service: Client) -> None:
    client = WorkOSClient(api_key="wrong", client_id="client", base_url=f"{service.base_url}/")
    with pytest.raises(AuthenticationException):
        client.fga.check(checks=[checked("a", "owner", "b")])
    client._http_client.close()
