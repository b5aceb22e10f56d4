"""The corpus of clients/conformance itself: each of its scenarios can begin, and its README says all that it uses."""

import socket

import httpx
import pytest

from tests.clients.conformance.corpus import CALLS, FOLDER, Expected, Fault, FaultName, read_corpus
from tests.clients.conformance.driver import compare_line, conformance_service, prepare_scenario
from tests.clients.conformance.fault_proxy import FaultProxy, making_faults

README = (FOLDER / "README.md").read_text()


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in read_corpus()]

    assert len(names) > 30
    assert len(names) == len(set(names))


def test_every_call_is_used_and_documented() -> None:
    used = {step.call for scenario in read_corpus() for step in scenario.read_steps()}

    assert used == CALLS
    assert all(f"| `{call}` |" in README for call in CALLS)


def test_every_kind_of_error_and_every_fault_is_documented() -> None:
    expected = [step.expected for scenario in read_corpus() for step in scenario.read_steps()]

    kinds = {one.error.kind for one in expected if one.error is not None}
    assert all(f"| `{kind}` |" in README for kind in kinds)
    faults = {fault.kind for one in expected for fault in one.faults_in_order()}
    assert faults == {"reset", "drop", "half", "slow", "status", "page", "restart"}
    assert all(f"| `{fault}" in README for fault in faults)


def test_every_scenario_can_begin(database_url: str) -> None:
    with conformance_service(database_url) as service, service.client() as client:
        prepared = [prepare_scenario(client, scenario, number) for number, scenario in enumerate(read_corpus())]

        for one in prepared:
            lost = client.get(f"/stores/{one.store}/v2/warrants", headers={"service-token": one.tokens["lost"]})
            assert lost.json()["code"] == "revision_lost"


@pytest.mark.parametrize(
    ("line", "expected", "differs"),
    [
        ({"answer": True}, Expected(answer=True), False),
        ({"answer": 1}, Expected(answer=True), True),
        ({"answer": {"created": 1, "deleted": 0}}, Expected(answer={"created": 1}), False),
        ({"answer": ["a"]}, Expected(answer=["a", "b"]), True),
        ({"error": {"kind": "unknown"}}, Expected(answer=None), True),
    ],
)
def test_answers_are_compared(line: dict[str, object], expected: Expected, differs: bool) -> None:
    assert bool([*compare_line(expected, {"seconds": 0.0} | line)]) == differs


def ask(proxy: FaultProxy) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=5) as client:
        return client.get(f"{proxy.url}/healthz")


FAULTS: list[FaultName] = ["reset", "drop", "half"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_connection_of_one_request(fault: FaultName, database_url: str) -> None:
    with conformance_service(database_url) as service, making_faults(service.find_address) as proxy:
        proxy.begin([Fault(fault=fault)])

        with pytest.raises(httpx.TransportError):
            ask(proxy)
        assert ask(proxy).status_code == 200
        assert [request.line for request in proxy.requests()] == ["GET /healthz HTTP/1.1"] * 2


def test_a_fault_is_an_answer_of_the_proxy(database_url: str) -> None:
    with conformance_service(database_url) as service, making_faults(service.find_address) as proxy:
        proxy.begin([Fault(status=503, code="unavailable", retry_after=7), Fault(page=502)])

        answers = [ask(proxy), ask(proxy)]

        assert [answer.status_code for answer in answers] == [503, 502]
        assert answers[0].headers["retry-after"] == "7"
        assert answers[0].json()["code"] == "unavailable"
        assert answers[1].text.startswith("<html>")


def test_an_answer_is_held_back_until_its_client_goes(database_url: str) -> None:
    with conformance_service(database_url) as service, making_faults(service.find_address) as proxy:
        proxy.begin([Fault(slow=30)])

        with httpx.Client(trust_env=False, timeout=0.2) as client, pytest.raises(httpx.ReadTimeout):
            client.get(f"{proxy.url}/healthz")

        assert ask(proxy).status_code == 200


def test_a_cut_ends_connections_that_are_kept(database_url: str) -> None:
    with conformance_service(database_url) as service, making_faults(service.find_address) as proxy:
        address = proxy.url.removeprefix("http://").split(":")
        with socket.create_connection((address[0], int(address[1])), timeout=10) as kept:
            kept.sendall(b"GET /healthz HTTP/1.1\r\nhost: proxy\r\n\r\n")
            assert kept.recv(65_536).startswith(b"HTTP/1.1 200")

            proxy.cut()

            assert kept.recv(65_536) == b""
