"""POST /v2/model/test: test files are run in the service, whatever they contain, and change nothing."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from magistrate.api.endpoints.models import MAX_TEST_CHARACTERS, MAX_TEST_VALUES
from magistrate.operations.models.tests import MAX_ASSERTIONS, MAX_EXPLAINED, MAX_TEST_WARRANTS
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

MODEL = """\
version 1.0
type user
type document
    relation owner [user]
    relation viewer [user]
    inherit viewer if
        relation owner
"""
FILE: dict[str, Any] = {
    "model": MODEL,
    "setup": {"warrants": ["document:plan#owner@user:ann"]},
    "tests": [
        {"name": "owners view", "check": "document:plan#viewer@user:ann", "expect": True},
        {"name": "a stranger", "check": "document:plan#viewer@user:bob", "expect": True},
        {"query": "select document where user:ann is viewer", "expect": ["document:plan"]},
    ],
}


def run(client: Client, file: object) -> Any:
    response = client.post("/v2/model/test", json=file)
    assert response.status_code == 200, response.text
    return response.json()


def test_each_test_has_a_result_and_each_failure_a_reason(client: Client) -> None:
    types = client.get("/v2/object-types").json()

    answer = run(client, FILE)

    assert (answer["passed"], answer["failed"]) == (2, 1)
    assert [one["name"] for one in answer["results"]] == [
        "owners view",
        "a stranger",
        "select document where user:ann is viewer",
    ]
    assert answer["results"][0] == {"name": "owners view", "test": 0, "passed": True}
    failed = answer["results"][1]
    assert failed["failure"] == "expected allowed, is denied"
    assert failed["explanation"]["decision"] == "denied"
    assert failed["explanation"]["check"] == "document:plan#viewer@user:bob"
    assert failed["explanation"]["wouldAllow"][0]["create"][0]["relation"] in ("owner", "viewer")
    assert client.get("/v2/object-types").json() == types
    assert client.get("/v2/warrants").json()["results"] == []


def test_each_result_has_the_place_of_its_test(client: Client) -> None:
    checks = {"document:plan#viewer@user:ann": True, "document:plan#owner@user:ann": True}
    tests: list[Any] = [
        {"name": "none", "checks": {}},
        {"name": "two", "checks": checks},
        {**FILE["tests"][2], "checks": None},
    ]

    answer = run(client, FILE | {"tests": tests})

    assert [one["test"] for one in answer["results"]] == [1, 1, 2]


def test_yaml_and_json_have_the_same_results(client: Client) -> None:
    as_yaml = client.post("/v2/model/test", content=yaml.safe_dump(FILE), headers={"Content-Type": "text/plain"})

    assert as_yaml.json() == run(client, FILE)


def test_a_file_without_a_model_tests_the_stored_one_but_not_the_stored_warrants(client: Client) -> None:
    client.put("/v2/model", content=MODEL).raise_for_status()
    client.grant("document:other#owner@user:ann")
    file = {name: value for name, value in FILE.items() if name != "model"}

    answer = run(client, file)

    assert [one["passed"] for one in answer["results"]] == [True, False, True]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("model-tests")
    with running_service(settings_for(f"sqlite:///{folder}/m.db")) as url, Client(url) as client:
        yield client


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file: must be an object with the members"),
        ("[1, 2", "JSON"),
        ("model: [unclosed", "the file is not valid YAML"),
        ("a: &x 1\nb: *x\n", "aliases are not supported (line 2, column 4)"),
        ("tests: []\ntests: []\n", "a member is given twice"),
        ("banana: 1\n", "'banana' is not a member"),
        ("model_file: /etc/passwd\n", "the service reads no files"),
        ("model: |\n  version 1.0\n  banana\n", "unknown"),
        ("tests: [{check: nonsense, expect: true}]\n", "tests[0]"),
        ("tests: [{query: select, expect: []}]\n", "tests[0]"),
        ("tests: [{check: 'a:1#b@c:2', expect: maybe}]\n", "tests[0].expect"),
        ("tests: [{check: 'a:1#b@c:2', expect: true, context: {null: 1}}]\n", "the name of a member must be a text"),
        ("tests: !!int ''\n", "the file is not valid YAML"),
        ("tests: !!bool perhaps\n", "the file is not valid YAML"),
        ("tests: !!python/object/apply:os.system [true]\n", "the file is not valid YAML"),
        ("now: '0001-01-01'\n", "now"),
        ("setup: {warrants: ['document:plan#owner@group:x']}\nmodel: |\n  " + MODEL.replace("\n", "\n  "), "not"),
        ("[" * 5_000, "JSON"),
        ("- " * 5_000, "nests 100 deep at most"),
        ("tests: [" + "{}," * MAX_TEST_VALUES + "]", f"more than {MAX_TEST_VALUES} values"),
        ("#" * (MAX_TEST_CHARACTERS + 1), f"more than {MAX_TEST_CHARACTERS} characters"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused_with_the_place(service: Client, content: str, message: str) -> None:
    response = service.post("/v2/model/test", content=content, headers={"Content-Type": "text/plain"})

    assert response.status_code == 400, response.text
    assert message in response.json()["message"]


def test_bytes_that_are_no_text_are_refused(service: Client) -> None:
    assert service.post("/v2/model/test", content=b"tests: \xff\xfe").status_code == 400


def checks(number: int) -> dict[str, bool]:
    return {f"document:{place}#viewer@user:ann": True for place in range(number)}


@pytest.mark.parametrize(
    ("tests", "warrants", "status"), [(MAX_ASSERTIONS, MAX_TEST_WARRANTS, 200), (1_001, 0, 400), (0, 1_001, 400)]
)
def test_tests_and_warrants_are_limited(service: Client, tests: int, warrants: int, status: int) -> None:
    granted = [f"document:{place}#owner@user:ann" for place in range(warrants)]
    file = {"model": MODEL, "setup": {"warrants": granted}, "tests": [{"checks": checks(tests)}]}

    response = service.post("/v2/model/test", json=file)

    assert response.status_code == status
    assert response.json().get("passed", 0) == (tests if status == 200 else 0)


def test_only_the_first_failures_are_explained(service: Client) -> None:
    answer = run(service, {"model": MODEL, "tests": [{"checks": checks(MAX_EXPLAINED + 5)}]})

    assert answer["failed"] == MAX_EXPLAINED + 5
    assert ["explanation" in one for one in answer["results"]] == [True] * MAX_EXPLAINED + [False] * 5


def test_all_tests_share_one_budget(service: Client) -> None:
    """A query with as many rows as objects times relations is charged for each."""
    relations = "".join(f"    relation r{number} [user:*]\n" for number in range(40))
    model = f"version 1.0\ntype user\ntype document\n{relations}"
    granted = [f"document:{place}#r{place % 40}@user:*" for place in range(1_000)]
    queries = [{"query": "select * where user:ann is *", "expect": []} for _ in range(6)]

    answer = run(service, {"model": model, "setup": {"warrants": granted}, "tests": queries})

    assert answer["failed"] == 6
    assert "unexpected" in answer["results"][0]["failure"]
    assert "nodes and warrants; it is not known" in answer["results"][-1]["failure"]


def test_a_key_needs_the_scope_read_for_all_types(client: Client) -> None:
    checking = Client(str(client.base_url), issue_key(client, "checking", "check", "query", "write"))

    with checking:
        response = checking.post("/v2/model/test", json=FILE)

    assert response.status_code == 403


def test_other_requests_are_answered_meanwhile(service: Client) -> None:
    """A suite that takes long yields; health checks are answered while it runs."""
    loops = {f"group:{place}#member@group:{place + 1}#member" for place in range(300)}
    model = "version 1.0\ntype user\ntype group\n    relation member [user, group#member]\n"
    file = {
        "model": model,
        "setup": {"warrants": sorted(loops)},
        "tests": [{"check": "group:0#member@user:ann", "expect": False}] * 40,
    }
    done = threading.Event()
    answers: list[Any] = []

    def test() -> None:
        with Client(str(service.base_url)) as other:
            answers.append(other.post("/v2/model/test", content=json.dumps(file)).json())
        done.set()

    thread = threading.Thread(target=test)
    thread.start()
    served = 0
    began_at = time.monotonic()
    while not done.is_set() and time.monotonic() - began_at < 60:
        assert service.get("/healthz").status_code == 200
        served += 1
    thread.join()

    assert answers[0]["passed"] == 40
    assert served > 1
