"""warrant-python, as installed from its registry, against the service (docs/warrant-sdks.md#warrant-python)."""

from collections.abc import Iterator

import pytest
import warrant
from warrant import Authz, Object, Subject, User, Warrant

from tests.clients import python_resources  # noqa: F401  its scenarios join the others
from tests.clients.methods import WARRANT_PYTHON, example_of, is_request, method_names
from tests.clients.python_calls import public_methods, watched_calls
from tests.clients.python_scenarios import SCENARIOS, ids, refused
from tests.running import KEY, Client


@pytest.fixture
def service(shared_client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The service that the SDK is pointed at: it keeps that in globals of its module."""
    monkeypatch.setattr(warrant, "api_endpoint", str(shared_client.base_url).rstrip("/"))
    monkeypatch.setattr(warrant, "api_key", KEY)
    monkeypatch.setattr(warrant.APIResource.session, "trust_env", False)
    yield shared_client
    warrant.APIResource.session.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_goes_as_its_users_expect(name: str, service: Client) -> None:
    with watched_calls() as calls:
        SCENARIOS[name](service)

    for method, told in WARRANT_PYTHON[name].items():
        assert method in calls
        if told is not None:
            assert calls[method]
            assert all(is_request(told, sent) for sent in calls[method]), (method, calls[method])


def test_every_public_method_is_in_one_scenario() -> None:
    assert sorted(method_names(WARRANT_PYTHON)) == sorted(public_methods())
    assert set(WARRANT_PYTHON) == set(SCENARIOS)


def test_a_wrong_key_and_none_are_refused(service: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("wrong", ""):
        monkeypatch.setattr(warrant, "api_key", key)
        with refused(401, "unauthorized"):
            Object.list()
        with refused(401, "unauthorized"):
            Object.delete("user", "x")


def test_what_cannot_be_stored_is_refused(service: Client) -> None:
    with refused(400, "invalid_parameter", parameter="objectType"):
        Object.create("Upper", "x")
    with refused(400, "missing_required_parameter", parameter="objectType"):
        Object.create("")
    with refused(400, "invalid_parameter", parameter="objectId"):
        Object.create("user", "no\\backslash")
    with refused(400, "invalid_parameter", parameter="limit"):
        Object.list({"limit": 1001})
    with refused(400, "invalid_parameter", parameter="relation"):
        Warrant.create("user", "x", "unheard-of", Subject("user", "y"))
    with refused(400, "invalid_request"):
        Object.batch_create([])


def test_tokens_go_there_and_back(service: Client) -> None:
    ann = Subject("user", "tok-ann")
    token = Warrant.create("role", "tok-staff", "member", ann).warrant_token

    for sent in (token, "latest", "of an older service"):
        assert Authz.check("role", "tok-staff", "member", ann, opts={"Warrant-Token": sent})
        assert ids(Warrant.query("select role where user:tok-ann is *", opts={"Warrant-Token": sent})) == ["tok-staff"]
        assert User.get("tok-ann", opts={"Warrant-Token": sent}).id == "tok-ann"
    assert User.delete("tok-ann") != token


def test_the_sdk_misreads_meta_that_looks_like_an_answer(service: Client) -> None:
    """Not ours to fix: docs/warrant-sdks.md warns of it."""
    Object.create("role", "mis-1", {"subject": "algebra"})
    Object.create("role", "mis-2", {"where": {"objectType": "room", "objectId": "2"}})
    Warrant.create("role", "mis-1", "member", Subject("user", "mis-ann"))

    assert Object.get("role", "mis-1").meta == {"subject": "algebra"}
    with pytest.raises(KeyError):
        Warrant.query("select role where user:mis-ann is *")
    assert isinstance(Object.get("role", "mis-2").meta["where"], Object)


def test_the_example_of_the_documentation_runs(service: Client, capsys: pytest.CaptureFixture[str]) -> None:
    exec(example_of("python", service), {})

    assert capsys.readouterr().out == "True\n"
